import { Act, saveFile } from '../../kit/actions.js'
import { callOrders } from '../../kit/api.js'
import { FoldedForm, Form, usePost } from '../../kit/form.js'
import { companyMoney, named, number, t } from '../../kit/i18n.js'
import { html, useState } from '../../kit/preact.js'
import { Badge, column, Facts, Live, Panel, Table, Time, Two, useLive } from '../../kit/ui.js'
import { madeColumn, reasonField } from './money.js'

const kinds = { settled: 'good', failed: 'bad', made: 'warn', released: 'warn' }
const State = ({ of }) => html`<${Badge} kind=${kinds[of.state] ?? 'neutral'}>${named('payout', of.state)}<//>
  ${of.in_doubt && html` <${Badge} kind="bad">${t('payout.in_doubt')}<//>`}`
const InvoiceLink = ({ no }) => html`<a href=${`#/invoices/${encodeURIComponent(no)}`}>${no}</a>`
const By = ({ name, at }) => name && html`${name}, <${Time} at=${at} />`

const dueColumns = () => [
  column(t('invoice.no'), row => html`<${InvoiceLink} no=${row.invoice_no} />`),
  column(t('merchant'), row => row.merchant_name),
  column(t('account'), row => `…${row.last_four}`),
  column(t('invoice.total'), row => companyMoney(row.amount), 'number'),
]

const batchColumns = () => [
  column(t('payout.batch'), row => html`<a href=${`#/payouts/${row.batch_no}`}>${row.batch_no}</a>`),
  column(t('status'), row => html`<${State} of=${row} />`),
  column(t('menu.invoices'), row => number(row.invoices), 'number'),
  column(t('invoice.total'), row => companyMoney(row.total), 'number'),
  madeColumn(),
  column(t('invoice.reference'), row => row.bank_reference),
]

const open = number => {
  location.hash = `#/payouts/${number}`
}

/** Lists the invoices that are due, why others are left out, and the batches. */
const List = () => {
  const run = useLive(signal => callOrders('/payout', { signal }), 30)
  const post = usePost()
  const make = async () => open((await post('/payout', { all: true })).data.batch_no)
  return html`<h1 tabindex="-1">${t('menu.payouts')}</h1>
    <${Panel} title=${t('payout.due')}>
      <${Live} of=${run} lines=${3}>${({ data: { due, left_out, four_eyes } }) => html`
        ${!four_eyes && html`<p class="hint">${t('payout.alone')}</p>`}
        <${Table} caption=${t('payout.due')} columns=${dueColumns()} rows=${due} id="invoice_no"
          empty=${t('invoice.none_due')} />
        ${due.length > 0 && html`<p><${Act} kind="primary" run=${make}>${t('payout.make')}<//></p>`}
        ${
          left_out.length > 0 &&
          html`<ul class="plain">${left_out.map(
            row => html`<li key=${row.invoice_no}>
            <${InvoiceLink} no=${row.invoice_no} /> ${row.merchant_name}: ${row.why}</li>`,
          )}</ul>`
        }`}<//>
    <//>
    <${Panel} title=${t('payout.batches')}>
      <${Live} of=${run} lines=${3}>${({ data: { batches } }) => html`
        <${Table} caption=${t('payout.batches')} columns=${batchColumns()} rows=${batches} id="batch_no"
          empty=${t('empty')} />`}<//>
    <//>`
}

const lineColumns = () => [
  column(t('invoice.no'), row => html`<${InvoiceLink} no=${row.invoice_no} />`),
  column(t('merchant'), row => row.merchant_name),
  column(t('account.bank'), row => html`<${Two} first=${row.bank} second=${row.branch} />`),
  column(t('account.holder'), row => html`<${Two} first=${row.holder} second=${row.number} />`),
  column(t('cash.amount'), row => companyMoney(row.amount), 'number'),
]

/** Shows what a batch pays to which accounts, then offers its release. */
const Release = ({ path, onDone }) => {
  const post = usePost()
  const [lines, setLines] = useState(/** @type {any} */ (null))
  const see = async () => setLines((await callOrders(`${path}/lines`)).data)
  if (!lines) return html`<div class="row"><${Act} kind="primary" run=${see}>${t('payout.see')}<//></div>`
  return html`<${Table} caption=${t('payout.see')} columns=${lineColumns()} rows=${lines} id="invoice_no" />
    <div class="row"><${Act} kind="primary" run=${() => post(`${path}/release`, {}).then(onDone)}>
      ${t('payout.release')}<//></div>`
}

/** Offers what may be done with a batch. */
const Steps = ({ batch, path, onDone }) => {
  if (batch.state === 'made')
    return html`<div class="stack">
      <p class="soft">${t('payout.second', { name: batch.made_by })}</p>
      <${Release} path=${path} onDone=${onDone} />
      <${FoldedForm} title=${t('invoice.cancel')} id="cancel" fields=${[reasonField()]} path=${`${path}/cancel`}
        onDone=${onDone} /></div>`
  if (batch.state !== 'released') return null
  const payment = [
    { name: 'bank_reference', label: t('invoice.reference'), required: true, maxlength: 500 },
    { name: 'paid_on', label: t('invoice.paid_on'), type: 'date', required: true },
  ]
  const options = batch.items.flatMap(({ state, invoice_no: id, merchant_name: name }) =>
    state === 'open' ? { id, label: `${id} ${name}` } : [],
  )
  const invoice = { name: 'invoice', label: t('invoice.no'), options, none: t('message.choose'), required: true }
  const toFailure = ({ invoice, reason }) => ({ invoice_nos: [invoice], reason })
  return html`<div class="stack">
    <${Form} id="settle" fields=${payment} submit=${t('invoice.mark_paid')} path=${`${path}/settle`} onDone=${onDone} />
    <${FoldedForm} title=${t('payout.fail')} id="fail" fields=${[invoice, reasonField()]} path=${`${path}/fail`}
      toBody=${toFailure} onDone=${onDone} /></div>`
}

const BankFile = ({ path, name }) => {
  const save = async () => saveFile(await callOrders(`${path}?format=csv`, { as: 'blob' }), name)
  return html`<${Act} run=${save}>${name}<//>`
}

const One = ({ no }) => {
  const path = `/payout/${encodeURIComponent(no)}`
  const found = useLive(signal => callOrders(path, { signal }), 0, [no])
  const facts = data => ({
    [t('invoice.total')]: companyMoney(data.total),
    [t('payout.returned')]: data.returned > 0 && companyMoney(data.returned),
    [t('payout.made_by')]: html`<${By} name=${data.made_by} at=${data.made_at} />`,
    [t('payout.released_by')]: data.released_by && html`<${By} name=${data.released_by} at=${data.released_at} />`,
    [t('invoice.reference')]: data.bank_reference && `${data.bank_reference}, ${data.paid_on}`,
    [t('failures.reason')]: data.reason,
  })
  const items = () => [
    ...dueColumns(),
    column(t('status'), row => html`<${Two} first=${named('payout', row.state)} second=${row.reason} />`),
  ]
  return html`<div class="row"><h1 tabindex="-1">${no}</h1>
    ${
      found.data &&
      html`<${State} of=${found.data.data} />
      ${found.data.data.released_at && html`<${BankFile} path=${path} name=${found.data.data.file_name} />`}`
    }</div>
    <p><a href="#/payouts">${t('menu.payouts')}</a></p>
    <${Live} of=${found} lines=${8}>${({ data }) => html`
      <${Panel} title=${t('payout.batch')}><${Facts} of=${facts(data)} />
        <${Steps} key=${data.state} batch=${data} path=${path} onDone=${found.reload} /><//>
      <${Panel} title=${t('menu.invoices')}>
        <${Table} caption=${t('menu.invoices')} columns=${items()} rows=${data.items} id="invoice_no" /><//>`}<//>`
}

/** Shows the pay run; with a number, one batch of payments. */
export const Payouts = ({ params: [no] }) => (no ? html`<${One} no=${no} />` : html`<${List} />`)
