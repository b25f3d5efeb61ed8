import { callNotifier } from '../../kit/api.js'
import { money, named, statusName, t, time } from '../../kit/i18n.js'
import { html } from '../../kit/preact.js'
import { may } from '../../kit/session.js'
import { Badge, Live, MessageStatus, Panel, Time, useLive } from '../../kit/ui.js'
import { CustomerName } from '../customer.js'
import { conversationLink, Written } from './conversations.js'
import { Rendered } from './message.js'
import { MessageActions } from './messages.js'

const Cost = ({ cost }) =>
  cost &&
  html`<span class="soft"> ${
    cost.is_free ? t('cost.free') : cost.amount === null ? '' : money(cost.amount, cost.currency)
  }</span>`

/** Renders each kind of entry. `entry.steps` holds the statuses of a message, oldest first. */
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
    ${entry.rendered && html`<div class="bubble"><${Rendered} of=${entry.rendered} /></div>`}
    ${entry.text && html`<div class="bubble"><p class="lines">${entry.text}</p></div>`}
    ${entry.detail && html`<p>${entry.detail}</p>`}
    ${
      entry.steps.length > 1 &&
      html`<p class="soft">
      ${entry.steps.map(
        ({ status, at }, index) => html`<span key=${index}>${index > 0 && ' → '}
        ${named('messages', status)} ${time(at)}</span>`,
      )}</p>`
    }
    <${MessageActions} id=${entry.message_id} status=${entry.status} onDone=${reload} />`,
  inbound: entry =>
    html`<a href=${conversationLink(entry)}><${CustomerName} phone=${entry.phone} /></a><p class="lines">
      <${Written} of=${entry} /></p>`,
  event: entry =>
    html`<${Badge} kind="bad">${t('timeline.no_message')}<//> <code>${entry.template}</code><p>${entry.detail}</p>`,
  action: entry =>
    html`${t('timeline.action', { action: named('request', entry.action) })} ${
      entry.outcome && html`<${Badge}>${named('outcome', entry.outcome)}<//>`
    }${entry.detail && html`<p>${entry.detail}</p>`}`,
}

/** Joins the entries of each message into one, at the time of its first status. @param {any[]} entries oldest first */
const joinMessages = entries => {
  const known = new Map()
  return entries.flatMap(entry => {
    if (entry.kind !== 'message') return entry
    const joined = known.get(entry.message_id) ?? { at: entry.at, steps: [] }
    const isNew = joined.steps.push(entry) === 1
    known.set(entry.message_id, Object.assign(joined, { ...entry, at: joined.at }))
    return isNew ? joined : []
  })
}

/**
 * Reads the timeline of a parcel: where the notifier serves none, the statuses of `order`, which a screen has read.
 * @param {string} waybill
 */
export const useTimeline = (waybill, order) => {
  const isServed = may('getTimeline')
  const read = (/** @type {AbortSignal} */ signal) =>
    isServed ? callNotifier(`/api/timeline/${encodeURIComponent(waybill)}`, { signal }) : Promise.resolve(undefined)
  const found = useLive(read, isServed ? 6 : 0, [waybill])
  if (isServed) return found
  const timeline = order.data?.data.timeline.map(({ date_time: at, status, user, note }) => {
    const staff_name = `${user.first_name} ${user.last_name}`.trim()
    return { kind: 'tracking', at, status_name: status.name, staff_name, note }
  })
  return { ...order, data: timeline && { data: { timeline } } }
}

/** @param {any[]} entries */
const sumCosts = entries => {
  const sums = new Map()
  for (const { cost } of entries)
    if (cost?.amount) sums.set(cost.currency, (sums.get(cost.currency) ?? 0) + Number(cost.amount))
  return [...sums].map(([currency, amount]) => money(amount, currency)).join(', ')
}

/** Shows the events of a parcel, oldest first: statuses, edits, messages and the replies of customers. */
export const Timeline = ({ of }) => {
  const entries = joinMessages([...(of.data?.data.timeline ?? [])].reverse())
  const cost = sumCosts(entries)
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
