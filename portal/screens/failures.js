import { orders, withQuery } from '../api.js'
import { Form, usePost } from '../form.js'
import { number, day as showDay, t } from '../i18n.js'
import { Filters, Pages, usePages } from '../lists.js'
import { html, useState } from '../preact.js'
import { may } from '../session.js'
import { Badge, Button, column, ErrorText, Live, Panel, saveFile, Table, Time, useAction } from '../ui.js'

const actions = ['reattempt', 'reschedule', 'change_address', 'return']
const options = () => actions.map(id => ({ id, label: t(`failures.${id}`) }))

/** What was said about a failed delivery, by whom. */
const Said = ({ of: { action, date: day, note, given_as, given_by } }) =>
  html`<div><strong>${t(`failures.${action}`)}</strong>${day && html` ${showDay(day, 'UTC')}`}
    <span class="soft"> ${given_by ?? t(`failures.by.${given_as}`)}</span>${note && html`<p>${note}</p>`}</div>`

/** Says what happens with a parcel whose delivery failed. The word of staff holds over all others. */
const Decide = ({ waybill, onDone }) => {
  const post = usePost()
  const fields = [
    { name: 'action', label: t('failures.action'), options: options() },
    { name: 'date', label: t('failures.date'), type: 'date' },
    { name: 'address', label: t('failures.address'), maxlength: 500 },
    { name: 'note', label: t('failures.note'), maxlength: 1000 },
  ]
  const send = async (/** @type {Record<string, string>} */ entered) => {
    const given = Object.entries(entered).filter(([, value]) => value !== '')
    const body = { action: 'reattempt', ...Object.fromEntries(given) }
    await post(`/api/staff/order/${encodeURIComponent(waybill)}/instruction`, body)
    onDone()
  }
  const start = { action: 'reattempt' }
  return html`<${Form} id="instruction" fields=${fields} start=${start} submit=${t('failures.save')} send=${send} />`
}

/** What was said about the failed deliveries of a parcel, and what staff say. */
export const Instructions = ({ order, onDone }) => {
  const { failed_attempts: count, instructions, status, waybill_number: waybill } = order
  if (!count) return null
  const isOpen = ['key_15', 'key_16', 'key_17'].includes(status.key)
  return html`<${Panel} title=${t('failures.attempts', { count: number(count) })}>
    <ol class="timeline">${instructions.map(
      given => html`<li key=${given.given_at}><${Time} at=${given.given_at} /><div><${Said} of=${given} /></div></li>`,
    )}</ol>
    ${isOpen && may('instructAnyOrder') && html`<${Decide} waybill=${waybill} onDone=${onDone} />`}
  <//>`
}

const columns = (/** @type {(waybill: string) => void} */ open) => [
  column(
    t('parcel'),
    row => html`<a href=${`#/parcel/${encodeURIComponent(row.waybill_number)}`}>${row.waybill_number}</a>`,
  ),
  column(t('failures.attempt'), row => number(row.attempt), 'number'),
  column(t('failures.reason'), row => row.reason?.name),
  column(t('failures.failed'), row => html`<${Time} at=${row.failed_at} />`),
  column(t('failures.due'), row => html`<${Time} at=${row.due_at} />`),
  column(t('failures.instruction'), row =>
    row.instruction ? html`<${Said} of=${row.instruction} />` : html`<${Badge} kind="bad">${t('failures.waiting')}<//>`,
  ),
  ...(may('instructAnyOrder')
    ? [column('', row => html`<${Button} onClick=${() => open(row.waybill_number)}>${t('failures.decide')}<//>`)]
    : []),
]

/** Prints the sheet of the parcels that are to be delivered again today. */
const RunSheet = () => {
  const print = useAction(async () => {
    const reattempts_by = new Intl.DateTimeFormat('sv-SE').format()
    const body = { reattempts_by, title: `${t('failures.run_sheet')} ${reattempts_by}` }
    saveFile(await orders('/api/staff/order/run-sheet', { method: 'POST', body, as: 'blob' }), 'run-sheet.pdf')
  })
  return html`<${Button} isBusy=${print.isBusy} onClick=${() => print.run()}>${t('failures.run_sheet')}<//>
    <${ErrorText} error=${print.error} />`
}

/** Parcels whose delivery failed, those that wait longest first. */
export const Failures = ({ query }) => {
  const [open, setOpen] = useState('')
  const read = (cursor, signal) =>
    orders(withQuery('/api/staff/order/failed-deliveries', { ...query, cursor }), { signal })
  const list = usePages(read, [query], 30)
  const close = () => {
    setOpen('')
    list.reload()
  }
  const states = [
    { id: 'false', label: t('failures.waiting') },
    { id: 'true', label: t('failures.given') },
  ]
  return html`<div class="row"><h1 tabindex="-1">${t('menu.failures')}</h1>${may('printRunSheet') && html`<${RunSheet} />`}</div>
    <p class="notice">${t('failures.hint')}</p>
    <${Filters} screen="failures" query=${query} fields=${[{ name: 'instructed', label: t('failures.instruction'), options: states }]} />
    ${open && html`<${Panel} title=${`${t('failures.decide')}: ${open}`}><${Decide} key=${open} waybill=${open} onDone=${close} /><//>`}
    <${Live} of=${list} lines=${6}>${({ data, next_cursor: next }) => html`
      <${Table} caption=${t('menu.failures')} columns=${columns(setOpen)} rows=${data.map(row => ({ ...row, id: row.waybill_number }))} empty=${t('failures.empty')} />
      <${Pages} of=${list} next=${next} />`}<//>`
}
