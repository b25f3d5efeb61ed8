import { announced, Button, ErrorText, useAction } from '../../kit/actions.js'
import { callNotifier, callOrders, withQuery } from '../../kit/api.js'
import { named, number, t } from '../../kit/i18n.js'
import { Rows } from '../../kit/lists.js'
import { html, useState } from '../../kit/preact.js'
import { may } from '../../kit/session.js'
import { column, Panel, ParcelLink, Time, useLive } from '../../kit/ui.js'
import { DaysChart, MinutesChart } from '../charts.js'
import { Unread } from './conversations.js'

/** Shows counts, each with a link to its list. */
const Tiles = ({ of, links, group, bad = [] }) =>
  html`<dl class="tiles">${Object.entries(links).map(
    ([name, link]) => html`<div key=${name} class=${bad.includes(name) && of?.[name] > 0 ? 'bad' : ''}>
    <dt>${t(`${group}.${name}`)}</dt>
    <dd>${
      of
        ? html`<a href=${link} aria-label=${`${t(`${group}.${name}`)}: ${number(of[name])}`}>
      ${number(of[name])}</a>`
        : '–'
    }</dd></div>`,
  )}</dl>`

/** @param {string} [date] */
const parcelLinks = date => ({
  new: withQuery('#/orders', { created_from: date, created_to: date }),
  moving: '#/orders?status_class=under_way',
  delivered: withQuery('#/orders', { delivered_on: date }),
  failed: withQuery('#/orders', { failed_on: date }),
})

const messageLinks = {
  queued: '#/messages?status=queued',
  held: '#/messages?status=held',
  unknown: '#/messages?status=unknown&hours=24',
  failed: '#/messages?status=failed&hours=24',
}

const Parcels = () => {
  const today = useLive(signal => callOrders('/today', { signal }), 15)
  const of = today.data?.data
  return html`<${Panel} title=${t('today.parcels')}>
    <${ErrorText} error=${today.error} />
    <${Tiles} of=${of} group="today" links=${parcelLinks(of?.date)} bad=${['failed']} />
    <h3>${t('today.days')}</h3>
    ${of ? html`<${DaysChart} days=${of.days} />` : html`<div class="chart"></div>`}
  <//>`
}

/** Warns of a number whose messages no webhook reports about; says why, to those who may find out. */
const Silent = ({ id }) => {
  const path = `/api/channels/${encodeURIComponent(id)}/doctor`
  const read = signal => (may('diagnoseChannel') ? callNotifier(path, { signal }) : Promise.resolve({ data: [] }))
  const reason = useLive(read).data?.data.find(line => line.state === 'wrong')
  return html`<p class="notice">${t('today.silent', { number: id })} ${reason?.text} <a href="#/channels">
    ${t('today.paused_link')}</a></p>`
}

const Messages = () => {
  const summary = useLive(signal => callNotifier('/api/messages/summary', { signal }), 10)
  const of = summary.data?.data
  return html`<${Panel} title=${t('menu.messages')}>
    <${ErrorText} error=${summary.error} />
    ${
      of?.paused_channels > 0 &&
      html`<p class="notice">${t('today.paused', { count: number(of.paused_channels) })} <a
      href="#/channels">${t('today.paused_link')}</a></p>`
    }
    ${of?.silent_channels.map(id => html`<${Silent} key=${id} id=${id} />`)}
    <${Tiles} of=${of} group="messages" links=${messageLinks} bad=${['unknown', 'failed']} />
    <h3>${t('today.minutes')}</h3>
    ${of ? html`<${MinutesChart} minutes=${of.minutes} zone=${of.time_zone} />` : html`<div class="chart"></div>`}
  <//>`
}

/** Shows buttons to accept or decline a request, with a note for the customer's message. */
const Decision = ({ request, onDecided }) => {
  const [note, setNote] = useState('')
  const decide = useAction(async decision => {
    const path = `/order/requests/${encodeURIComponent(request.id)}/decision`
    const body = { decision, ...(note.trim() && { note: note.trim() }) }
    await announced(callOrders(path, { method: 'POST', body }))
    onDecided()
  })
  return html`<div class="decision">
    <input aria-label=${t('requests.note_for', { waybill: request.waybill_number })} placeholder=${t('requests.note')}
      maxlength="1000"
      value=${note} onInput=${event => setNote(event.target.value)} />
    <${Button} isBusy=${decide.isBusy} onClick=${() => decide.run('accepted')}>${t('requests.accept')}<//>
    <${Button} isBusy=${decide.isBusy} onClick=${() => decide.run('declined')}>${t('requests.decline')}<//>
    <${ErrorText} error=${decide.error} />
  </div>`
}

/** Shows the requests that customers make with the buttons of messages. */
export const Requests = ({ waybill = undefined }) => {
  // On a parcel's screen the panel disappears with the last request.
  const onDecided = () => {
    if (waybill) document.querySelector('h1')?.focus()
    else document.getElementById('requests')?.focus()
    list.reload()
  }
  const query = waybill ? `&waybill_number=${encodeURIComponent(waybill)}` : ''
  const list = useLive(signal => callOrders(`/order/requests?status=open${query}`, { signal }), 15)
  const columns = [
    ...(waybill ? [] : [column(t('parcel'), row => html`<${ParcelLink} waybill=${row.waybill_number} />`)]),
    column(t('requests.asks'), row => html`${named('request', row.request)}${row.text && html`<p>${row.text}</p>`}`),
    column(t('requests.at'), row => html`<${Time} at=${row.requested_at} />`),
    ...(may('decideCustomerRequest')
      ? [column(t('requests.decision'), row => html`<${Decision} request=${row} onDecided=${onDecided} />`)]
      : []),
  ]
  if (waybill && !list.data?.data.length) return html`<${ErrorText} error=${list.error} />`
  return html`<${Panel} id="requests" kind="wide" title=${t('requests.title')}>
    <${Rows} of=${list} lines=${1} caption=${t('requests.title')} columns=${columns} empty=${t('requests.none')} />
  <//>`
}

export const Today = () => html`<h1 tabindex="-1">${t('menu.today')}</h1>
  <div class="columns">
    ${may('getToday') && html`<${Parcels} />`}
    ${may('summariseMessages') && html`<${Messages} />`}
    ${may('listConversations') && html`<${Unread} />`}
    ${may('listCustomerRequests') && html`<${Requests} />`}
  </div>`
