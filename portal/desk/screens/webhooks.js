import { Act, announced } from '../../kit/actions.js'
import { callOrders } from '../../kit/api.js'
import { Form } from '../../kit/form.js'
import { fromCompanyTime, number, t } from '../../kit/i18n.js'
import { Filters, Rows, usePages } from '../../kit/lists.js'
import { html, useState } from '../../kit/preact.js'
import { Badge, column, Live, Panel, ParcelLink, Secret, Table, Time, Two, useLive } from '../../kit/ui.js'

const events = [
  'order.created',
  'order.status_changed',
  'order.edited',
  'order.instructed',
  'money.paid',
  'invoice.submitted',
  'invoice.deposited',
  'bank_account.changed',
  'pickup.requested',
  'pickup.assigned',
  'pickup.done',
  'pickup.missed',
]
const all = Object.fromEntries(events.map(name => [name, 'true']))

/** Shows the form of a webhook: its address, and a box for each type of event. */
const WebhookForm = ({ id, start, submit, send }) => {
  const fields = [
    { name: 'url', label: t('webhooks.url'), type: 'url', maxlength: 1024, required: true },
    ...events.map(name => ({ name, label: name, type: 'checkbox' })),
  ]
  const read = (/** @type {Record<string, string>} */ entered) => {
    const values = { ...start, ...entered }
    return send({ url: values.url, events: events.filter(name => values[name] === 'true') })
  }
  return html`<${Form} id=${id} fields=${fields} start=${start} submit=${submit} send=${read} />`
}

const State = ({ of: { state, disabled_reason: reason, failing_since: since } }) => {
  if (state === 'disabled')
    return html`<${Badge} kind="warn">${t('webhooks.disabled')}<//> <span class="soft">${reason}</span>`
  if (since) return html`<${Badge} kind="bad">${t('webhooks.failing')}<//> <${Time} at=${since} />`
  return html`<${Badge} kind="good">${t('webhooks.enabled')}<//>`
}

const List = () => {
  const list = useLive(signal => callOrders('/webhook', { signal }), 30)
  const [secret, setSecret] = useState('')
  const add = async (/** @type {object} */ body) => {
    setSecret((await announced(callOrders('/webhook', { method: 'POST', body }))).data.secret)
    list.reload()
  }
  const columns = [
    column(t('webhooks.url'), row => html`<a href=${`#/webhooks/${row.id}`}>${row.url}</a>`),
    column(t('webhooks.events'), row => row.events.join(', ')),
    column(t('status'), row => html`<${State} of=${row} />`),
  ]
  return html`<h1 tabindex="-1">${t('menu.webhooks')}</h1>
    <p class="soft">${t('webhooks.about')}</p>
    <${Live} of=${list}>${({ data }) => html`
      <${Panel} title=${t('menu.webhooks')}><${Table} caption=${t('menu.webhooks')} columns=${columns} rows=${data}
        empty=${t('webhooks.empty')} /><//>
      ${secret && html`<${Secret} label=${t('webhooks.secret')} value=${secret} />`}
      <${Panel} title=${t('webhooks.add')}><${WebhookForm} id="webhook" start=${all} submit=${t('webhooks.add')}
        send=${add} /><//>`}<//>`
}

const Result = ({ of: { code, ms, error, response_body: body } }) =>
  html`<strong>${code ?? error}</strong>${ms !== null && html` <span class="soft">${number(ms)} ms</span>`}
  ${body && html`<p class="hint">${body}</p>`}`

const kinds = { delivered: 'good', pending: 'warn', failed: 'bad' }
const nameState = state => t(`messages.${state === 'pending' ? 'queued' : state}`)
const deliveryColumns = () => [
  column(
    t('webhooks.event'),
    row =>
      html`<${Two} first=${row.type}
        second=${row.waybill_number && html`<${ParcelLink} waybill=${row.waybill_number} />`} />`,
  ),
  column(t('status'), row => html`<${Badge} kind=${kinds[row.state]}>${nameState(row.state)}<//>`),
  column(t('webhooks.attempts'), row => number(row.attempts), 'number'),
  column(t('webhooks.response'), row => row.attempts > 0 && html`<div><${Result} of=${row} /></div>`),
  column(t('webhooks.last'), row => row.last_attempt_at && html`<${Time} at=${row.last_attempt_at} />`),
  column(t('webhooks.next'), row => row.next_attempt_at && html`<${Time} at=${row.next_attempt_at} />`),
]

/** Shows the deliveries to a webhook, and the form to send the events of a period again. */
const Deliveries = ({ id, path, query }) => {
  const list = usePages(`${path}/deliveries`, query, 15)
  const replay = async (/** @type {Record<string, string>} */ entered) => {
    const given = Object.entries(entered).filter(([, time]) => time)
    const body = Object.fromEntries(given.map(([name, time]) => [name, fromCompanyTime(time)]))
    await announced(callOrders(`${path}/replay`, { method: 'POST', body }))
    list.reload()
  }
  const options = Object.keys(kinds).map(state => ({ id: state, label: nameState(state) }))
  const times = ['from', 'to'].map(name => ({
    name,
    label: t(`webhooks.${name}`),
    type: 'datetime-local',
    max: '2999-12-31T23:59',
    required: name === 'from',
  }))
  return html`<${Panel} title=${t('webhooks.deliveries')}>
      <${Filters} screen=${`webhooks/${id}`} query=${query}
        fields=${[{ name: 'state', label: t('status'), options }]} />
      <${Rows} of=${list} lines=${3} caption=${t('webhooks.deliveries')} columns=${deliveryColumns()}
        empty=${t('webhooks.no_deliveries')} /><//>
    <${Panel} title=${t('webhooks.replay')}><${Form} id="replay" fields=${times} submit=${t('webhooks.replay')}
      send=${replay} /><//>`
}

/** Shows the actions on a webhook except the change of its address and events. */
const Actions = ({ webhook, path, onChanged }) => {
  const [pinged, setPinged] = useState(/** @type {any} */ (undefined))
  const [secret, setSecret] = useState('')
  const post = (/** @type {string} */ verb) => callOrders(`${path}/${verb}`, { method: 'POST', body: {} })
  const state = webhook.state === 'enabled' ? 'disabled' : 'enabled'
  const change = () => announced(callOrders(path, { method: 'PATCH', body: { state } })).then(onChanged)
  const ping = async () => {
    setPinged((await post('ping')).data)
    onChanged()
  }
  const rotate = async () => {
    setSecret((await post('rotate')).data.secret)
    onChanged()
  }
  const remove = async () => {
    await announced(callOrders(path, { method: 'DELETE' }))
    location.hash = '#/webhooks'
  }
  return html`<div class="row">
      <${Act} run=${ping}>${t('webhooks.ping')}<//>
      <${Act} run=${change}>${t(`webhooks.make_${state}`)}<//>
      <${Act} question=${t('webhooks.rotate_sure')} run=${rotate}>${t('webhooks.rotate')}<//>
      <${Act} question=${t('sure')} run=${remove}>${t('webhooks.delete')}<//></div>
    ${
      pinged &&
      html`<div class=${`notice ${pinged.code < 300 && !pinged.error ? 'good' : ''}`} role="status">
      <${Result} of=${pinged} /></div>`
    }
    ${secret && html`<${Secret} label=${t('webhooks.secret')} value=${secret} />`}`
}

const Webhook = ({ id, query }) => {
  const path = `/webhook/${encodeURIComponent(id)}`
  const list = useLive(signal => callOrders('/webhook', { signal }), 30)
  const change = async (/** @type {object} */ body) => {
    await announced(callOrders(path, { method: 'PATCH', body }))
    list.reload()
  }
  return html`<h1 tabindex="-1">${t('webhooks.one')}</h1><p><a href="#/webhooks">${t('menu.webhooks')}</a></p>
    <${Live} of=${list}>${({ data }) => {
      const webhook = data.find(row => row.id === id)
      if (!webhook) return html`<p class="empty">${t('webhooks.gone')}</p>`
      const start = { url: webhook.url, ...Object.fromEntries(webhook.events.map(name => [name, 'true'])) }
      return html`<${Panel} title=${webhook.url} aside=${html`<span><${State} of=${webhook} /></span>`}>
          <${Actions} webhook=${webhook} path=${path} onChanged=${list.reload} />
          <${WebhookForm} id="webhook" start=${start} submit=${t('parcel.save')} send=${change} /><//>
        <${Deliveries} id=${id} path=${path} query=${query} />`
    }}<//>`
}

export const Webhooks = ({ params: [id], query }) =>
  id ? html`<${Webhook} id=${id} query=${query} />` : html`<${List} />`
