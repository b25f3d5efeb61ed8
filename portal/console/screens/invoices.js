import { Act } from '../../kit/actions.js'
import { callOrders } from '../../kit/api.js'
import { FoldedForm, Form, findMerchants, usePost } from '../../kit/form.js'
import { companyMoney, named, number, smallest, t } from '../../kit/i18n.js'
import { Filters, Rows, usePages } from '../../kit/lists.js'
import { lineColumns, saveDocument, Versions } from '../../kit/money.js'
import { html } from '../../kit/preact.js'
import { Badge, column, Facts, Live, Panel, ParcelLink, Table, Time, Two, useLive } from '../../kit/ui.js'
import { reasonField } from './money.js'

const kinds = { approved: 'good', deposited: 'good', rejected: 'bad', submitted: 'warn' }
const states = ['draft', 'submitted', 'approved', 'rejected', 'deposited', 'cancelled']
const State = ({ of }) => html`<${Badge} kind=${kinds[of] ?? 'neutral'}>${named('invoice', of)}<//>`
const InvoiceLink = ({ of: { id, invoice_no: no } }) =>
  html`<a href=${`#/invoices/${encodeURIComponent(no ?? id)}`}>${no ?? named('invoice', 'draft')}</a>`

const columns = () => [
  column(
    t('invoice.no'),
    row => html`<${Two} first=${html`<${InvoiceLink} of=${row} />`} second=${row.invoice_ref_no ?? ''} />`,
  ),
  column(t('merchant'), row => row.merchant_name),
  column(t('invoice.until'), row => row.until),
  column(t('today.parcels'), row => number(row.parcels), 'number'),
  column(t('invoice.document'), row => named('document', row.document)),
  column(t('invoice.total'), row => companyMoney(row.total || row.charges_due), 'number'),
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
      <${Rows} of=${list} caption=${t('menu.invoices')} columns=${columns()} id="id" empty=${t('empty')} />
    <//>`
}

/** Lists the steps that each state allows: at once, or with a reason. */
const steps = {
  draft: { atOnce: ['submit'], withReason: ['cancel'] },
  submitted: { atOnce: ['approve'], withReason: ['reject', 'cancel'] },
  rejected: { withReason: ['cancel'] },
  approved: { withReason: ['cancel'] },
}

const Steps = ({ invoice, onDone }) => {
  const path = `/invoice/${invoice.id}`
  const post = usePost()
  // A tax invoice has no disputed lines: they are on the remittance.
  const hasOwnDisputes = ['invoice', 'remittance'].includes(invoice.document) && invoice.state !== 'cancelled'
  const mayHold = !hasOwnDisputes || invoice.lines.some(({ kind }) => kind === 'disputed')
  const held = useLive(
    async signal =>
      mayHold ? (await callOrders(`/merchant/${invoice.merchant_id}/balance`, { signal })).data.held_for : [],
    0,
    [invoice.merchant_id, mayHold],
  )
  const disputed = (held.data ?? [])
    .filter(({ invoice_no: no }) => (no === null ? invoice.state === 'cancelled' : no === invoice.invoice_no))
    .map(({ waybill_number, line_no }) => waybill_number ?? `line ${line_no}`)
    .map(id => ({ id, label: id }))
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
    ...(waybill.startsWith('line ') ? { line_nos: [Number(waybill.slice(5))] } : { waybill_numbers: [waybill] }),
    adjustment: Number(adjustment),
    reason,
  })
  const { atOnce = [], withReason = [] } = steps[invoice.state] ?? {}
  const step = name => () => post(`${path}/${name}`, {}).then(onDone)
  return html`<div class="stack">
    <div class="row">${atOnce.map(
      name => html`<${Act} key=${name} kind="primary" run=${step(name)}
          question=${name === 'approve' ? t('invoice.approve_sure', { total: companyMoney(invoice.total) }) : ''}>
          ${t(`invoice.${name}`)}<//>`,
    )}</div>
    ${withReason.map(
      name =>
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
    [t('invoice.document')]: named('document', data.document),
    [t('invoice.total')]: companyMoney(data.total || data.charges_due),
    [t('invoice.objection_until')]:
      data.state === 'submitted' && data.objection_until && html`<${Time} at=${data.objection_until} />`,
    [t('invoice.until')]: data.until,
    [t('invoice.reference')]: data.bank_reference && `${data.bank_reference}, ${data.paid_on}`,
    [t('failures.reason')]: data.reason,
  })
  return html`<div class="row"><h1 tabindex="-1">${found.data?.data.invoice_no ?? named('invoice', 'draft')}</h1>
    ${found.data && html`<${State} of=${found.data.data.state} />`}
      <${Act} run=${() => saveDocument(path, no, 'csv')}>CSV<//>
      <${Act} run=${() => saveDocument(path, no, 'pdf')}>PDF<//></div>
    <p><a href="#/invoices">${t('menu.invoices')}</a></p>
    <${Live} of=${found} lines=${8}>${({ data }) => html`
      <${Panel} title=${data.merchant_name}><${Facts} of=${facts(data)} />
        <${Steps} key=${data.state} invoice=${data} onDone=${found.reload} /><//>
      <${Panel} title=${t('invoice.lines')}>
        <${Table} caption=${t('invoice.lines')} columns=${[waybill(), ...lineColumns()]}
          rows=${data.lines.map((line, id) => ({ ...line, id }))} empty=${t('empty')} /><//>
      <${Versions} invoice=${data} needs="getAnyCreditNote" />`}<//>`
}

/** Shows the invoices of merchants; with a number, one invoice. */
export const Invoices = ({ params: [no], query }) => (no ? html`<${One} no=${no} />` : html`<${List} query=${query} />`)
