// Shows what the check found, and books the good rows.
import { Act, announce, Button, ErrorText, saveFile, useAction } from '../../kit/actions.js'
import { money, number, statusName, t } from '../../kit/i18n.js'
import { html, useEffect, useState } from '../../kit/preact.js'
import { Badge, Live, Panel, useLive } from '../../kit/ui.js'
import { readStatuses, saveLabels } from '../merchant.js'
import { writeCsv } from '../read-sheet.js'
import { beginUpload, book, confirmDrafts, storeRest } from './book-rows.js'
import { checkRows, isGood } from './check-rows.js'
import { Grid } from './grid.js'
import { fieldNames } from './headings.js'
import { wordErrors, wordRefusal } from './row-problems.js'
import { countBooked, isDone, isTooOld, listDrafts, listOpen, putAway } from './stored-upload.js'

/** @typedef {import('./check-rows.js').Row} Row */

const saveBad = (/** @type {Row[]} */ rows) =>
  saveFile(
    writeCsv([
      [...fieldNames, 'reasons'],
      ...rows.map(row => [...fieldNames.map(name => row.values[name]), wordErrors(row).join(' ')]),
    ]),
    'rows-to-correct.csv',
  )

/** Problems of COD that an amount causes: a person must read it. */
const amountProblems = ['ambiguous', 'unit', 'fraction', 'too_large']
const lacksCod = (/** @type {Row} */ { leftOut, errors }) =>
  !leftOut && errors.cod?.some(({ code }) => !amountProblems.includes(code))

const sumUp = (/** @type {Row[]} */ good, /** @type {'cod' | 'price'} */ name) =>
  money(
    good.reduce((total, row) => total + (row[name] ?? 0), 0),
    good[0]?.currency ?? '',
  ).trim()

/** Shows the buttons that book: as confirmed orders where the company lets merchants confirm, or else as drafts. */
const BookButtons = ({ good, changed, start }) => {
  const statuses = useLive(readStatuses)
  const count = number(good.length)
  const prepaid = good.filter(row => row.cod === 0).length
  const missing =
    (changed > 0 && t('upload.check_first', { count: number(changed) })) ||
    (good.length === 0 && t('upload.no_good')) ||
    ''
  const button = (/** @type {string} */ kind, /** @type {string} */ status, /** @type {string} */ text) =>
    html`<${Button} kind=${kind} missing=${kind && missing} isBusy=${start.isBusy} onClick=${() => start.run(status)}>
      ${text}<//>`
  return html`<${Live} of=${statuses} lines=${1}>${({ mayConfirm, draft }) => html`<div class="row">
    ${mayConfirm ? button('primary', 'key_2', t('upload.book_confirm', { count })) : button('primary', 'key_1', t('upload.book', { count }))}
    ${!missing && html`<strong>${t('upload.cod', { sum: sumUp(good, 'cod'), prepaid: number(prepaid) })}</strong>`}
    ${!missing && mayConfirm && button('', 'key_1', t('upload.book_draft', { count, status: statusName(draft) }))}</div>`}<//>`
}

/**
 * Shows the results of the check, before anything is booked. `stored` is the upload whose rows were not booked yet.
 * @param {{ rows: Row[], general: any, stored?: import('./stored-upload.js').Stored, onBook: (upload: any) => void }} props
 */
export const Checked = ({ rows, general, stored, onBook }) => {
  const [, redraw] = useState(0)
  const [progress, setProgress] = useState({ done: 0, of: rows.length })
  const [view, setView] = useState({ name: 'all', page: 0 })
  const open = rows.filter(row => !row.leftOut)
  const good = open.filter(isGood)
  const rest = open.filter(row => !isGood(row))
  const left = rows.filter(row => row.leftOut || !isGood(row))
  const check = useAction(async (/** @type {Row[]} */ some) => {
    setProgress({ done: 0, of: some.length })
    await checkRows(some, general, done => setProgress({ done, of: some.length }))
    if (stored) await storeRest(stored, rows, t('upload.elsewhere'))
    announce(t('upload.good', { count: number(rows.filter(isGood).length) }))
  })
  useEffect(() => void (!stored && check.run(open)), [])
  const start = useAction(async (/** @type {string} */ status) =>
    onBook(await beginUpload({ good, rest: left, general, status }, stored, t('upload.elsewhere'))),
  )
  const lacking = rows.filter(lacksCod)
  const makePrepaid = () => {
    for (const row of lacking) row.values.cod = '0'
    check.run(lacking)
  }
  if (check.isBusy)
    return html`<${Panel} title=${t('upload.checking')}>
      <progress max=${progress.of} value=${progress.done} aria-label=${t('upload.checking')}></progress><//>`
  return html`<${Panel} title=${t('upload.found')}>
    <p><strong>${t('upload.good', { count: number(good.length) })}</strong> ${t('upload.price', { sum: sumUp(good, 'price') })}</p>
    <${ErrorText} error=${check.error ?? start.error} />
    <${BookButtons} good=${good} changed=${open.filter(row => row.isChanged).length} start=${start} />
    <div class="row">${
      rest.length > 0 &&
      html`<${Button} onClick=${() => check.run(rest)}>${t('upload.again')}<//>
        <${Button} onClick=${() => saveBad(rest)}>${t('upload.save_bad')}<//>`
    }
      ${
        lacking.length > 0 &&
        html`<${Button} onClick=${makePrepaid}>
        ${t('upload.prepaid', { count: number(lacking.length) })}<//>`
      }</div>
    ${rest.length > 0 && html`<h3>${t('upload.bad', { count: number(rest.length) })}</h3>`}
    <${Grid} rows=${rows} general=${general} view=${view} onView=${setView}
      onChange=${() => redraw(count => count + 1)} />
  <//>`
}

const saveWaybills = (/** @type {import('./stored-upload.js').Stored} */ { chunks }) => {
  const rows = chunks.flatMap(({ waybills = [], lines, orders }) =>
    waybills.map((waybill, index) => [lines[index], waybill, orders[index].order_no, orders[index].customer_name]),
  )
  saveFile(writeCsv([['line', 'waybill_number', 'order_no', 'customer_name'], ...rows]), 'waybills.csv')
}

/** Says which status the parcels have; drafts are confirmed in one action. */
const Statuses = ({ upload, onChange }) => {
  const statuses = useLive(readStatuses)
  const drafts = listDrafts(upload).length
  const elsewhere = upload.chunks.reduce((sum, { noDrafts = 0 }) => sum + noDrafts, 0)
  const confirmed = countBooked(upload) - drafts - elsewhere
  const confirm = async () => onChange({ ...(await confirmDrafts(upload, t('upload.elsewhere'))) })
  return html`<${Live} of=${statuses} lines=${1}>${names => html`
    ${confirmed > 0 && html`<p><${Badge} kind="good">${statusName(names.confirmed)}<//> ${t('upload.confirmed', { count: number(confirmed) })}</p>`}
    ${elsewhere > 0 && html`<p class="notice">${t('upload.no_drafts', { count: number(elsewhere) })}</p>`}
    ${
      drafts > 0 &&
      html`<div class="notice row"><p><${Badge} kind="warn">${statusName(names.draft)}<//> ${t('upload.drafts', { count: number(drafts) })}</p>
        ${names.mayConfirm && html`<${Act} kind="primary" run=${confirm}>${t('upload.confirm', { count: number(drafts) })}<//>`}</div>`
    }`}<//>`
}

/** Books an upload, sums it up, and shows the rows that are not booked yet. */
export const Booking = ({ upload: begun, onEnd }) => {
  const [upload, setUpload] = useState(begun)
  const { chunks } = upload
  const total = chunks.reduce((sum, { orders }) => sum + orders.length, 0)
  const run = useAction(async () => setUpload({ ...(await book(upload, setUpload, t('upload.elsewhere'))) }))
  const isOld = isTooOld(upload)
  useEffect(() => void (!isOld && run.run()), [chunks.length])
  const booked = countBooked(upload)
  const waybills = chunks.flatMap(part => part.waybills ?? [])
  const refused = chunks.filter(part => part.errors)
  const isEnded = isDone(upload) || isOld
  const open = listOpen(upload)
  const end = async () => {
    await putAway()
    onEnd()
  }
  return html`<${Panel} title=${isDone(upload) ? t('upload.done') : t('upload.booking')}>
    <progress max=${total} value=${booked} aria-label=${t('upload.booking')}></progress>
    <p role="status"><strong>${t('upload.booked', { count: number(booked), total: number(total) })}</strong></p>
    ${waybills.length > 0 && html`<p>${waybills[0]} – ${waybills.at(-1)}</p>`}
    ${isDone(upload) && html`<${Statuses} upload=${upload} onChange=${setUpload} />`}
    ${isOld && !isDone(upload) && html`<p class="notice">${t('upload.too_old')}</p>`}
    ${refused.map(({ key, errors }) => html`<p key=${key} class="error">${t('upload.refused')} ${wordRefusal(errors)}</p>`)}
    <${ErrorText} error=${run.error} />
    <div class="row">
      ${run.error && html`<${Button} kind="primary" onClick=${() => run.run()}>${t('upload.continue')}<//>`}
      ${
        waybills.length > 0 &&
        html`<${Button} onClick=${() => saveWaybills(upload)}>${t('upload.waybills')}<//>
        <${Act} run=${() => saveLabels(waybills)}>${t('labels')}<//>
        <${Button} onClick=${() => print()}>${t('upload.print')}<//>`
      }
      ${
        isEnded &&
        html`<${Act} run=${end} question=${open.length > 0 ? t('upload.next_sure', { count: number(open.length) }) : ''}>
        ${t('upload.next')}<//>`
      }
    </div>
  <//>
  ${
    isEnded &&
    open.length > 0 &&
    html`<${Checked} key=${`${chunks.length} ${refused.length}`} rows=${upload.rest} general=${upload.general} stored=${upload}
      onBook=${setUpload} />`
  }`
}
