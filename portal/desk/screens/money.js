import { callOrders } from '../../kit/api.js'
import { FoldedForm } from '../../kit/form.js'
import { dateTime, money, named, t } from '../../kit/i18n.js'
import { Rows, usePages } from '../../kit/lists.js'
import { html } from '../../kit/preact.js'
import { getSession, may } from '../../kit/session.js'
import { Badge, column, Facts, Live, Panel, Time, useLive } from '../../kit/ui.js'
import { Actions, Invoice } from './invoice.js'

const places = ['with_riders', 'at_office', 'banked', 'waiting', 'held']

/** Returns the amounts that add up to the balance, the balance, its payable part and the next payment. */
const showBalance = ({ currency, next_payment: next, ...data }) => {
  const rest = places.reduce((left, name) => left - data[name], data.balance)
  const amounts = { ...data, rest: Number(rest.toFixed(getSession().me?.tenant.decimals)) || 0 }
  return {
    ...Object.fromEntries(
      [...places, 'rest', 'balance', 'payable_now'].map(name => [t(`money.${name}`), money(amounts[name], currency)]),
    ),
    [t('money.next_payment')]: next && `${next.on}: ${money(next.amount, currency)}`,
  }
}

/** Shows the account to which the merchant is paid, and lets the merchant object to a new one. */
const Account = () => {
  const account = useLive(signal => callOrders('/bank-account', { signal }), 60)
  const show = data => ({
    [t('account')]: `…${data.last_four}`,
    [t('account.changed')]: html`<${Time} at=${data.changed_at} />`,
  })
  const reason = { name: 'reason', label: t('invoice.reason'), required: true, maxlength: 500 }
  const isNew = data => !data.objected_at && new Date(data.usable_at) > new Date()
  return html`<${Live} of=${account} lines=${1}>${({ data }) =>
    data &&
    html`<${Panel} title=${t('account')}><${Facts} of=${show(data)} />
      ${data.objected_at && html`<p class="notice">${t('account.objected', { reason: data.objection })}</p>`}
      ${
        isNew(data) &&
        html`<p class="notice">${t('account.hint', { until: dateTime(data.usable_at) })}</p>
        ${
          may('objectToBankAccount') &&
          html`<${FoldedForm} title=${t('account.object')} id="object" fields=${[reason]} path="/bank-account/object"
            toBody=${entered => ({ ...entered, version: data.version })} onDone=${account.reload} />`
        }`
      }<//>`}<//>`
}

/** Shows how much the company owes the merchant, and the invoices. */
const Overview = () => {
  const balance = useLive(signal => callOrders('/balance', { signal }), 60)
  const list = usePages('/invoice')
  const columns = () => [
    column(
      t('invoice.no'),
      row => html`<a href=${`#/money/${encodeURIComponent(row.invoice_no)}`}>${row.invoice_no}</a>`,
    ),
    column(t('invoice.document'), row => named('document', row.document)),
    column(t('status'), row => html`<${Badge}>${t(`invoice.${row.state}`)}<//>`),
    column(t('invoice.total'), row => money(row.total || row.charges_due, balance.data?.data.currency ?? ''), 'number'),
    column(t('invoice.paid_on'), row => row.paid_on),
    column('', row => html`<${Actions} invoice=${row} onDone=${list.reload} />`),
  ]
  return html`<h1 tabindex="-1">${t('menu.money')}</h1>
    <${Panel} title=${t('money.title')}><${Live} of=${balance} lines=${6}>
      ${({ data }) => html`<${Facts} of=${showBalance(data)} />`}<//><//>
    ${may('getOwnBankAccount') && html`<${Account} />`}
    <${Panel} title=${t('menu.invoices')}>
      <${Rows} of=${list} lines=${3} caption=${t('menu.invoices')} columns=${columns()} id="invoice_no"
        empty=${t('money.empty')} /><//>`
}

/** Shows the balance with the invoices; with a number, one invoice. */
export const Money = ({ params: [no] }) => (no ? html`<${Invoice} no=${no} />` : html`<${Overview} />`)
