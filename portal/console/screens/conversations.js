import { announced, Button, ErrorText, instead, useAction } from '../../kit/actions.js'
import { callNotifier, newKeys, withQuery } from '../../kit/api.js'
import { dateTime, named, number, t } from '../../kit/i18n.js'
import { Filters, Rows, usePages } from '../../kit/lists.js'
import { html, useEffect, useLayoutEffect, useRef, useState } from '../../kit/preact.js'
import { may } from '../../kit/session.js'
import { Badge, column, Live, MessageStatus, Panel, ParcelLink, Time, Two, useLive } from '../../kit/ui.js'
import { CustomerName, useCustomerName } from '../customer.js'
import { Rendered } from './message.js'

/** @param {{ phone: string | null, user_id?: string | null, channel: string }} of */
export const conversationLink = ({ phone, user_id, channel }) =>
  withQuery(`#/conversations/${encodeURIComponent(phone ?? user_id ?? '')}`, { channel })

/** Names a person: by the phone number, or else by the username. */
const showPerson = (/** @type {any} */ { phone, username }) =>
  phone ? `+${phone}` : username ? `@${username}` : t('conversations.no_number')

/** Shows a customer's message; for a file, its kind and caption. */
export const Written = ({ of: { type, text } }) =>
  html`${type !== 'text' && html`<span class="soft">${named('media', type)} </span>`}${text}`

const columns = () => [
  column(t('requests.at'), row => html`<${Time} at=${row.last_message.at} />`),
  column(
    t('field.customer_name'),
    row => html`<${Two}
        first=${html`<a href=${conversationLink(row)}>
          ${row.phone ? html`<${CustomerName} phone=${row.phone} />` : showPerson(row)}</a> ${
            row.unread > 0 && html`<${Badge} kind="warn">${t('conversations.count', { count: number(row.unread) })}<//>`
          }`}
        second=${row.phone ? `+${row.phone}` : t('conversations.no_number')} />`,
  ),
  column(t('conversations.last'), row => html`<p class="lines"><${Written} of=${row.last_message} /></p>`),
  column(t('conversations.window'), ({ open, expires_at, owner }) => {
    const until = open ? t('conversations.until', { at: dateTime(expires_at) }) : t('conversations.over')
    return owner === 'other' ? html`<${Two} first=${until} second=${t('conversations.other')} />` : until
  }),
]

export const Unread = () => {
  const list = useLive(signal => callNotifier('/api/conversations?unread=true&limit=10', { signal }), 15)
  const aside = html`<a href="#/conversations">${t('menu.conversations')}</a>`
  return html`<${Panel} id="unread" kind="wide" title=${t('conversations.unread')} aside=${aside}>
    <${Rows} of=${list} lines=${1} caption=${t('conversations.unread')} columns=${columns()} empty=${t('empty')} />
  <//>`
}

const List = ({ query }) => {
  const list = usePages('/api/conversations', query, 15, callNotifier)
  const options = [{ id: 'true', label: t('conversations.unread') }]
  return html`<h1 tabindex="-1">${t('menu.conversations')}</h1>
    <${Panel} title=${t('menu.conversations')}>
      <${Filters} screen="conversations" query=${query}
        fields=${[{ name: 'unread', label: t('conversations.show'), options }]} />
      <${Rows} of=${list} lines=${8} caption=${t('menu.conversations')} columns=${columns()} empty=${t('empty')} />
    <//>`
}

/** Says what a reply costs, to those who may read costs. */
const ReplyCost = ({ of }) => {
  const { amount, currency } = of.price
  const price = amount === null ? t('conversations.no_price') : `${amount} ${currency ?? ''}`.trim()
  return html`<p class="hint">${t('conversations.costs', { price, count: number(of.free_left) })}</p>`
}

const Reply = ({ path, window: { phone, channel, open, expires_at, owner, owner_at }, cost, onSent }) => {
  const [text, setText] = useState('')
  const keys = useRef(newKeys())
  const send = useAction(async (/** @type {true | undefined} */ asks_number) => {
    const written = text.trim() || (asks_number ? t('conversations.which_number') : '')
    if (written === '') return
    const takes_over = owner === 'other' || undefined
    const body = { text: written, channel, asks_number, takes_over }
    await announced(callNotifier(`${path}/reply`, { method: 'POST', body, key: keys.current.of(body) }))
    keys.current.done()
    setText('')
    document.getElementById('reply')?.focus()
    onSent()
  })
  if (!open)
    return html`<p class="notice">
      ${expires_at ? t('conversations.closed', { at: dateTime(expires_at) }) : t('conversations.never')}</p>`
  return html`<form class="stack" onSubmit=${instead(() => send.run())}>
    ${owner === 'other' && html`<p class="notice">${t('conversations.takes_over', { at: dateTime(owner_at) })}</p>`}
    <div class="field"><label for="reply">${t('conversations.reply')}</label>
      <textarea id="reply" rows="3" maxlength="4096" value=${text}
        onInput=${event => setText(event.target.value)}></textarea>
      <p class="hint">${t('conversations.until', { at: dateTime(expires_at) })}</p>
      ${cost && html`<${ReplyCost} of=${cost} />`}</div>
    <${ErrorText} error=${send.error} />
    <div class="row"><${Button} kind="primary" type="submit" isBusy=${send.isBusy || text.trim() === ''}>
      ${t('message.send')}<//>
      ${
        !phone &&
        html`<${Button} isBusy=${send.isBusy} onClick=${() => send.run(true)}>${t('conversations.ask_number')}<//>`
      }</div>
  </form>`
}

const Message = ({ of, name }) => {
  const { direction, at, template, rendered, text, status, error, unread, standby, waybill_number: waybill } = of
  const isFromApp = direction === 'out' && !status
  const isWritten = direction === 'in' || isFromApp
  const content = template ? html`<code>${template}</code>` : isWritten ? html`<${Written} of=${of} />` : text
  const sender = t(standby ? 'conversations.from_other' : 'conversations.from_app')
  const writer = direction === 'in' ? name : isFromApp ? sender : undefined
  return html`<li class=${direction}><div class="bubble">
    ${rendered ? html`<${Rendered} of=${rendered} />` : html`<p class="lines">${content}</p>`}
    <p class="soft">${writer ?? html`<${MessageStatus} status=${status} />`} · <${Time} at=${at} />
      ${unread && html` <${Badge} kind="warn">${t('conversations.new')}<//>`}
      ${standby && direction === 'in' && html` <${Badge}>${t('conversations.other')}<//>`}
      ${waybill && html` · <${ParcelLink} waybill=${waybill} />`}</p>
    ${error && html`<p class="hint">${error}</p>`}
  </div></li>`
}

/** Marks as read the messages that the screen shows. @param {string} path @param {any} shown */
const useReading = (path, shown) => {
  const newest = shown?.data.find(({ unread }) => unread)?.id
  useEffect(() => {
    if (!newest || !may('readConversation')) return
    const body = { up_to: newest, channel: shown.conversation.channel }
    // After a failure the message stays unread; the next request marks it as well.
    callNotifier(`${path}/read`, { method: 'POST', body }).catch(() => {})
  }, [newest])
}

/** Shows a page of a conversation, oldest first and scrolled to the newest message, with links to other pages. */
const Messages = ({ of: { data, next_cursor: next }, list: { cursors, go }, name }) => {
  const box = useRef(/** @type {any} */ (null))
  useLayoutEffect(() => {
    box.current.scrollTop = box.current.scrollHeight
  }, [data[0]?.id])
  const button = (/** @type {string} */ text, /** @type {string[]} */ to) =>
    html`<li class="row"><${Button} onClick=${() => go(to)}>${t(text)}<//></li>`
  return html`<ol class="phone thread" ref=${box} tabindex="0" aria-label=${t('conversations.title')}>
    ${next && button('conversations.older', [next, ...cursors])}
    ${data.length === 0 && html`<li class="empty">${t('empty')}</li>`}
    ${[...data].reverse().map(each => html`<${Message} key=${each.id} of=${each} name=${name} />`)}
    ${cursors.length > 1 && button('conversations.newer', cursors.slice(1))}
  </ol>`
}

const Thread = ({ phone, query: { channel } }) => {
  // Without the plus, the service may read the digits as a national number.
  const isNumber = /^\d/.test(phone)
  const path = `/api/conversations/${encodeURIComponent(isNumber ? `+${phone}` : phone)}`
  const list = usePages(`${path}/messages`, { channel }, 6, callNotifier)
  const name = useCustomerName(isNumber ? phone : null)
  useReading(path, list.data)
  // The reply that is being written stays while another page loads.
  const last = useRef(/** @type {any} */ (undefined))
  if (list.data) last.current = list.data.conversation
  const person = showPerson(last.current ?? { phone: isNumber && phone })
  return html`<div class="row"><h1 tabindex="-1">${name ?? person}</h1>
      ${name && isNumber && html`<a href=${`tel:+${phone}`}>+${phone}</a>`}</div>
    <${Panel} title=${t('conversations.title')}
      aside=${html`<span><a href=${withQuery('#/find', { q: phone })}>
        ${t('today.parcels')}</a> · <a href=${withQuery('#/messages', { to: isNumber ? `+${phone}` : phone })}>
        ${t('menu.messages')}</a></span>`}>
      <${Live} of=${list} lines=${6}>${found => html`
        <${Messages} of=${found} list=${list} name=${name ?? t('field.customer_name')} />`}<//>
      ${
        may('replyToConversation') &&
        last.current &&
        html`<${Reply} path=${path} window=${last.current} cost=${list.data?.reply} onSent=${list.reload} />`
      }
    <//>`
}

/** Shows customers' messages, or one conversation with its reply form. */
export const Conversations = ({ params: [phone], query }) =>
  phone ? html`<${Thread} key=${query.channel} phone=${phone} query=${query} />` : html`<${List} query=${query} />`
