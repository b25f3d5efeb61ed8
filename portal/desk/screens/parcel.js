import { Act, announced, Button, CopyLink, Label } from '../../kit/actions.js'
import { ApiError, callOrders, withQuery } from '../../kit/api.js'
import { Instructions } from '../../kit/failures.js'
import { Form, orderFields, usePost } from '../../kit/form.js'
import { companyMoney, money, named, number, statusName, t } from '../../kit/i18n.js'
import { html, useState } from '../../kit/preact.js'
import { Proofs } from '../../kit/proofs.js'
import { may } from '../../kit/session.js'
import { Badge, Facts, Live, MessageStatus, Panel, Time, useLive } from '../../kit/ui.js'

const Details = ({ order }) => {
  const facts = {
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
  return html`<${Facts} of=${Object.fromEntries(
    Object.entries(facts).map(([name, value]) => [t(`field.${name}`), value]),
  )} />`
}

/** Confirms a draft, or cancels a draft or a confirmed order. */
const Moves = ({ order, onDone }) => {
  const post = usePost()
  const { key } = order.status
  const button = (/** @type {string} */ name) => {
    const move = () => post(`/order/${name}`, { waybill_numbers: [order.waybill_number] }).then(onDone)
    return html`<${Act} run=${move}>${t(`parcel.${name}`)}<//>`
  }
  if (key !== 'key_1' && key !== 'key_2') return null
  return html`<div class="row">${key === 'key_1' && button('confirm')}${button('cancel')}</div>`
}

const editFields = `customer_name customer_phone customer_address destination_city_id cod weight description`.split(' ')

/** Changes an order before its pickup; the service refuses the change if somebody else changed the order meanwhile. */
const Edit = ({ order, path, onDone }) => {
  /** Holds the order that the open form shows; undefined: the form is closed. */
  const [base, setBase] = useState(/** @type {any} */ (undefined))
  if (!base && order.data.editable !== 'all') return null
  if (!base) return html`<div class="row"><${Button} onClick=${() => setBase(order)}>${t('parcel.edit')}<//></div>`
  const send = async (/** @type {Record<string, string>} */ body) => {
    try {
      await announced(callOrders(path, { method: 'PATCH', body, ifMatch: base.etag }))
    } catch (error) {
      if (error instanceof ApiError && error.status === 412) setBase(await callOrders(path))
      throw error
    }
    setBase(undefined)
    onDone()
  }
  return html`<${Form} id="edit" fields=${orderFields(editFields)} start=${base.data} submit=${t('parcel.save')}
    send=${send}>
    <${Button} onClick=${() => setBase(undefined)}>${t('parcel.close')}<//><//>`
}

/** Shows a parcel's statuses and the messages to its recipient, oldest first; says so if messages cannot be read. */
const Timeline = ({ tracking, messages }) => {
  const moves = tracking.map(({ date_time, status, user }) => ({
    at: date_time,
    what: html`<strong>${statusName(status.name)}</strong> <span class="soft">
      ${user.first_name} ${user.last_name}</span>`,
  }))
  const sent = (messages.data?.data ?? []).map(({ at, template, status }) => ({
    at,
    what: html`${t('timeline.message')} <code>${template ?? t('timeline.text')}</code> <${MessageStatus}
      status=${status} />`,
  }))
  const entries = [...sent, ...moves].sort((a, b) => Date.parse(b.at) - Date.parse(a.at)).reverse()
  return html`<${Panel} title=${t('timeline.title')}>
    ${messages.error && html`<p class="notice">${t('parcel.no_messages')}</p>`}
    <ol class="timeline">${entries.map(
      ({ at, what }, index) => html`<li key=${index}><${Time} at=${at} /><div>
      ${what}</div></li>`,
    )}</ol><//>`
}

/** Shows what was collected for a parcel and what it cost, where the money is, and the invoice that pays it. */
const ParcelMoney = ({ waybill, status }) => {
  const path = withQuery('/order/finance', { waybill_numbers: waybill })
  const found = useLive(signal => callOrders(path, { signal }), 0, [waybill, status])
  const toFacts = parcel => ({
    [t('money.collected')]: companyMoney(parcel.collected),
    [t('money.method')]: parcel.method && named('method', parcel.method),
    [t('money.delivery_fees')]: companyMoney(parcel.delivery + parcel.cod_fee + parcel.return_fee),
    [t('money.tax')]: parcel.tax !== 0 && companyMoney(parcel.tax),
    [t('money.withholding')]: parcel.withholding !== 0 && companyMoney(parcel.withholding),
    [t('money.parcel_owed')]: companyMoney(parcel.owed),
    [t('invoice.no')]:
      parcel.invoice_no && html`<a href=${`#/money/${encodeURIComponent(parcel.invoice_no)}`}>${parcel.invoice_no}</a>`,
    [t('invoice.paid_on')]: parcel.paid_on,
  })
  return html`<${Panel} title=${t('menu.money')}><${Live} of=${found} lines=${2}>${({ data: [parcel] }) => html`
    <p><${Badge}>${named('money', parcel?.state ?? 'none')}<//></p>
    ${parcel?.booked_on && html`<${Facts} of=${toFacts(parcel)} />`}`}<//><//>`
}

export const Parcel = ({ params: [waybill] }) => {
  const path = `/order/${encodeURIComponent(waybill)}`
  const order = useLive(signal => callOrders(path, { signal }), 15, [waybill])
  const messages = useLive(signal => callOrders(`${path}/messages`, { signal }), 30, [waybill])
  return html`<div class="row"><h1 tabindex="-1">${waybill}</h1>
      <${Label} waybill=${waybill} needs="printLabel" />
      <${CopyLink} url=${order.data?.data.tracking_url} /></div>
    <${Live} of=${order} lines=${9}>${({ data }) => html`<div class="parcel">
      <div class="stack"><${Panel} title=${t('parcel')} aside=${html`<${Badge}>${statusName(data.status.name)}<//>`}>
        <${Details} order=${data} />
        ${may('editOrder') && html`<${Edit} order=${order.data} path=${path} onDone=${order.reload} />`}
        <${Moves} order=${data} onDone=${order.reload} /><//>
        ${may('getParcelMoney') && html`<${ParcelMoney} waybill=${waybill} status=${data.status.key} />`}</div>
      <div class="stack">
        <${Instructions} order=${data} mayDecide=${may('instructOrder')} onDone=${order.reload} />
        <${Timeline} tracking=${data.timeline} messages=${messages} />
        <${Proofs} waybill=${waybill} needs="listOrderProofs" inputs=${[data.status.key]} /></div></div>`}<//>`
}
