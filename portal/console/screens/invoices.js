import { Act, saveFile, useAction } from '../../kit/actions.js'
import { callOrders } from '../../kit/api.js'
import { FoldedForm, Form, findMerchants, usePost } from '../../kit/form.js'
import { companyMoney, named, number, smallest, t } from '../../kit/i18n.js'
import { Filters, Rows, usePages } from '../../kit/lists.js'
import { html, useState } from '../../kit/preact.js'
import { Badge, column, Facts, Field, Live, Panel, ParcelLink, Table, Two, useLive } from '../../kit/ui.js'
import { lineColumns, reasonField } from './money.js'

const kinds = { approved: 'good', deposited: 'good', rejected: 'bad', submitted: 'warn' }
const states = ['draft', 'submitted', 'approved', 'rejected', 'deposited', 'cancelled']
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
  column(t('today.parcels'), row => number(row.parcels), 'number'),
  column(t('invoice.total'), row => companyMoney(row.total), 'number'),
  column(t('status'), row => html`<${State} of=${row.state} />`),
]

/** Drafts the invoices of one merchant, or of all merchants. */
const Make = ({ onDone }) => {
  const fields = [
    { name: 'until', label: t('invoice.until'), type: 'date', required: true },
    { name: 'merchant_id', label: t('invoice.merchant'), find: findMerchants },
  ]
  const toBody = ({ until, merchant_id: id }) => ({ until, ...(id ? { merchant_id: Number(id) } : { all: true }) })
  return html`<${Form} id="make" fields=${fields} submit=${t('invoice.make')} path="/invoice" toBody=${toBody}
    onDone=${onDone} />`
}

const List = ({ query }) => {
  const list = usePages('/invoice', query)
  const fields = [
    { name: 'state', label: t('status'), options: states.map(id => ({ id, label: named('invoice', id) })) },
    { name: 'merchant_id', label: t('merchant'), find: findMerchants },
  ]
  return html`<h1 tabindex="-1">${t('menu.invoices')}</h1>
    <${Panel} title=${t('invoice.make')}><${Make} onDone=${list.reload} /><//>
    <${Panel} title=${t('menu.invoices')}>
      <${Filters} screen="invoices" query=${query} fields=${fields} />
      <${Rows} of=${list} caption=${t('menu.invoices')} columns=${columns()} id="invoice_no" empty=${t('empty')} />
    <//>
    <${PayRun} onPaid=${list.reload} />`
}

const save = async (/** @type {string} */ path, /** @type {string} */ name, format = 'csv') => {
  const file = await callOrders(`${path}?format=${format}`, { as: 'blob' })
  saveFile(file, `${name}.${format}`)
  return file
}

const maxPaidAtOnce = 1000

/** Reads the invoice numbers of a saved pay run, where an apostrophe may precede a number. @param {Blob} file */
const readRun = async file => {
  const [, ...lines] = (await file.text()).split(/\r?\n/)
  return lines.flatMap(line => /^"?'?([^",;\t]+)/.exec(line)?.[1] ?? [])
}

/** Lists the payments that the bank is to make, and why some invoices are left out. */
const PayRun = ({ onPaid }) => {
  const run = useLive(signal => callOrders('/payout', { signal }))
  const shown = () => [
    column(t('invoice.no'), row => html`<${InvoiceLink} no=${row.invoice_no} />`),
    column(t('merchant'), row => row.merchant_name),
    column(t('account'), row => html`${row.holder}, ${row.bank} ${row.number}`),
    column(t('invoice.total'), row => companyMoney(row.amount), 'number'),
  ]
  const post = usePost()
  // The list may have invoices that were approved after the file was saved: only the invoices of a file were paid.
  const [paid, setPaid] = useState(/** @type {string[]} */ ([]))
  /** Marks all, in as many requests as needed; marked invoices leave the list, even if a later request fails. */
  const markPaid = async entered => {
    try {
      for (let left = paid; left.length > 0; setPaid(left)) {
        await post('/payout', { ...entered, invoice_nos: left.slice(0, maxPaidAtOnce) })
        left = left.slice(maxPaidAtOnce)
      }
    } finally {
      run.reload()
      onPaid()
    }
  }
  const saveRun = async () => {
    setPaid(await readRun(await save('/payout', 'payouts')))
    run.reload()
  }
  const submit = `${t('invoice.mark_paid')} (${number(paid.length)})`
  const choose = useAction(async file => setPaid(file ? await readRun(file) : []))
  return html`<${Panel} title=${t('invoice.pay_run')}>
    <${Live} of=${run} lines=${3}>${({ data: { payouts, left_out } }) => html`
      <${Table} caption=${t('invoice.pay_run')} columns=${shown()} rows=${payouts} id="invoice_no"
        empty=${t('invoice.none_due')} />
        ${payouts.length > 0 && html`<p><${Act} run=${saveRun}>CSV<//></p>`}
        ${
          left_out.length > 0 &&
          html`<ul class="plain">
          ${left_out.map(
            row => html`<li key=${row.invoice_no}>
            <${InvoiceLink} no=${row.invoice_no} /> ${row.merchant_name}: ${row.why}</li>`,
          )}</ul>`
        }`}<//>
    <${Field} id="paid-run" label=${t('invoice.paid_run')} type="file" accept=".csv,text/csv"
      onChange=${event => choose.run(event.target.files[0])} />
    ${paid.length > 0 && html`<${Form} id="pay-run" fields=${paymentFields()} submit=${submit} send=${markPaid} />`}
  <//>`
}

/** Lists the steps that each state allows. true: the step asks for a reason. */
const steps = {
  draft: { submit: false, cancel: true },
  submitted: { approve: false, reject: true, cancel: true },
  rejected: { cancel: true },
  approved: { cancel: true },
}

const Steps = ({ invoice, onDone }) => {
  const path = `/invoice/${encodeURIComponent(invoice.invoice_no)}`
  const post = usePost()
  // A cancelled invoice no longer has lines; its disputes are settled there.
  const ofInvoice = invoice.lines.flatMap(line => (line.kind === 'disputed' ? [line.waybill_number] : []))
  const mayHold = ofInvoice.length > 0 || invoice.state === 'cancelled'
  const held = useLive(
    async signal =>
      mayHold ? (await callOrders(`/merchant/${invoice.merchant_id}/balance`, { signal })).data.held_for : [],
    0,
    [invoice.merchant_id, mayHold],
  )
  const disputed = (held.data ?? [])
    .filter(({ invoice_no: no }) => (no === null ? invoice.state === 'cancelled' : no === invoice.invoice_no))
    .map(({ waybill_number: id }) => ({ id, label: id }))
  const onSettled = () => {
    held.reload()
    onDone()
  }
  const settleFields = [
    { name: 'waybill', label: t('parcel'), options: disputed, none: t('message.choose'), required: true },
    { name: 'adjustment', label: t('money.adjustment'), type: 'number', step: smallest() },
    reasonField(),
  ]
  const toSettlement = ({ adjustment = '0', waybill, reason }) => ({
    waybill_numbers: [waybill],
    adjustment: Number(adjustment),
    reason,
  })
  const allowed = Object.entries(steps[invoice.state] ?? {})
  const step = name => () => post(`${path}/${name}`, {}).then(onDone)
  return html`<div class="stack">
    <div class="row">${allowed
      .filter(([, asks]) => !asks)
      .map(([name]) => html`<${Act} key=${name} kind="primary" run=${step(name)}>${t(`invoice.${name}`)}<//>`)}</div>
    ${
      invoice.state === 'approved' &&
      html`<${Form} id="pay" fields=${paymentFields()} submit=${t('invoice.mark_paid')}
      path=${`${path}/deposit`} onDone=${onDone} />`
    }
    ${allowed
      .filter(([, asks]) => asks)
      .map(
        ([name]) =>
          html`<${FoldedForm} key=${name} title=${t(`invoice.${name}`)} id=${name} fields=${[reasonField()]}
            path=${`${path}/${name}`} onDone=${onDone} />`,
      )}
    ${
      disputed.length > 0 &&
      html`<${FoldedForm} title=${t('invoice.settle')} id="settle" fields=${settleFields}
      path=${`${path}/dispute/settle`} toBody=${toSettlement} onDone=${onSettled} />`
    }
  </div>`
}

const One = ({ no }) => {
  const path = `/invoice/${encodeURIComponent(no)}`
  const found = useLive(signal => callOrders(path, { signal }), 0, [no])
  const waybill = () => column(t('parcel'), row => html`<${ParcelLink} waybill=${row.waybill_number} />`)
  const facts = data => ({
    [t('invoice.total')]: companyMoney(data.total),
    [t('invoice.forward')]: companyMoney(data.brought_forward),
    [t('invoice.until')]: data.until,
    [t('invoice.reference')]: data.bank_reference && `${data.bank_reference}, ${data.paid_on}`,
    [t('failures.reason')]: data.reason,
  })
  return html`<div class="row"><h1 tabindex="-1">${no}</h1>
    ${found.data && html`<${State} of=${found.data.data.state} />`}
      <${Act} run=${() => save(path, no)}>CSV<//><${Act} run=${() => save(path, no, 'pdf')}>PDF<//></div>
    <p><a href="#/invoices">${t('menu.invoices')}</a></p>
    <${Live} of=${found} lines=${8}>${({ data }) => html`
      <${Panel} title=${data.merchant_name}><${Facts} of=${facts(data)} />
        <${Steps} key=${data.state} invoice=${data} onDone=${found.reload} /><//>
      <${Panel} title=${t('invoice.lines')}>
        <${Table} caption=${t('invoice.lines')} columns=${[waybill(), ...lineColumns()]}
          rows=${data.lines.map((line, id) => ({ ...line, id }))} empty=${t('empty')} /><//>`}<//>`
}

/** Shows the invoices of merchants and the pay run; with a number, one invoice. */
export const Invoices = ({ params: [no], query }) => (no ? html`<${One} no=${no} />` : html`<${List} query=${query} />`)
