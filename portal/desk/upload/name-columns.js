// Lets the merchant name the columns of a sheet: starts with the last choice for its headings, or what they say.
import { Button } from '../../kit/actions.js'
import { number, t } from '../../kit/i18n.js'
import { html, useState } from '../../kit/preact.js'
import { getSession } from '../../kit/session.js'
import { Field, Panel, useLive } from '../../kit/ui.js'
import { General } from '../general.js'
import { readBusinesses, recall, remember } from '../merchant.js'
import { assign, chooseColumns } from './columns.js'
import { fieldNames } from './headings.js'
import { toRows } from './to-rows.js'

/** @import { Choice, Sheet } from './columns.js' */

const keptChoices = 20
const shownRows = 20
const toKey = (/** @type {string[]} */ cells) => cells.join('\t')

/** Starts with the remembered choice for a row of the sheet, if there is one. @param {Sheet} sheet @returns {Choice} */
const start = sheet => {
  const known = recall().choices ?? {}
  const at = sheet.rows.slice(0, shownRows).findIndex(({ cells }) => Object.hasOwn(known, toKey(cells)))
  if (at < 0) return chooseColumns(sheet)
  const fields = known[toKey(sheet.rows[at].cells)]
  const choice = chooseColumns(sheet, at, fields !== null)
  if (choice.export) return choice
  return { ...choice, asked: [], columns: choice.columns.map(each => ({ ...each, field: fields?.[each.index] ?? '' })) }
}

/** Remembers the fields of the columns; of a known export, only that it is one. */
const keep = (/** @type {Sheet} */ sheet, /** @type {Choice} */ choice, /** @type {object} */ general) => {
  const cells = sheet.rows[choice.headingRow]?.cells
  const fields = choice.export ? null : choice.columns.map(({ field }) => field)
  const others = Object.entries(recall().choices ?? {}).filter(([key]) => cells && key !== toKey(cells))
  const choices = cells && Object.fromEntries([...others.slice(1 - keptChoices), [toKey(cells), fields]])
  remember({ general, ...(choices && { choices }) })
}

/** Shows a list of which one is chosen: each option is a value and its text. */
const Pick = ({
  options,
  onPick,
  ...field
}) => html`<${Field} ...${field} onChange=${event => onPick(event.target.value)}>
  ${options.map(([value, text]) => html`<option key=${value} value=${value}>${text}</option>`)}<//>`

/** Asks which of the columns that weigh the same fills a field. */
const Question = ({ question: { field, options }, columns, onAnswer }) => {
  const nameOption = option => option.map(at => columns[at].heading || `${at + 1}.`).join(' + ')
  const all = [['', '…'], ...options.map(nameOption).map((text, at) => [at, text]), ['none', t('upload.which_none')]]
  return html`<${Pick} id=${`ask-${field}`} label=${t('upload.which', { field: t(`field.${field}`) })} value=""
    options=${all} onPick=${value => value && onAnswer(options[Number(value)] ?? [], field)} />`
}

/** Lists what a person must still choose. @param {Choice} choice @param {{ origin_city_id: string }} general */
const listMissing = ({ columns, asked, allPrepaid }, { origin_city_id }) => [
  ...(origin_city_id ? [] : [t('upload.origin')]),
  ...asked.map(({ field }) => t('upload.which', { field: t(`field.${field}`) })),
  ...(allPrepaid || columns.some(({ field }) => field === 'cod') ? [] : [t('upload.need_cod')]),
]

/** @param {{ sheet: Sheet, onDone: (rows: any[], general: object) => void }} props */
export const Columns = ({ sheet, onDone }) => {
  const [choice, setChoice] = useState(() => start(sheet))
  const [general, setGeneral] = useState({ weight: '1', origin_city_id: '', ...recall().general })
  const businesses = useLive(readBusinesses)
  const missing = listMissing(choice, general)
  const give = (/** @type {number[]} */ indexes, /** @type {string} */ field) =>
    setChoice({ ...assign(choice, indexes, field), allPrepaid: field === 'cod' ? false : choice.allPrepaid })
  const fields = [['', t('upload.ignore')], ...fieldNames.map(name => [name, t(`field.${name}`)])]
  const nameRow = ({ number: line, cells }, /** @type {number} */ index) => [
    index,
    `${t('upload.line', { line })}: ${cells.filter(Boolean).join(' | ').slice(0, 60)}`,
  ]
  const done = () => {
    const business = general.merchant_business_id || businesses.data?.[0]?.id
    const chosen = { ...general, merchant_business_id: business }
    keep(sheet, choice, chosen)
    onDone(toRows(sheet, choice, getSession().me?.tenant.currency), { ...chosen, allPrepaid: choice.allPrepaid })
  }

  return html`<${Panel} title=${t('upload.columns')}>
    <${General} general=${general} onGeneral=${setGeneral} businesses=${businesses}>
      <${Field} id="weight" label=${t('upload.weight')} inputmode="decimal" autocomplete="off" value=${general.weight}
        onInput=${({ target }) => setGeneral({ ...general, weight: target.value })} /><//>
    <${Pick} id="headings" label=${t('upload.headings')} value=${choice.headingRow}
      options=${[...sheet.rows.slice(0, shownRows).map(nameRow), [-1, t('upload.headings_none')]]}
      onPick=${value => setChoice(chooseColumns(sheet, Number(value)))} />
    ${
      choice.export
        ? html`<div class="notice good"><p><strong>${t('upload.export', { name: choice.export })}</strong></p>
          <div class="row"><${Button} onClick=${() => setChoice(chooseColumns(sheet, choice.headingRow, true))}>
          ${t('upload.export_not')}<//></div></div>`
        : html`<${Field} id="all-prepaid" type="checkbox" label=${t('upload.all_prepaid')} checked=${choice.allPrepaid}
        onChange=${({ target }) => setChoice({ ...assign(choice, [], 'cod'), allPrepaid: target.checked })} />`
    }
    ${
      choice.asked.length > 0 &&
      html`<div class="fields notice">${choice.asked.map(
        each => html`<${Question} key=${each.field} question=${each} columns=${choice.columns} onAnswer=${give} />`,
      )}</div>`
    }
    <details open=${!choice.export}>
      <summary>${t('upload.headings')} (${number(choice.columns.length)})</summary>
    <div class="fields">${choice.columns.map(
      ({ index, heading, field, samples }) =>
        html`<${Pick} key=${index} id=${`column-${index}`} value=${field} label=${`${index + 1}. ${heading}`}
        hint=${samples.slice(0, 3).join(' · ')} disabled=${Boolean(choice.export)} options=${fields}
        onPick=${name => give([index], name)} />`,
    )}</div></details>
    <div class="row"><${Button} kind="primary" onClick=${done}
      missing=${missing.length > 0 ? t('upload.missing', { what: missing.join(' · ') }) : ''}>
      ${t('upload.check')}<//></div>
  <//>`
}
