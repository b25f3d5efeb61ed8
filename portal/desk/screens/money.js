import { withQuery } from '../../kit/api.js'
import { usePost } from '../../kit/form.js'
import { money, t } from '../../kit/i18n.js'
import { Pages, usePages } from '../../kit/lists.js'
import { html } from '../../kit/preact.js'
import { may } from '../../kit/session.js'
import { Badge, Button, column, ErrorText, Live, Panel, saveFile, Table, useAction, useLive } from '../../kit/ui.js'
import { merchant } from '../merchant.js'

const places = ['with_riders', 'at_office', 'banked', 'waiting', 'held', 'payable_now', 'balance']

const Balance = ({ data }) =>
  html`<dl class="details">${places.map(
    name => html`<div key=${name}><dt>${t(`money.${name}`)}</dt><dd>${money(data[name], data.currency)}</dd></div>`,
  )}
    ${data.next_payment && html`<div><dt>${t('money.next_payment')}</dt><dd>${data.next_payment.on}: ${money(data.next_payment.amount, data.currency)}</dd></div>`}</dl>`

/** Shows what the merchant is owed, and its invoices. */
export const Money = () => {
  const balance = useLive(signal => merchant('/balance', { signal }), 60)
  const list = usePages((cursor, signal) => merchant(withQuery('/invoice', { cursor }), { signal }), [])
  const post = usePost()
  const save = useAction(async (/** @type {string} */ number, /** @type {string} */ format) => {
    const path = withQuery(`/invoice/${encodeURIComponent(number)}`, { format })
    saveFile(await merchant(path, { as: 'blob' }), `${number.replaceAll('/', '-')}.${format}`)
  })
  const approve = useAction(async (/** @type {string} */ number) => {
    await post(`/api/public/merchant/invoice/${encodeURIComponent(number)}/approve`, {})
    list.reload()
  })
  const columns = () => [
    column(t('money.invoice'), row => row.invoice_no),
    column(t('orders.status'), row => html`<${Badge}>${t(`money.${row.state}`)}<//>`),
    column(t('money.total'), row => money(row.total, balance.data?.data.currency ?? ''), 'number'),
    column(t('money.paid_on'), row => row.paid_on),
    column(
      '',
      row => html`<div class="row">
        <${Button} onClick=${() => save.run(row.invoice_no, 'pdf')}>PDF<//><${Button} onClick=${() => save.run(row.invoice_no, 'csv')}>CSV<//>
        ${row.state === 'submitted' && may('approveOwnInvoice') && html`<${Button} onClick=${() => approve.run(row.invoice_no)}>${t('money.approve')}<//>`}</div>`,
    ),
  ]
  return html`<h1 tabindex="-1">${t('menu.money')}</h1>
    <${Panel} title=${t('money.title')}><${Live} of=${balance} lines=${6}>${({ data }) => html`<${Balance} data=${data} />`}<//><//>
    <${Panel} title=${t('money.invoices')}><${ErrorText} error=${save.error ?? approve.error} />
      <${Live} of=${list}>${({ data, next_cursor: next }) => html`
        <${Table} caption=${t('money.invoices')} columns=${columns()} rows=${data.map(row => ({ ...row, id: row.invoice_no }))} empty=${t('money.empty')} />
        <${Pages} of=${list} next=${next} />`}<//><//>`
}
