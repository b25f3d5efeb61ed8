import { Instructions } from '../../kit/failures.js'
import { usePost } from '../../kit/form.js'
import { money, number, statusName, t } from '../../kit/i18n.js'
import { html } from '../../kit/preact.js'
import { Badge, Button, ErrorText, Live, Panel, saveFile, Time, useAction, useLive } from '../../kit/ui.js'
import { merchant } from '../merchant.js'

const Details = ({ order }) => {
  const rows = {
    customer_name: order.customer_name,
    customer_phone: order.customer_phone,
    customer_address: order.customer_address,
    destination: `${order.destination_city_name}, ${order.destination_state_name}`,
    order_no: order.order_no,
    description: order.description,
    remark: order.remark,
    cod: money(order.cod, order.currency),
    charge: money(order.delivery_charge, order.currency),
    weight: `${number(order.weight)} kg`,
  }
  return html`<dl class="details">${Object.entries(rows).map(([name, value]) =>
    value ? html`<div key=${name}><dt>${t(`field.${name}`)}</dt><dd>${value}</dd></div>` : null,
  )}</dl>`
}

/** Confirms or cancels an order that the company does not have yet. */
const Moves = ({ order, onDone }) => {
  const post = usePost()
  const move = useAction(async (/** @type {string} */ name) => {
    await post(`/api/public/merchant/order/${name}`, { waybill_numbers: [order.waybill_number] })
    onDone()
  })
  const { key } = order.status
  const button = (/** @type {string} */ name) =>
    html`<${Button} isBusy=${move.isBusy} onClick=${() => move.run(name)}>${t(`parcel.${name}`)}<//>`
  if (key !== 'key_1' && key !== 'key_2') return null
  return html`<div class="row">${key === 'key_1' && button('confirm')}${button('cancel')}</div><${ErrorText} error=${move.error} />`
}

/** One parcel with its timeline. */
export const Parcel = ({ param: waybill }) => {
  const path = `/order/${encodeURIComponent(waybill)}`
  const order = useLive(signal => merchant(path, { signal }), 15, [waybill])
  const label = useAction(async () => saveFile(await merchant(`${path}/label`, { as: 'blob' }), `${waybill}.pdf`))
  return html`<div class="row"><h1 tabindex="-1">${waybill}</h1>
      <${Button} isBusy=${label.isBusy} onClick=${() => label.run()}>${t('parcel.label')}<//></div>
    <${ErrorText} error=${label.error} />
    <${Live} of=${order} lines=${9}>${({ data }) => html`<div class="parcel">
      <div class="stack"><${Panel} title=${t('parcel')} aside=${html`<${Badge}>${statusName(data.status.name)}<//>`}>
        <${Details} order=${data} /><${Moves} order=${data} onDone=${order.reload} /><//></div>
      <div class="stack">
        <${Instructions} order=${data} path=${`/api/public/merchant${path}`} onDone=${order.reload} />
        <${Panel} title=${t('parcel.timeline')}><ol class="timeline">${data.timeline.map(
          event =>
            html`<li key=${event.date_time}><${Time} at=${event.date_time} /><div><strong>${statusName(event.status.name)}</strong>
              <span class="soft"> ${event.user.first_name} ${event.user.last_name}</span></div></li>`,
        )}</ol><//></div></div>`}<//>`
}
