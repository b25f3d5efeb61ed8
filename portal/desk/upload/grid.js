// Shows the rows of a sheet as a grid, in which a person corrects them and leaves rows out.
import { Button } from '../../kit/actions.js'
import { money, named, number, t } from '../../kit/i18n.js'
import { html } from '../../kit/preact.js'
import { Badge } from '../../kit/ui.js'
import { isBad, isGood } from './check-rows.js'
import { fieldNames, ofTown } from './headings.js'
import { RowQuestions } from './questions.js'
import { nameColumn, wordProblem } from './row-problems.js'

/** @import { Row } from './check-rows.js' */

const rowsOfPage = 50
const always = ['customer_name', 'customer_phone', 'customer_address', 'destination', 'cod', 'weight']
const wide = ['customer_address', 'description', 'remark']

/** Lists what looks unusual in a row; an error says the same better than a mark. */
const listNotes = (/** @type {Row} */ { warnings, marks, errors }) => [
  ...marks.filter(({ field }) => !errors[field]),
  ...warnings,
]
/** Returns true also for a city whose name the sheet spells in another way; an order that was paid is no doubt. */
const isUnusual = (/** @type {Row} */ row) =>
  (row.city && row.city.name.toLowerCase() !== row.values.destination?.toLowerCase()) ||
  listNotes(row).some(({ code }) => code !== 'prepaid_by_export')

/** Selects the rows of each view; a row that is left out is in its own view and among all. */
const views = /** @type {Record<string, (row: Row) => boolean>} */ ({
  'filter.all': () => true,
  'view.bad': row => !row.leftOut && !isGood(row),
  'view.warned': row => !row.leftOut && isUnusual(row),
  'left_out.by_person': row => Boolean(row.leftOut),
})

/** Changes a field as a person does. */
export const setField = (/** @type {Row} */ row, /** @type {string} */ field, /** @type {string} */ value) => {
  row.values[field] = value
  row.marks = row.marks.filter(mark => mark.field !== field)
  row.isChanged = true
  if (field === 'destination' || ofTown.includes(field) || (field === 'customer_address' && !row.values.destination))
    row.city = undefined
}

const Candidates = ({ row, id, label, onChange }) => {
  const pick = (/** @type {string} */ chosen) => {
    row.city = row.alternatives.find(city => String(city.id) === chosen)
    row.isChanged = true
    onChange()
  }
  const toOption = ({ id, name, state }) => html`<option key=${id} value=${id}>${name}, ${state}</option>`
  return html`<select id=${id} aria-label=${`${label}: ${t('upload.alternatives')}`}
    value=${row.city?.id ?? ''} onChange=${event => pick(event.target.value)}>
    <option value="">${t('upload.alternatives')}</option>${row.alternatives.map(toOption)}</select>`
}

const Cell = ({ row, field, general, onChange }) => {
  const id = `row-${row.line}-${field}`
  const label = `${t('upload.line', { line: row.line })}, ${nameColumn(row, field)}`
  const errors = row.errors[field]
  const input = event => {
    setField(row, field, event.target.value)
    onChange()
  }
  const isOpen = field === 'destination' && !row.leftOut
  const isAsked = isOpen && errors && row.alternatives?.length > 0
  return html`<div><${wide.includes(field) ? 'textarea' : 'input'} rows="2" id=${id} aria-label=${label}
      aria-invalid=${errors && 'true'} aria-describedby=${errors && `${id}-error`} disabled=${Boolean(row.leftOut)}
      inputmode=${['cod', 'weight'].includes(field) ? 'decimal' : undefined} value=${row.values[field] ?? ''}
      placeholder=${field === 'weight' ? general.weight : undefined} onInput=${input} />
    ${isOpen && !errors && row.city && html`<p class="soft">${row.city.name}, ${row.city.state}</p>`}
    ${errors && html`<p class="wrong" id=${`${id}-error`}>${label}: ${errors.map(wordProblem).join(' ')}</p>`}
    ${
      isAsked && html`<${Candidates} row=${row} id=${`row-${row.line}-city`} label=${label} onChange=${onChange} />`
    }</div>`
}

/** Shows what was found in a row: why it is left out, or what is wrong and asked, its price, and what looks unusual. */
const Found = ({ row, rows, fields, onChange }) => {
  const errors = Object.entries(row.errors).filter(([field]) => field && !fields.includes(field))
  const notes = listNotes(row).map(({ field, ...problem }) =>
    field ? `${nameColumn(row, field)}: ${wordProblem(problem)}` : wordProblem(problem),
  )
  const shown = notes.map(note => html`<p key=${note} class="unusual">${note}</p>`)
  if (row.leftOut)
    return html`<div><${Badge}>${named('left_out', row.leftOut)}<//>
    ${row.leftOut === 'used' && shown}</div>`
  const [kind, text] = isBad(row) && !row.isChanged ? ['bad', 'view.bad'] : ['warn', 'upload.unchecked']
  return html`<div>
    ${isGood(row) ? money(row.price, row.currency) : html`<${Badge} kind=${kind}>${t(text)}<//>`}
    <${RowQuestions} row=${row} rows=${rows} onChange=${onChange} />
    ${errors.map(([field, problems]) => html`<p key=${field} class="wrong">${problems.map(wordProblem).join(' ')}</p>`)}
    ${shown}</div>`
}

const GridRow = ({ row, rows, fields, general, onChange }) => {
  const leave = event => {
    row.leftOut = event.target.checked ? undefined : 'by_person'
    if (event.target.checked) row.taken = row.values.order_no
    if (row.price === undefined) row.isChanged = true
    onChange()
  }
  return html`<tr role="row" class=${row.leftOut ? 'out' : ''}>
    <td role="rowheader" data-label=${t('upload.row')}><label class="row"><input type="checkbox"
      aria-label=${t('upload.take', { line: row.line })} checked=${!row.leftOut}
      onChange=${leave} />${row.line}</label></td>
    <td role="cell" data-label=${t('upload.found')}>
      <${Found} row=${row} rows=${rows} fields=${fields} onChange=${onChange} /></td>
    ${fields.map(
      field => html`<td key=${field} role="cell" data-label=${nameColumn(row, field)}>
      <${Cell} row=${row} field=${field} general=${general} onChange=${onChange} /></td>`,
    )}</tr>`
}

const Views = ({ rows, view, onView }) =>
  html`<div class="row">${Object.entries(views).map(([name, isShown]) => {
    const [count, pick] = [rows.filter(isShown).length, () => onView({ name, page: 0 })]
    if (count === 0 && name !== view) return null
    return html`<${Button} key=${name} kind="quiet" aria-pressed=${String(name === view)} onClick=${pick}>
      ${t(name)} (${number(count)})<//>`
  })}</div>`

/** @param {{ rows: Row[], general: object, view: { name: string, page: number }, onView: any, onChange: any }} props */
export const Grid = ({ rows, general, view, onView, onChange }) => {
  const [first] = rows
  const fields = fieldNames.filter(name => always.includes(name) || rows.some(({ values }) => values[name]))
  const shown = rows.filter(views[view.name])
  const pages = Math.max(1, Math.ceil(shown.length / rowsOfPage))
  const page = Math.min(view.page, pages - 1)
  const show = (/** @type {Row} */ row) =>
    html`<${GridRow} key=${row.line} row=${row} rows=${rows} fields=${fields} general=${general}
      onChange=${onChange} />`
  const turn = (/** @type {string} */ text, /** @type {number} */ to, /** @type {boolean} */ isEnd) =>
    html`<${Button} disabled=${isEnd} onClick=${() => onView({ ...view, page: to })}>${t(text)}<//>`
  return html`<${Views} rows=${rows} view=${view.name} onView=${onView} />
    <div class="grid"><table role="table">
      <caption class="hidden">${t('upload.rows')}</caption>
      <thead role="rowgroup"><tr role="row"><th role="columnheader" scope="col">${t('upload.row')}</th>
        <th role="columnheader" scope="col">${t('upload.found')}</th>
        ${fields.map(
          name => html`<th key=${name} role="columnheader" scope="col">${nameColumn(first, name)}</th>`,
        )}</tr></thead>
      <tbody role="rowgroup">${shown.slice(page * rowsOfPage, (page + 1) * rowsOfPage).map(show)}</tbody></table></div>
    ${
      pages > 1 &&
      html`<div class="row">${turn('page.before', page - 1, page === 0)}
      <span>${number(page + 1)} / ${number(pages)}</span>
      ${turn('page.next', page + 1, page === pages - 1)}</div>`
    }`
}
