// Shows what the check found, before anything is booked.
import { announce, Button, ErrorText, useAction } from '../../kit/actions.js'
import { dateTime, money, named, number, statusName, t } from '../../kit/i18n.js'
import { html, useEffect, useState } from '../../kit/preact.js'
import { Live, Panel, useLive } from '../../kit/ui.js'
import { readStatuses } from '../merchant.js'
import { beginUpload, storeRest } from './book-rows.js'
import { checkRows, isGood } from './check-rows.js'
import { Grid, setField } from './grid.js'
import { Questions } from './questions.js'

/** @import { Row } from './check-rows.js' */

/**
 * Returns true for a COD that a person need not read before it is prepaid: its cell is empty, an error of the sheet, or
 * says so. Other words may be an amount. @param {Row} row
 */
const lacksCod = ({ leftOut, errors, values }) =>
  !leftOut &&
  !errors[''] &&
  errors.cod &&
  errors.cod[0].code !== 'payment_unclear' &&
  (!values.cod?.trim() || errors.cod[0].code === 'error_cell' || /^(free|prepaid|paid)$/i.test(values.cod))

/** Says how many rows are left out, and why. @param {Row[]} rows */
const sayLeftOut = rows => {
  const reasons = new Map()
  for (const { leftOut } of rows) if (leftOut) reasons.set(leftOut, (reasons.get(leftOut) ?? 0) + 1)
  const counts = [...reasons].map(([why, count]) => `${named('left_out', why)} (${number(count)})`)
  return counts.length > 0 && html`<p>${t('left_out.by_person')}: ${counts.join(', ')}</p>`
}

const sumUp = (/** @type {Row[]} */ good, /** @type {'cod' | 'price'} */ name) => {
  const total = good.reduce((sum, row) => sum + (row[name] ?? 0), 0)
  return money(total, good[0]?.currency ?? '').trim()
}

/** Says that some recipients get their messages later: fewer messages may leave today than there are phone numbers. */
const sayLater = (/** @type {Row[]} */ good, /** @type {any} */ messages) =>
  new Set(good.map(({ values }) => values.customer_phone)).size > messages?.may_leave_today &&
  html`<p class="notice">${t('upload.later', { count: number(messages.may_leave_today) })}
    ${messages.opens_at && ` ${t('upload.opens', { time: dateTime(messages.opens_at) })}`}</p>`

/** Shows the buttons that book: as confirmed orders where the company lets merchants confirm, or else as drafts. */
const BookButtons = ({ good, changed, start }) => {
  const statuses = useLive(readStatuses)
  const count = number(good.length)
  const prepaid = good.filter(row => row.cod === 0).length
  const unchecked = changed > 0 ? t('upload.check_first', { count: number(changed) }) : ''
  const missing = unchecked || (good.length === 0 ? t('upload.no_good') : '')
  const button = (/** @type {string} */ kind, /** @type {string} */ status, /** @type {string} */ text) =>
    html`<${Button} kind=${kind} missing=${kind && missing} isBusy=${start.isBusy} onClick=${() => start.run(status)}>
      ${text}<//>`
  return html`<${Live} of=${statuses} lines=${1}>${({ mayConfirm, draft }) => html`<div class="row">
    ${
      mayConfirm
        ? button('primary', 'key_2', t('upload.book_confirm', { count }))
        : button('primary', 'key_1', t('upload.book', { count }))
    }
    ${!missing && html`<strong>${t('upload.cod', { sum: sumUp(good, 'cod'), prepaid: number(prepaid) })}</strong>`}
    ${
      !missing && mayConfirm && button('', 'key_1', t('upload.book_draft', { count, status: statusName(draft) }))
    }</div>`}<//>`
}

/**
 * Shows the results of the check, before anything is booked. `stored` is the upload whose rows were not booked yet.
 * @param {{
 *   rows: Row[], general: any, stored?: import('./stored-upload.js').Stored, onBook: (upload: any) => void
 * }} props
 */
export const Checked = ({ rows, general, stored, onBook }) => {
  const [, redraw] = useState(0)
  const [progress, setProgress] = useState({ done: 0, of: rows.length })
  const [messages, setMessages] = useState(/** @type {any} */ (undefined))
  const [view, setView] = useState({ name: 'filter.all', page: 0 })
  const open = rows.filter(row => !row.leftOut)
  const good = open.filter(isGood)
  const rest = open.filter(row => !isGood(row))
  const left = rows.filter(row => row.leftOut || !isGood(row))
  const check = useAction(async (/** @type {Row[]} */ some) => {
    setProgress({ done: 0, of: some.length })
    setMessages(await checkRows(some, general, done => setProgress({ done, of: some.length })))
    if (stored) await storeRest(stored, rows)
    announce(t('upload.good', { count: number(rows.filter(isGood).length) }))
  })
  useEffect(() => void (!stored && check.run(open)), [])
  const start = useAction(async (/** @type {string} */ status) =>
    onBook(await beginUpload({ good, rest: left, general, status }, stored)),
  )
  const lacking = rows.filter(lacksCod)
  const makePrepaid = () => {
    for (const row of lacking) setField(row, 'cod', '0')
    check.run(lacking)
  }
  if (check.isBusy)
    return html`<${Panel} title=${t('upload.check')}>
      <progress max=${progress.of} value=${progress.done} aria-label=${t('upload.check')}></progress><//>`

  return html`<${Panel} title=${t('upload.found')}>
    <p><strong>${t('upload.good', { count: number(good.length) })}</strong>
      ${' '}${t('upload.price', { sum: sumUp(good, 'price') })}</p>
    ${sayLeftOut(rows)}
    ${sayLater(good, messages)}
    <${ErrorText} error=${check.error ?? start.error} />
    <${BookButtons} good=${good} changed=${open.filter(row => row.isChanged).length} start=${start} />
    <div class="row">${rest.length > 0 && html`<${Button} onClick=${() => check.run(rest)}>${t('upload.again')}<//>`}
      ${
        lacking.length > 0 &&
        html`<${Button} onClick=${makePrepaid}>
        ${t('upload.prepaid', { count: number(lacking.length) })}<//>`
      }</div>
    <${Questions} rows=${rows} onAnswer=${some => check.run(some.filter(row => !row.leftOut))} />
    <${Grid} rows=${rows} general=${general} view=${view} onView=${setView}
      onChange=${() => redraw(count => count + 1)} />
  <//>`
}
