// Failed deliveries, for staff and merchants: what waits, what was said, and the form to say it.
import { Form, usePost } from './form.js'
import { number, day as showDay, t } from './i18n.js'
import { html } from './preact.js'
import { Badge, Button, column, Panel, Time } from './ui.js'

const actions = ['reattempt', 'reschedule', 'change_address', 'return']
const options = () => actions.map(id => ({ id, label: t(`failures.${id}`) }))

/** Shows what was said about a failed delivery, and by whom. */
const Said = ({ of: { action, date: day, note, given_as, given_by } }) =>
  html`<div><strong>${t(`failures.${action}`)}</strong>${day && html` ${showDay(day, 'UTC')}`}
    <span class="soft"> ${given_by ?? t(`failures.by.${given_as}`)}</span>${note && html`<p>${note}</p>`}</div>`

/** Says what happens with a parcel whose delivery failed. `path` is that of the order. */
export const Decide = ({ path, onDone }) => {
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
    await post(`${path}/instruction`, body)
    onDone()
  }
  const start = { action: 'reattempt' }
  return html`<${Form} id="instruction" fields=${fields} start=${start} submit=${t('failures.save')} send=${send} />`
}

/** Lists what was said about the failed deliveries of a parcel, with the form if `path` is given. */
export const Instructions = ({ order, path = '', onDone }) => {
  const { failed_attempts: count, instructions, status } = order
  if (!count) return null
  const isOpen = ['key_15', 'key_16', 'key_17'].includes(status.key)
  return html`<${Panel} title=${t('failures.attempts', { count: number(count) })}>
    <ol class="timeline">${instructions.map(
      given => html`<li key=${given.given_at}><${Time} at=${given.given_at} /><div><${Said} of=${given} /></div></li>`,
    )}</ol>
    ${isOpen && path && html`<${Decide} path=${path} onDone=${onDone} />`}
  <//>`
}

/** The columns of a list of failed deliveries; `open` is called with the waybill that somebody decides. */
export const failureColumns = (/** @type {((waybill: string) => void) | undefined} */ open) => [
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
  ...(open
    ? [column('', row => html`<${Button} onClick=${() => open(row.waybill_number)}>${t('failures.decide')}<//>`)]
    : []),
]
