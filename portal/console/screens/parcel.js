import { announced, Button, ErrorText, Label, useAction } from '../../kit/actions.js'
import { newKeys, notifier, own } from '../../kit/api.js'
import { Instructions } from '../../kit/failures.js'
import { money, number, statusName, t } from '../../kit/i18n.js'
import { html, useRef, useState } from '../../kit/preact.js'
import { may } from '../../kit/session.js'
import { Facts, Field, Live, Panel, Time, useLive } from '../../kit/ui.js'
import { Edit } from './edit.js'
import { Status } from './find.js'
import { Composer } from './message.js'
import { ParcelMoney } from './money.js'
import { mayFail, Reasons } from './move-all.js'
import { Timeline } from './timeline.js'
import { Requests } from './today.js'

/** Matches an extension or a word after the digits, and separators. */
const notDialled = /(?<=\p{Nd}.*)\p{L}.*|[^\p{Nd}+]/gsu

const Details = ({ order }) => {
  const facts = {
    customer_name: html`<span>${order.customer_name}<br />
      <a href=${`tel:${order.customer_phone.replace(notDialled, '')}`}>${order.customer_phone}</a>
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

/** Shows the order, or the form that changes it. */
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

const Moves = ({ order, onMoved }) => {
  const [note, setNote] = useState('')
  const [amount, setAmount] = useState('')
  const [reason_code, setReason] = useState('')
  const keys = useRef(newKeys())
  const move = useAction(async status_key => {
    const waybill = order.waybill_number
    const text = note.trim()
    const reason = { ...(text && { note: text }), ...(reason_code && mayFail(status_key) && { reason_code }) }
    const paid = amount && { collected: { [waybill]: { amount: Number(amount), ...(text && { reason: text }) } } }
    const body = { waybill_numbers: [waybill], status_key, ...reason, ...paid }
    await announced(own('/order/status', { method: 'POST', body, key: keys.current.of(body) }))
    keys.current.done()
    setNote('')
    setAmount('')
    setReason('')
    document.getElementById('moves')?.focus()
    onMoved()
  })
  const asksForMoney = Object.keys(move.error?.errors ?? {}).some(path => path.startsWith('collected.'))
  return html`<${Panel} id="moves" title=${t('moves.title')}>
    ${
      order.moves.length === 0
        ? html`<p class="soft">${t('moves.none')}</p>`
        : html`
      <input aria-label=${t('moves.note')} placeholder=${t('moves.note')} maxlength="1000" value=${note}
        onInput=${event => setNote(event.target.value)} />
      ${
        (asksForMoney || amount) &&
        html`<${Field} id="collected" label=${t('moves.collected')} type="number" min="0"
        step="0.01" value=${amount} onInput=${event => setAmount(event.target.value)} />`
      }
      ${
        order.moves.some(({ status_key }) => mayFail(status_key)) &&
        html`<${Reasons} value=${reason_code} onChange=${setReason} />`
      }
      <div class="row">${order.moves.map(
        ({ status_key, name }) =>
          html`<${Button} key=${status_key} isBusy=${move.isBusy} onClick=${() => move.run(status_key)}>
            ${statusName(name)}<//>`,
      )}</div>`
    }
    <${ErrorText} error=${move.error} />
  <//>`
}

/** Shows one parcel: its data, its history, and the actions that it allows. */
export const Parcel = ({ params: [waybill = ''] }) => {
  const path = encodeURIComponent(waybill)
  const order = useLive(signal => own(`/order/${path}`, { signal }), 15, [waybill])
  const timeline = useLive(signal => notifier(`/api/timeline/${path}`, { signal }), 6, [waybill])
  const reload = () => {
    order.reload()
    timeline.reload()
  }
  return html`<div class="row"><h1 tabindex="-1">${waybill}</h1>
      ${order.data && html`<${Status} of=${order.data.data.status} />`}
      ${may('printAnyLabel') && html`<${Label} waybill=${waybill} />`}</div>
    <div class="parcel">
      <div class="stack">
        ${may('moveOrders') && order.data?.data.moves && html`<${Moves} order=${order.data.data} onMoved=${reload} />`}
        ${
          order.data &&
          html`<${Instructions} order=${order.data.data} mayDecide=${may('instructAnyOrder')}
          onDone=${reload} />`
        }
        ${may('listCustomerRequests') && html`<${Requests} waybill=${waybill} />`}
      </div>
      <div class="stack">
        <${Order} order=${order} onEdited=${reload} />
        ${may('getTimeline') && html`<${Timeline} of=${timeline} />`}
        ${
          may('getAnyParcelMoney') &&
          order.data &&
          html`<${ParcelMoney} order=${order.data.data} onTakenBack=${reload} />`
        }
      </div>
      <div class="stack">
        ${may('sendMessage') && order.data && html`<${Composer} waybill=${waybill} onSent=${timeline.reload} />`}
      </div>
    </div>`
}
