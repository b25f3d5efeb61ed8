import { orders, withQuery } from '../../kit/api.js'
import { Form, usePost } from '../../kit/form.js'
import { money, named, number, t } from '../../kit/i18n.js'
import { Filters, findMerchants, Pages, usePages } from '../../kit/lists.js'
import { html } from '../../kit/preact.js'
import { getSession } from '../../kit/session.js'
import {
  Badge,
  Button,
  column,
  ErrorText,
  Live,
  Panel,
  ParcelLink,
  saveFile,
  Table,
  Two,
  useAction,
  useLive,
} from '../../kit/ui.js'
import { lineColumns } from './money.js'

const base = '/api/staff/invoice'
const sum = (/** @type {number} */ amount) => money(amount, getSession().me?.tenant.currency ?? '')
const kinds = { approved: 'good', deposited: 'good', rejected: 'bad', submitted: 'warn' }
const states = ['draft', 'submitted', 'approved', 'rejected', 'deposited', 'cancelled']
const reasonField = () => ({ name: 'reason', label: t('edit.reason'), required: true, maxlength: 500 })
const paymentFields = () => [
  { name: 'bank_reference', label: t('invoice.reference'), required: true, maxlength: 500 },
  { name: 'paid_on', label: t('invoice.paid_on'), type: 'date', required: true },
]
const State = ({ of }) => html`<${Badge} kind=${kinds[of] ?? 'neutral'}>${named('invoice', of)}<//>`
const InvoiceLink = ({ no }) => html`<a href=${`#/invoices/${encodeURIComponent(no)}`}>${no}</a>`

const columns = () => [
  column(
    t('invoice.no'),
    row => html`<${Two} first=${html`<${InvoiceLink} no=${row.invoice_no} />`} second=${row.invoice_ref_no} />`,
  ),
  column(t('merchant'), row => row.merchant_name),
  column(t('invoice.until'), row => row.until),
  column(t('cash.parcels'), row => number(row.parcels), 'number'),
  column(t('invoice.total'), row => sum(row.total), 'number'),
  column(t('status'), row => html`<${State} of=${row.state} />`),
]

/** Makes drafts of one merchant, or of all. */
const Make = ({ onDone }) => {
  const post = usePost()
  const fields = [
    { name: 'until', label: t('invoice.until'), type: 'date', required: true },
    { name: 'merchant_id', label: t('invoice.merchant'), find: findMerchants },
  ]
  const send = async ({ until, merchant_id }) => {
    await post(base, { until, ...(merchant_id ? { merchant_id: Number(merchant_id) } : { all: true }) })
    onDone()
  }
  return html`<${Form} id="make" fields=${fields} submit=${t('invoice.make')} send=${send} />`
}

const List = ({ query }) => {
  const list = usePages((cursor, signal) => orders(withQuery(base, { ...query, cursor }), { signal }), [query])
  const fields = [
    { name: 'state', label: t('status'), options: states.map(id => ({ id, label: named('invoice', id) })) },
    { name: 'merchant_id', label: t('merchant'), find: findMerchants },
  ]
  return html`<h1 tabindex="-1">${t('menu.invoices')}</h1>
    <${Panel} title=${t('invoice.make')}><${Make} onDone=${list.reload} /><//>
    <${Panel} title=${t('menu.invoices')}>
      <${Filters} screen="invoices" query=${query} fields=${fields} />
      <${Live} of=${list} lines=${6}>${({ data, next_cursor }) => html`
        <${Table} caption=${t('menu.invoices')} columns=${columns()} rows=${data.map(row => ({ ...row, id: row.invoice_no }))} empty=${t('invoice.empty')} />
        <${Pages} of=${list} next=${next_cursor} />`}<//>
    <//>
    <${PayRun} onPaid=${list.reload} />`
}

const saveCsv = async (/** @type {string} */ path, /** @type {string} */ name) =>
  saveFile(await orders(`${path}?format=csv`, { as: 'blob' }), `${name}.csv`)

/** Lists what the bank is to pay, and why some invoices are left out. */
const PayRun = ({ onPaid }) => {
  const run = useLive(signal => orders('/api/staff/payout', { signal }))
  const post = usePost()
  const csv = useAction(() => saveCsv('/api/staff/payout', 'payouts'))
  const shown = () => [
    column(t('invoice.no'), row => html`<${InvoiceLink} no=${row.invoice_no} />`),
    column(t('merchant'), row => row.merchant_name),
    column(t('account'), row => html`${row.holder}, ${row.bank} ${row.number}`),
    column(t('invoice.total'), row => sum(row.amount), 'number'),
  ]
  return html`<${Panel} title=${t('invoice.pay_run')}>
    <${Live} of=${run} lines=${3}>${({ data: { payouts, left_out } }) => {
      const pay = async body => {
        await post('/api/staff/payout', { ...body, invoice_nos: payouts.map(({ invoice_no }) => invoice_no) })
        run.reload()
        onPaid()
      }
      return html`<${Table} caption=${t('invoice.pay_run')} columns=${shown()} rows=${payouts.map(row => ({ ...row, id: row.invoice_no }))} empty=${t('invoice.none_due')} />
        ${
          payouts.length > 0 &&
          html`<p><${Button} isBusy=${csv.isBusy} onClick=${() => csv.run()}>CSV<//></p><${ErrorText} error=${csv.error} />
          <${Form} id="pay-run" fields=${paymentFields()} submit=${t('invoice.mark_paid')} send=${pay} />`
        }
        ${left_out.length > 0 && html`<ul class="plain">${left_out.map(row => html`<li key=${row.invoice_no}><${InvoiceLink} no=${row.invoice_no} /> ${row.merchant_name}: ${row.why}</li>`)}</ul>`}`
    }}<//>
  <//>`
}

/** The steps that each state allows, and whether they ask for a reason. */
const steps = {
  draft: { submit: false, cancel: true },
  submitted: { approve: false, reject: true, cancel: true },
  rejected: { cancel: true },
  approved: { cancel: true },
}

const Steps = ({ invoice, onDone }) => {
  const post = usePost()
  const path = `${base}/${encodeURIComponent(invoice.invoice_no)}`
  const send = step => async body => {
    await post(`${path}/${step}`, body)
    onDone()
  }
  const step = useAction(name => send(name)({}))
  const settle = async ({ adjustment = '0', waybill, reason }) =>
    send('dispute/settle')({ waybill_numbers: [waybill], adjustment: Number(adjustment), reason })
  const disputed = invoice.lines
    .filter(({ kind }) => kind === 'disputed')
    .map(({ waybill_number: id }) => ({ id, label: id }))
  const settleFields = [
    { name: 'waybill', label: t('parcel'), options: disputed, none: t('message.choose'), required: true },
    { name: 'adjustment', label: t('money.adjustment'), type: 'number', step: '0.01' },
    reasonField(),
  ]
  const allowed = Object.entries(steps[invoice.state] ?? {})
  return html`<div class="stack">
    <div class="row">${allowed.filter(([, asks]) => !asks).map(([name]) => html`<${Button} key=${name} kind="primary" isBusy=${step.isBusy} onClick=${() => step.run(name)}>${t(`invoice.${name}`)}<//>`)}</div>
    <${ErrorText} error=${step.error} />
    ${invoice.state === 'approved' && html`<${Form} id="pay" fields=${paymentFields()} submit=${t('invoice.mark_paid')} send=${send('deposit')} />`}
    ${allowed
      .filter(([, asks]) => asks)
      .map(
        ([name]) => html`<details key=${name}><summary>${t(`invoice.${name}`)}</summary>
      <${Form} id=${name} fields=${[reasonField()]} submit=${t(`invoice.${name}`)} send=${send(name)} /></details>`,
      )}
    ${
      disputed.length > 0 &&
      html`<details><summary>${t('invoice.settle')}</summary>
      <${Form} id="settle" fields=${settleFields} submit=${t('invoice.settle')} send=${settle} /></details>`
    }
  </div>`
}

const One = ({ no }) => {
  const path = `${base}/${encodeURIComponent(no)}`
  const found = useLive(signal => orders(path, { signal }), 0, [no])
  const csv = useAction(() => saveCsv(path, no))
  const pdf = useAction(async () => saveFile(await orders(`${path}?format=pdf`, { as: 'blob' }), `${no}.pdf`))
  const waybill = () => column(t('parcel'), row => html`<${ParcelLink} waybill=${row.waybill_number} />`)
  return html`<div class="row"><h1 tabindex="-1">${no}</h1>${found.data && html`<${State} of=${found.data.data.state} />`}
      <${Button} isBusy=${csv.isBusy} onClick=${() => csv.run()}>CSV<//>
      <${Button} isBusy=${pdf.isBusy} onClick=${() => pdf.run()}>PDF<//></div>
    <p><a href="#/invoices">${t('menu.invoices')}</a></p>
    <${ErrorText} error=${csv.error ?? pdf.error} />
    <${Live} of=${found} lines=${8}>${({ data }) => html`
      <${Panel} title=${data.merchant_name}>
        <dl class="details">
          <div><dt>${t('invoice.total')}</dt><dd>${sum(data.total)}</dd></div>
          <div><dt>${t('invoice.forward')}</dt><dd>${sum(data.brought_forward)}</dd></div>
          <div><dt>${t('invoice.until')}</dt><dd>${data.until}</dd></div>
          ${data.bank_reference && html`<div><dt>${t('invoice.reference')}</dt><dd>${data.bank_reference}, ${data.paid_on}</dd></div>`}
          ${data.reason && html`<div><dt>${t('edit.reason')}</dt><dd>${data.reason}</dd></div>`}
        </dl>
        <${Steps} key=${data.state} invoice=${data} onDone=${found.reload} />
      <//>
      <${Panel} title=${t('invoice.lines')}><${Table} caption=${t('invoice.lines')} columns=${[waybill(), ...lineColumns()]} rows=${data.lines.map((line, id) => ({ ...line, id }))} empty=${t('invoice.empty')} /><//>`}<//>`
}

/** Invoices of merchants and the pay run; with a number, one invoice. */
export const Invoices = ({ params: [no], query }) => (no ? html`<${One} no=${no} />` : html`<${List} query=${query} />`)
