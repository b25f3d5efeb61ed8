import { notifier, withQuery } from '../../kit/api.js'
import { t } from '../../kit/i18n.js'
import { Filters, Pages, usePages } from '../../kit/lists.js'
import { html } from '../../kit/preact.js'
import { may } from '../../kit/session.js'
import {
  announce,
  Button,
  column,
  ErrorText,
  Live,
  MessageStatus,
  Panel,
  ParcelLink,
  Table,
  Time,
  useAction,
} from '../../kit/ui.js'

/** The actions that a message still allows. */
export const MessageActions = ({ id, status, onDone }) => {
  const act = useAction(async verb => {
    await notifier(`/api/messages/${encodeURIComponent(id)}/${verb}`, { method: 'POST', body: {} })
    announce(t(`messages.after_${verb}`))
    document.querySelector('h1')?.focus()
    onDone()
  })
  const isOpen = (status === 'queued' || status === 'held') && may('cancelMessage')
  const isOver = (status === 'failed' || status === 'unknown') && may('resendMessage')
  const verb = isOpen ? 'cancel' : 'resend'
  if (!isOpen && !isOver) return null
  return html`<div><${Button} isBusy=${act.isBusy} onClick=${() => act.run(verb)}>${t(`messages.${verb}`)}<//>
    ${status === 'unknown' && html`<p class="hint">${t('messages.twice')}</p>`}<${ErrorText} error=${act.error} /></div>`
}

/** @param {() => void} onDone */
const columns = onDone => [
  column(t('requests.at'), row => html`<${Time} at=${row.created_at} />`),
  column(t('parcel'), row => row.waybill_number && html`<${ParcelLink} waybill=${row.waybill_number} />`),
  column(t('find.phone'), row => row.to),
  column(t('message.template'), ({ template, text }) =>
    template ? html`<code>${template.name}</code>` : html`<p class="lines">${text}</p>`,
  ),
  column(t('status'), ({ status, error }) => {
    return html`<div><${MessageStatus} status=${status} />${error && html`<p class="hint">${error.meaning}</p>`}</div>`
  }),
  column(t('messages.act'), ({ id, status }) => html`<${MessageActions} id=${id} status=${status} onDone=${onDone} />`),
]

const statuses = ['queued', 'held', 'sending', 'unknown', 'accepted', 'sent', 'delivered', 'read', 'failed']
const fields = () => [
  {
    name: 'status',
    label: t('status'),
    options: [...statuses, 'cancelled', 'expired'].map(id => ({ id, label: t(`messages.${id}`) })),
  },
  { name: 'hours', label: t('gaps.period'), options: [{ id: '24', label: t('messages.day') }] },
  { name: 'waybill_number', label: t('find.waybill') },
  { name: 'to', label: t('find.phone'), type: 'tel' },
]

/** @param {string} [hours] */
const hoursAgo = hours => (hours ? new Date(Date.now() - Number(hours) * 3_600_000).toISOString() : '')

/** Messages to customers, newest first, and those that wait. */
export const Messages = ({ query }) => {
  const { hours, ...filter } = query
  const list = usePages(
    (cursor, signal) =>
      notifier(withQuery('/api/messages', { ...filter, created_from: hoursAgo(hours), cursor, limit: 50 }), { signal }),
    [query],
    20,
  )
  return html`<h1 tabindex="-1">${t('menu.messages')}</h1>
    <${Panel} title=${t('today.messages')}>
      <${Filters} screen="messages" query=${query} fields=${fields()} />
      <${Live} of=${list} lines=${8}>${({ data, next_cursor }) => html`
        <${Table} caption=${t('today.messages')} columns=${columns(list.reload)} rows=${data} empty=${t('messages.empty')} />
        <${Pages} of=${list} next=${next_cursor} />`}<//>
    <//>`
}
