import { announced, Button, ErrorText, Label, useAction } from '../../kit/actions.js'
import { newKeys, notifier, own } from '../../kit/api.js'
import { Instructions } from '../../kit/failures.js'
import { money, named, number, statusName, t, time } from '../../kit/i18n.js'
import { html, useRef, useState } from '../../kit/preact.js'
import { may } from '../../kit/session.js'
import { Badge, Facts, Field, Live, MessageStatus, Panel, Time, useLive } from '../../kit/ui.js'
import { conversationLink, Written } from './conversations.js'
import { Edit } from './edit.js'
import { Status } from './find.js'
import { Composer } from './message.js'
import { MessageActions } from './messages.js'
import { ParcelMoney } from './money.js'
import { mayFail, Reasons } from './move-all.js'
import { Requests } from './today.js'

const Details = ({ order }) => {
  const facts = {
    customer_name: html`<span>${order.customer_name}<br />
      <a href=${`tel:${order.customer_phone.replace(/[^\p{Nd}+]/gu, '')}`}>${order.customer_phone}</a>
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

/** The order, or the form that changes it. */
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

const Cost = ({ cost }) =>
  cost &&
  html`<span class="soft"> ${
    cost.is_free ? t('cost.free') : cost.amount === null ? '' : money(cost.amount, cost.currency)
  }</span>`

/** Renders each kind of entry. `entry.steps` holds the statuses of a message, newest first. */
const shown = {
  tracking: entry => html`<strong>${statusName(entry.status_name)}</strong> <span class="soft">
      ${entry.staff_name ?? (entry.by ? named('by', entry.by) : '')}</span>
    ${entry.note && html`<p>${entry.note}</p>`}`,
  edit: entry => html`${t('timeline.edit', { fields: entry.fields.map(name => name.replaceAll('_', ' ')).join(', ') })}
    <span class="soft"> ${entry.staff_name ?? (entry.by ? named('by', entry.by) : '')}</span>
    ${entry.reason && html`<p>${entry.reason}</p>`}
    ${Object.entries(entry.previous ?? {}).map(
      ([name, value]) => html`<p key=${name} class="soft">
      ${t('timeline.before', { field: name.replaceAll('_', ' '), value: value ?? '–' })}</p>`,
    )}`,
  message: (
    entry,
    reload,
  ) => html`${t('timeline.message')} <code>${entry.template ?? t('timeline.text')}</code> <${MessageStatus}
    status=${entry.status} /><${Cost} cost=${entry.cost} />
    ${entry.detail && html`<p>${entry.detail}</p>`}
    ${
      entry.steps.length > 1 &&
      html`<p class="soft">
      ${entry.steps.map(
        ({ status, at }, index) => html`<span key=${index}>${index > 0 && ' ← '}
        ${named('messages', status)} ${time(at)}</span>`,
      )}</p>`
    }
    <${MessageActions} id=${entry.message_id} status=${entry.status} onDone=${reload} />`,
  inbound: entry =>
    html`<a href=${conversationLink(entry)}>${t('field.customer_name')}</a><p class="lines">
      <${Written} of=${entry} /></p>`,
  event: entry =>
    html`<${Badge} kind="bad">${t('timeline.no_message')}<//> <code>${entry.template}</code><p>${entry.detail}</p>`,
  action: entry =>
    html`${t('timeline.action', { action: named('request', entry.action) })} ${
      entry.outcome && html`<${Badge}>${named('outcome', entry.outcome)}<//>`
    }${entry.detail && html`<p>${entry.detail}</p>`}`,
}

/** Joins the entries of each message into one, at the time of its latest status. @param {any[]} entries */
const joinMessages = entries => {
  const known = new Map()
  return entries.flatMap(entry => {
    if (entry.kind !== 'message') return entry
    const joined = known.get(entry.message_id)
    if (joined) joined.steps.push(entry)
    else known.set(entry.message_id, { ...entry, steps: [entry] })
    return joined ? [] : known.get(entry.message_id)
  })
}

/** @param {any[]} entries */
const costOf = entries => {
  const sums = new Map()
  for (const { cost } of entries)
    if (cost?.amount) sums.set(cost.currency, (sums.get(cost.currency) ?? 0) + Number(cost.amount))
  return [...sums].map(([currency, amount]) => money(amount, currency)).join(', ')
}

const Timeline = ({ of }) => {
  const entries = joinMessages(of.data?.data.timeline ?? [])
  const cost = costOf(entries)
  return html`<${Panel} title=${t('timeline.title')}
    aside=${cost && html`<span class="soft">${t('timeline.cost', { cost })}</span>`}>
    <${Live} of=${of} lines=${6}>${() =>
      html`<ol class="timeline">${entries.map(entry => {
        const key = entry.message_id ?? entry.event_id ?? `${entry.kind} ${entry.at}`
        return html`<li key=${`${entry.kind} ${key}`} class=${entry.kind}><${Time} at=${entry.at} /><div>
          ${shown[entry.kind]?.(entry, of.reload)}</div></li>`
      })}</ol>`}<//>
  <//>`
}

/** One parcel: its data, its history, and the actions that it allows. */
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
          html`<${ParcelMoney} key=${order.data.data.status.key} order=${order.data.data} onTakenBack=${reload} />`
        }
      </div>
      <div class="stack">
        ${may('sendMessage') && order.data && html`<${Composer} waybill=${waybill} onSent=${timeline.reload} />`}
      </div>
    </div>`
}
