import { Act, announce } from '../../kit/actions.js'
import { callNotifier } from '../../kit/api.js'
import { t } from '../../kit/i18n.js'
import { Filters, Rows, usePages } from '../../kit/lists.js'
import { html } from '../../kit/preact.js'
import { may } from '../../kit/session.js'
import { column, MessageStatus, Panel, ParcelLink, Time } from '../../kit/ui.js'

export const MessageActions = ({ id, status, onDone }) => {
  const isOpen = (status === 'queued' || status === 'held') && may('cancelMessage')
  const isOver = (status === 'failed' || status === 'unknown') && may('resendMessage')
  const verb = isOpen ? 'cancel' : 'resend'
  if (!isOpen && !isOver) return null
  const act = async () => {
    await callNotifier(`/api/messages/${encodeURIComponent(id)}/${verb}`, { method: 'POST', body: {} })
    announce(t(`messages.after_${verb}`))
    document.querySelector('h1')?.focus()
    onDone()
  }
  return html`<div><${Act} run=${act}>${t(`messages.${verb}`)}<//>
    ${status === 'unknown' && html`<p class="hint">${t('messages.twice')}</p>`}</div>`
}

/** @param {() => void} onDone */
const columns = onDone => [
  column(t('requests.at'), row => html`<${Time} at=${row.created_at} />`),
  column(t('parcel'), row =>
    row.waybill_numbers.map(waybill => html`<div key=${waybill}><${ParcelLink} waybill=${waybill} /></div>`),
  ),
  column(t('field.customer_phone'), row => row.to),
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
  { name: 'to', label: t('field.customer_phone'), type: 'tel' },
]

/** Reads the messages of the last `hours` of the query, counted back from now. @type {typeof callNotifier} */
const readMessages = (path, options) => {
  const since = (/** @type {string} */ hours) => new Date(Date.now() - Number(hours) * 3_600_000).toISOString()
  return callNotifier(
    path.replace(/\bhours=(\d+)/, (_, hours) => `created_from=${since(hours)}`),
    options,
  )
}

/** Shows the messages to customers, newest first, including the messages that wait. */
export const Messages = ({ query }) => {
  const list = usePages('/api/messages', { ...query, limit: 50 }, 20, readMessages)
  return html`<h1 tabindex="-1">${t('menu.messages')}</h1>
    <${Panel} title=${t('menu.messages')}>
      <${Filters} screen="messages" query=${query} fields=${fields()} />
      <${Rows} of=${list} lines=${8} caption=${t('menu.messages')} columns=${columns(list.reload)}
        empty=${t('messages.empty')} />
    <//>`
}
