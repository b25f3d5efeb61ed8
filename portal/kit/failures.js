// Shows failed deliveries to staff and merchants: the list, the instructions, and the form to give an instruction.

import { Button } from './actions.js'
import { Form } from './form.js'
import { money, number, day as showDay, t } from './i18n.js'
import { Rows, usePages } from './lists.js'
import { html, useState } from './preact.js'
import { Badge, column, Panel, ParcelLink, PhoneLink, Time, Two } from './ui.js'

const actions = ['reattempt', 'reschedule', 'change_address', 'return']
const options = () => actions.map(id => ({ id, label: t(`failures.${id}`) }))

/** Shows the instruction for a failed delivery, and who gave it. */
const Said = ({ of: { action, date: day, note, given_as, given_by } }) =>
  html`<div><strong>${t(`failures.${action}`)}</strong>${day && html` ${showDay(day, 'UTC')}`}
    <span class="soft"> ${given_by ?? t(`failures.by.${given_as}`)}</span>${note && html`<p>${note}</p>`}</div>`

/** Shows a form to give an instruction for a parcel whose delivery failed. */
const Decide = ({ waybill, onDone }) => {
  const fields = [
    { name: 'action', label: t('failures.action'), options: options() },
    { name: 'date', label: t('failures.date'), type: 'date' },
    { name: 'address', label: t('failures.address'), maxlength: 500 },
    { name: 'note', label: t('failures.note'), maxlength: 1000 },
  ]
  const start = { action: 'reattempt' }
  const toBody = (/** @type {Record<string, string>} */ entered) =>
    Object.fromEntries(Object.entries({ ...start, ...entered }).filter(([, value]) => value !== ''))
  return html`<${Form} id="instruction" fields=${fields} start=${start} submit=${t('failures.save')}
    path=${`/order/${encodeURIComponent(waybill)}/instruction`} toBody=${toBody} onDone=${onDone} />`
}

/** Lists the instructions for the failed deliveries of a parcel, with the form for people who may decide. */
export const Instructions = ({ order, mayDecide, onDone }) => {
  const { failed_attempts: count, awaits_instruction: isOpen, instructions } = order
  if (!count) return null
  return html`<${Panel} title=${t('failures.attempts', { count: number(count) })}>
    <ol class="timeline">${instructions.map(
      given => html`<li key=${given.given_at}><${Time} at=${given.given_at} /><div><${Said} of=${given} /></div></li>`,
    )}</ol>
    ${isOpen && mayDecide && html`<${Decide} waybill=${order.waybill_number} onDone=${onDone} />`}
  <//>`
}

const columns = (/** @type {((waybill: string) => void) | false} */ open) => [
  column(
    t('parcel'),
    row => html`<${Two} first=${html`<${ParcelLink} waybill=${row.waybill_number} />`} second=${row.order_no} />`,
  ),
  column(
    t('field.customer_name'),
    row => html`<${Two} first=${row.customer_name} second=${html`<${PhoneLink} phone=${row.customer_phone} />`} />`,
  ),
  column(t('field.cod'), row => money(row.cod, row.currency), 'number'),
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

/** Shows the parcels whose delivery failed; the parcels that have waited longest come first. */
export const Failures = ({ query, mayDecide, actions = '', filters = '' }) => {
  const [open, setOpen] = useState('')
  const list = usePages('/order/failed-deliveries', query, 30)
  const close = () => {
    setOpen('')
    list.reload()
  }
  return html`<div class="row"><h1 tabindex="-1">${t('menu.failures')}</h1>${actions}</div>
    <p class="notice">${t('failures.hint')}</p>
    ${filters}
    ${
      open &&
      html`<${Panel} title=${`${t('failures.decide')}: ${open}`}>
      <${Decide} key=${open} waybill=${open} onDone=${close} /><//>`
    }
    <${Rows} of=${list} caption=${t('menu.failures')} columns=${columns(mayDecide && setOpen)} id="waybill_number"
      empty=${t('failures.empty')} />`
}
