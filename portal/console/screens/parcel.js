import { announced, Button, CopyLink, ErrorText, instead, Label, useAction } from '../../kit/actions.js'
import { callOrders, newKeys } from '../../kit/api.js'
import { Instructions } from '../../kit/failures.js'
import { FoldedForm } from '../../kit/form.js'
import { money, number, statusName, t } from '../../kit/i18n.js'
import { html, useRef, useState } from '../../kit/preact.js'
import { may } from '../../kit/session.js'
import { Facts, Live, Panel, PhoneLink, Time, useLive } from '../../kit/ui.js'
import { Collection, takesPayment, useCollection } from '../collection.js'
import { Edit } from './edit.js'
import { Status } from './find.js'
import { Composer } from './message.js'
import { ParcelMoney, reasonField } from './money.js'
import { Reasons, useReasons } from './move-all.js'
import { Carried } from './riders.js'
import { Timeline, useTimeline } from './timeline.js'
import { Requests } from './today.js'

const Details = ({ order }) => {
  const facts = {
    customer_name: html`<span>${order.customer_name}<br />
      <${PhoneLink} phone=${order.customer_phone} />
      ${order.customer_secondary_phone && html` · ${order.customer_secondary_phone}`}</span>`,
    destination: html`<span>${order.customer_address}<br />
      ${order.destination_city_name}, ${order.destination_state_name}</span>`,
    origin: `${order.merchant_business_name}, ${order.origin_city_name}`,
    order_no: order.order_no,
    description: order.description,
    remark: order.remark,
    cod: money(order.cod, order.currency),
    charge: money(order.delivery_charge, order.currency),
    weight: `${number(order.weight)} kg`,
    created: html`<${Time} at=${order.created_at} />`,
  }
  return html`<${Facts} of=${Object.fromEntries(
    Object.entries(facts).map(([name, value]) => [t(`field.${name}`), value]),
  )} />`
}

const Order = ({ order, onEdited }) => {
  const [isOpen, setIsOpen] = useState(false)
  const [warnings, setWarnings] = useState(/** @type {string[]} */ ([]))
  const close = () => {
    setIsOpen(false)
    document.querySelector('h1')?.focus()
  }
  const onDone = (/** @type {string[]} */ found) => {
    setWarnings(found)
    close()
    onEdited()
  }
  const mayEdit = may('editAnyOrder') && order.data && order.data.data.editable !== 'none' && !isOpen
  return html`<${Panel} title=${t('parcel')}
    aside=${mayEdit && html`<${Button} onClick=${() => setIsOpen(true)}>${t('edit.open')}<//>`}>
    ${warnings.length > 0 && html`<p class="notice">${warnings.join(' ')}</p>`}
    ${
      isOpen
        ? html`<${Edit} order=${order.data} onDone=${onDone} onClose=${close} />`
        : html`<${Live} of=${order} lines=${9}>${({ data }) => html`<${Details} order=${data} />`}<//>`
    }
  <//>`
}

/** Shows the moves of a parcel. A move that books what the recipient paid asks for it first. */
const Moves = ({ order, onMoved }) => {
  const [note, setNote] = useState('')
  const [asked, setAsked] = useState('')
  const [reason_code, setReason] = useState('')
  const reasons = useReasons()
  const takesReason = ({ status_key }) => reasons.status_keys.includes(status_key)
  const keys = useRef(newKeys())
  const chosen = order.moves.find(({ status_key }) => status_key === asked)
  const collection = useCollection([order], chosen?.books)
  const move = useAction(async status_key => {
    const text = note.trim()
    const reason = { ...(text && { note: text }), ...(reason_code && takesReason({ status_key }) && { reason_code }) }
    const body = { waybill_numbers: [order.waybill_number], status_key, ...reason, ...collection.body }
    await announced(callOrders('/order/status', { method: 'POST', body, key: keys.current.of(body) }))
    keys.current.done()
    setNote('')
    setReason('')
    setAsked('')
    collection.end()
    document.getElementById('moves')?.focus()
    onMoved()
  })
  const press = ({ status_key, books }) => {
    const asks = order.cod > 0 && takesPayment(books)
    setAsked(asks ? status_key : '')
    if (!asks) move.run(status_key)
  }
  return html`<${Panel} id="moves" title=${t('moves.title')}>
    ${
      order.moves.length === 0
        ? html`<p class="soft">${t('moves.none')}</p>`
        : html`
      <input aria-label=${t('moves.note')} placeholder=${t('moves.note')} maxlength="1000" value=${note}
        onInput=${event => setNote(event.target.value)} />
      ${order.moves.some(takesReason) && html`<${Reasons} of=${reasons} value=${reason_code} onChange=${setReason} />`}
      <div class="row">${order.moves.map(
        each =>
          html`<${Button} key=${each.status_key} isBusy=${move.isBusy}
            aria-expanded=${each === chosen ? 'true' : undefined} onClick=${() => press(each)}>
            ${statusName(each.name)}<//>`,
      )}</div>
      ${
        chosen &&
        html`<form class="stack" onSubmit=${instead(() => collection.body && move.run(asked))}>
        <${Collection} of=${collection} />
        ${!collection.body && html`<p class="hint">${t('collect.missing')}</p>`}
        <div class="row"><${Button} kind="primary" type="submit" isBusy=${move.isBusy || !collection.body}>
          ${t('collect.submit', { status: statusName(chosen.name) })}<//>
          <${Button} onClick=${() => setAsked('')}>${t('edit.close')}<//></div></form>`
      }`
    }
    <${ErrorText} error=${move.error} />
  <//>`
}

/** Shows one parcel: its data, its history, and the actions that it allows. */
export const Parcel = ({ params: [waybill = ''] }) => {
  const path = encodeURIComponent(waybill)
  const order = useLive(signal => callOrders(`/order/${path}`, { signal }), 15, [waybill])
  const timeline = useTimeline(waybill, order)
  const reload = () => {
    order.reload()
    timeline.reload()
  }
  return html`<div class="row"><h1 tabindex="-1">${waybill}</h1>
      ${order.data && html`<${Status} of=${order.data.data.status} />`}
      <${Label} waybill=${waybill} needs="printAnyLabel" />
      <${CopyLink} url=${order.data?.data.tracking_url} /></div>
    <div class="parcel">
      <div class="stack">
        ${may('moveOrders') && order.data?.data.moves && html`<${Moves} order=${order.data.data} onMoved=${reload} />`}
        ${
          may('takeBackMove') &&
          order.data &&
          html`<${FoldedForm} kind="panel" title=${t('money.take_back')} id="take-back" fields=${[reasonField()]}
            path=${`/order/${path}/take-back`} onDone=${reload} />`
        }
        ${
          order.data &&
          html`<${Instructions} order=${order.data.data} mayDecide=${may('instructAnyOrder')}
          onDone=${reload} />`
        }
        ${may('listCustomerRequests') && html`<${Requests} waybill=${waybill} />`}
      </div>
      <div class="stack">
        <${Order} order=${order} onEdited=${reload} />
        ${order.data && html`<${Carried} order=${order.data.data} />`}
        <${Timeline} of=${timeline} />
        ${may('getAnyParcelMoney') && order.data && html`<${ParcelMoney} order=${order.data.data} />`}
      </div>
      <div class="stack">
        ${may('sendMessage') && order.data && html`<${Composer} waybill=${waybill} onSent=${timeline.reload} />`}
      </div>
    </div>`
}
