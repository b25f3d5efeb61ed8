// Shows pickups and messages to the company as both the desk and the console do.
import { Act, saveFile } from './actions.js'
import { callOrders } from './api.js'
import { dateTime, number, t } from './i18n.js'
import { Rows } from './lists.js'
import { html } from './preact.js'
import { Badge, column, Panel, Time, Two } from './ui.js'

const kinds = { open: 'warn', done: 'good', missed: 'bad' }

export const PickupState = ({ of: { state, reason } }) =>
  html`<${Badge} kind=${kinds[state]}>${t(`pickup.${state}`)}<//>
    ${reason && html` <span class="soft">${reason}</span>`}`

/** Words how many parcels a pickup has: counted, or as the merchant said. */
const wordParcels = ({ scanned, missing, extra, all, parcels, waybill_numbers: named }) => {
  if (scanned) {
    const differs = missing.length + extra.length > 0
    const counts = { missing: number(missing.length), extra: number(extra.length) }
    return html`<${Two} first=${number(scanned.length)} second=${differs && t('pickup.differs', counts)} />`
  }
  const said = [all && t('pickup.all'), named.length > 0 && number(named.length), parcels > 0 && `+${number(parcels)}`]
  return said.filter(Boolean).join(' ')
}

export const pickupColumns = () => [
  column(t('pickup.day'), row => html`<${Two} first=${row.day} second=${row.from && `${row.from} – ${row.to}`} />`),
  column(t('pickup.where'), ({ address, business }) =>
    address
      ? html`<${Two} first=${`${address.name}, ${address.city}`} second=${business.name} />`
      : html`<${Two} first=${t('pickup.no_address')} second=${business.name} />`,
  ),
  column(t('pickup.parcels'), wordParcels),
  column(t('status'), row => html`<${PickupState} of=${row} />`),
  column(
    t('pickup.rider'),
    ({ rider }) =>
      rider && (rider.is_active ? rider.name : html`<span class="wrong">${t('pickup.left', rider)}</span>`),
  ),
]

/** Shows a button that saves the receipt of a pickup that is done. */
export const Receipt = ({ pickup: { id, state } }) => {
  const save = async () => saveFile(await callOrders(`/pickup/${id}/receipt`, { as: 'blob' }), `pickup-${id}.pdf`)
  return state === 'done' && html`<${Act} run=${save}>${t('pickup.receipt')}<//>`
}

/** Shows messages to the company; `more` shows actions on one. */
export const Tickets = ({ of, more = (/** @type {any} */ _row) => /** @type {unknown} */ (null), children = null }) => {
  const columns = [
    column(t('ticket.about'), row => html`<${Two} first=${row.subject} second=${row.message} />`),
    column(
      t('ticket.from'),
      row => html`<${Two} first=${row.merchant.name} second=${html`<${Time} at=${row.created_at} />`} />`,
    ),
    column(
      t('ticket.replies'),
      ({ replies }) =>
        html`<ul class="plain">${replies.map(
          ({ text, by, at }) => html`<li key=${at}>${text} <span class="soft">${by}, ${dateTime(at)}</span></li>`,
        )}</ul>`,
    ),
    column('', row => (row.closed_at ? html`<${Badge}>${t('ticket.closed')}<//>` : more(row))),
  ]
  return html`<${Panel} title=${t('ticket.title')}>
    <${Rows} of=${of} caption=${t('ticket.title')} columns=${columns} empty=${t('ticket.none')} />${children}<//>`
}
