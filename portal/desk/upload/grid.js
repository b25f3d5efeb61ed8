// Shows the rows of a sheet as a grid, in which a person corrects them and leaves rows out.
import { Button } from '../../kit/actions.js'
import { money, named, number, t } from '../../kit/i18n.js'
import { html } from '../../kit/preact.js'
import { Badge } from '../../kit/ui.js'
import { isBad, isGood } from './check-rows.js'
import { fieldNames } from './headings.js'
import { nameColumn, wordProblem } from './row-problems.js'

/** @typedef {import('./check-rows.js').Row} Row */

const rowsOfPage = 50
const always = ['customer_name', 'customer_phone', 'customer_address', 'destination', 'cod', 'weight']
const wide = ['customer_address', 'description', 'remark']

/** Lists what looks unusual in a row; an error says the same better than a mark. @param {Row} row */
const listNotes = ({ warnings, marks = [], errors }) => [...marks.filter(({ field }) => !errors[field]), ...warnings]
/** An order that was paid is no doubt. @param {Row} row */
const isUnusual = row => listNotes(row).some(({ code }) => code !== 'prepaid_by_export')
const isGuessed = (/** @type {Row} */ { city, values }) =>
  Boolean(city) && city?.name.toLowerCase() !== (values.destination ?? '').trim().toLowerCase()

/** Selects the rows of each view; a row that is left out is in its own view and among all. */
const views = /** @type {Record<string, (row: Row) => boolean>} */ ({
  all: () => true,
  bad: row => !row.leftOut && !isGood(row),
  warned: row => !row.leftOut && isUnusual(row),
  guessed: row => !row.leftOut && isGuessed(row),
  left_out: row => Boolean(row.leftOut),
})

const change = (/** @type {Row} */ row, /** @type {string} */ field, /** @type {string} */ value) => {
  row.values[field] = value
  row.marks = row.marks?.filter(mark => mark.field !== field)
  row.isChanged = true
  if (field === 'destination' || (field === 'customer_address' && !row.values.destination)) row.city = undefined
}

const leaveOut = (/** @type {Row} */ row, /** @type {boolean} */ isBooked) => {
  row.leftOut = isBooked ? undefined : 'by_person'
  if (row.price === undefined) row.isChanged = true
}

/** Lets a person choose among the cities that a row may mean. */
const Candidates = ({ row, id, label, onChange }) => {
  const pick = (/** @type {string} */ chosen) => {
    row.city = row.alternatives.find(city => String(city.id) === chosen)
    row.isChanged = true
    onChange()
  }
  return html`<select id=${id} aria-label=${`${label}: ${t('upload.alternatives')}`}
    value=${row.city ? String(row.city.id) : ''} onChange=${event => pick(event.target.value)}>
    <option value="">${t('upload.alternatives')}</option>
    ${row.alternatives.map(
      city => html`<option key=${city.id} value=${city.id}>${city.name}, ${city.state}</option>`,
    )}</select>`
}

const Cell = ({ row, field, general, onChange }) => {
  const id = `row-${row.line}-${field}`
  const label = `${t('upload.line', { line: row.line })}, ${nameColumn(row, field)}`
  const errors = row.errors[field] ?? []
  const common = {
    id,
    'aria-label': label,
    'aria-invalid': errors.length > 0 ? 'true' : undefined,
    'aria-describedby': errors.length > 0 ? `${id}-error` : undefined,
    inputmode: field === 'cod' || field === 'weight' ? 'decimal' : undefined,
    disabled: Boolean(row.leftOut),
    placeholder: field === 'weight' ? general.weight : undefined,
    value: row.values[field] ?? '',
    onInput: event => {
      change(row, field, event.target.value)
      onChange()
    },
  }
  const isOpen = field === 'destination' && !row.leftOut
  return html`<div>${wide.includes(field) ? html`<textarea rows="2" ...${common}></textarea>` : html`<input ...${common} />`}
    ${isOpen && !errors.length && row.city && html`<p class="soft">${row.city.name}, ${row.city.state}</p>`}
    ${errors.length > 0 && html`<p class="wrong" id=${`${id}-error`}>${label}: ${errors.map(wordProblem).join(' ')}</p>`}
    ${
      isOpen &&
      errors.length > 0 &&
      row.alternatives?.length > 0 &&
      html`<${Candidates} row=${row} id=${`row-${row.line}-city`} label=${label} onChange=${onChange} />`
    }</div>`
}

/** Shows what was found in a row: why it is left out, or what is wrong, its price, and what looks unusual. */
const Found = ({ row, fields }) => {
  if (row.leftOut) return html`<div><${Badge}>${named('left_out', row.leftOut)}<//></div>`
  const errors = Object.entries(row.errors).filter(([field]) => !fields.includes(field))
  const notes = listNotes(row).map(({ field, ...problem }) =>
    field ? `${nameColumn(row, field)}: ${wordProblem(problem)}` : wordProblem(problem),
  )
  const isWrong = isBad(row) && !row.isChanged
  return html`<div>
    ${isGood(row) ? money(row.price, row.currency) : html`<${Badge} kind=${isWrong ? 'bad' : 'warn'}>${t(isWrong ? 'upload.wrong' : 'upload.unchecked')}<//>`}
    ${errors.map(([field, problems]) => html`<p key=${field} class="wrong">${problems.map(wordProblem).join(' ')}</p>`)}
    ${notes.map(note => html`<p key=${note} class="unusual">${note}</p>`)}</div>`
}

const GridRow = ({ row, fields, general, onChange }) => {
  const leave = event => {
    leaveOut(row, event.target.checked)
    onChange()
  }
  return html`<tr role="row" class=${row.leftOut ? 'out' : ''}>
    <td role="rowheader" data-label=${t('upload.row')}><label class="row"><input type="checkbox"
      aria-label=${t('upload.take', { line: row.line })} checked=${!row.leftOut} onChange=${leave} />${row.line}</label></td>
    <td role="cell" data-label=${t('upload.found')}><${Found} row=${row} fields=${fields} /></td>
    ${fields.map(
      field => html`<td key=${field} role="cell" data-label=${nameColumn(row, field)}>
      <${Cell} row=${row} field=${field} general=${general} onChange=${onChange} /></td>`,
    )}</tr>`
}

/** Shows a button for each view that has rows. */
const Views = ({ rows, view, onView }) =>
  html`<div class="row">${Object.entries(views).map(([name, isShown]) => {
    const count = rows.filter(isShown).length
    return (
      (count > 0 || name === view) &&
      html`<${Button} key=${name} kind="quiet" aria-pressed=${String(name === view)}
        onClick=${() => onView({ name, page: 0 })}>${t(`view.${name}`)} (${number(count)})<//>`
    )
  })}</div>`

/** @param {{ rows: Row[], general: object, view: { name: string, page: number }, onView: any, onChange: any }} props */
export const Grid = ({ rows, general, view, onView, onChange }) => {
  const [first] = rows
  const fields = fieldNames.filter(name => always.includes(name) || rows.some(({ values }) => values[name]))
  const shown = rows.filter(views[view.name])
  const pages = Math.max(1, Math.ceil(shown.length / rowsOfPage))
  const page = Math.min(view.page, pages - 1)
  const go = (/** @type {number} */ to) => onView({ ...view, page: to })
  return html`<${Views} rows=${rows} view=${view.name} onView=${onView} />
    <div class="grid"><table role="table">
      <caption class="hidden">${t('upload.rows')}</caption>
      <thead role="rowgroup"><tr role="row"><th role="columnheader" scope="col">${t('upload.row')}</th>
        <th role="columnheader" scope="col">${t('upload.found')}</th>
        ${fields.map(name => html`<th key=${name} role="columnheader" scope="col">${nameColumn(first, name)}</th>`)}</tr></thead>
      <tbody role="rowgroup">${shown
        .slice(page * rowsOfPage, (page + 1) * rowsOfPage)
        .map(
          row =>
            html`<${GridRow} key=${row.line} row=${row} fields=${fields} general=${general} onChange=${onChange} />`,
        )}</tbody></table></div>
    ${
      pages > 1 &&
      html`<div class="row">
      <${Button} disabled=${page === 0} onClick=${() => go(page - 1)}>${t('page.before')}<//>
      <span>${t('upload.page', { page: number(page + 1), pages: number(pages) })}</span>
      <${Button} disabled=${page === pages - 1} onClick=${() => go(page + 1)}>${t('page.next')}<//></div>`
    }`
}
