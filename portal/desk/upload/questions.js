// Asks a person about what a sheet leaves open: for one row, or once for all rows that say the same.
import { Button } from '../../kit/actions.js'
import { number, t } from '../../kit/i18n.js'
import { html } from '../../kit/preact.js'
import { simplify } from './headings.js'
import { findFirstPhone } from './numbers.js'
import { wordProblem } from './row-problems.js'

/** @import { Row } from './check-rows.js' @import { Mark } from './other-cells.js' */

const shownGroups = 10
/** Lists questions that differ in each row: none is answered for many rows at once. */
const ofOneRow = ['cells', 'swallowed', 'struck']
const [sameOrder, twoPhones] = ['same_order', 'two_phones']

/** Lists the answers to a question. A parcel that was paid in part has none: a person writes its amount. */
const listAnswers = (/** @type {Mark} */ { field, code, amount }) => {
  if (code === twoPhones) return ['first']
  if (code === sameOrder) return ['one', 'several']
  if (field === 'cod') return amount ? ['collect', 'prepaid'] : []
  return ['book']
}
const toKey = (/** @type {Mark} */ { code, text }) => (code === sameOrder ? code : `${code} ${text}`)
const listAsked = (/** @type {Row} */ row) => (row.leftOut ? [] : row.marks.filter(({ ask }) => ask))

/** Makes one parcel of the rows of an order, and asks for its COD if the rows name several amounts. */
const joinRows = (/** @type {Row[]} */ [first, ...others]) => {
  const rows = [first, ...others]
  const list = (/** @type {string} */ field) => [...new Set(rows.flatMap(({ values }) => values[field] || []))]
  const isDifferent = [...Object.keys(first.values)].some(
    field => !['cod', 'description', 'order_no'].includes(field) && list(field).length > 1,
  )
  first.values.description = list('description').join(', ')
  if (list('cod').length > 1) {
    first.marks = first.marks.filter(({ field }) => field !== 'cod')
    first.marks.push({ field: 'cod', code: 'payment_unclear', ask: true, text: list('cod').join(', ') })
    first.values.cod = ''
  } else first.values.cod = list('cod')[0] ?? ''
  if (isDifferent) first.marks.push({ field: '', code: 'rows_differ' })
  for (const row of others) row.leftOut = 'part_of_another'
}

/** Answers a question for the rows that have it, and returns them: they are checked again. */
const answer = (/** @type {Row[]} */ rows, /** @type {string} */ key, /** @type {string} */ how) => {
  const asked = rows.filter(row => listAsked(row).some(mark => toKey(mark) === key))
  for (const row of asked) {
    const mark = row.marks.find(each => each.ask && toKey(each) === key)
    row.marks = row.marks.filter(each => each !== mark)
    delete row.errors[mark?.field ?? '']
    row.isChanged = true
    if (how === 'prepaid') row.values.cod = '0'
    if (how === 'collect') row.values.cod = mark?.amount ?? ''
    if (how === 'first') row.values.customer_phone = findFirstPhone(row.values.customer_phone)
    if (how === 'book' && mark?.field === 'customer_phone') row.surePhone = row.values.customer_phone
    if (how === 'leave') row.leftOut = 'by_person'
  }
  if (how === 'one') {
    const orders = new Map()
    for (const row of asked) orders.set(toOrder(row), [...(orders.get(toOrder(row)) ?? []), row])
    for (const some of orders.values()) joinRows(some)
  }
  return asked
}
const toOrder = (/** @type {Row} */ { values }) => simplify(values.order_no ?? '')

/** Asks about one row. The rows of one order are answered together. */
export const RowQuestions = ({ row, rows, onChange }) =>
  listAsked(row).map(mark => {
    const of = mark.code === sameOrder ? rows.filter(each => toOrder(each) === toOrder(row)) : [row]
    const choose = (/** @type {string} */ how) => {
      answer(of, toKey(mark), how)
      onChange()
    }
    const label = `${t('upload.line', { line: row.line })}: `
    return html`<div key=${toKey(mark)}>
      ${mark.field !== 'cod' && html`<p class="wrong">${wordProblem({ ...mark, code: mark.code })}</p>`}
      <div class="row">${listAnswers(mark).map(
        how => html`<${Button} key=${how} aria-label=${label + t(`ask.${how}`)} onClick=${() => choose(how)}>
        ${t(`ask.${how}`)}<//>`,
      )}</div></div>`
  })

/** Asks once about all rows that say the same. @param {{ rows: Row[], onAnswer: (some: Row[]) => void }} props */
export const Questions = ({ rows, onAnswer }) => {
  const groups = /** @type {Map<string, { mark: Mark, count: number }>} */ (new Map())
  for (const row of rows)
    for (const mark of listAsked(row))
      if (!ofOneRow.includes(mark.code) && listAnswers(mark).length > 0)
        groups.set(toKey(mark), { mark, count: (groups.get(toKey(mark))?.count ?? 0) + 1 })
  const many = [...groups].filter(([, { count }]) => count > 1).sort(([, one], [, two]) => two.count - one.count)
  return many.slice(0, shownGroups).map(
    ([key, { mark, count }]) => html`<div key=${key} class="notice">
      <p>${wordProblem({ ...mark, code: mark.code })} (${number(count)})</p>
      <div class="row">${[...listAnswers(mark), 'leave'].map(
        how => html`<${Button} key=${how} onClick=${() => onAnswer(answer(rows, key, how))}>${t(`ask.${how}`)}<//>`,
      )}</div></div>`,
  )
}
