import { Act, Button, ErrorText, instead, useAction } from '../../kit/actions.js'
import { callOrders } from '../../kit/api.js'
import { Control, usePost } from '../../kit/form.js'
import { companyMoney, named, t } from '../../kit/i18n.js'
import { lineColumns, saveDocument, Versions } from '../../kit/money.js'
import { html, useState } from '../../kit/preact.js'
import { may } from '../../kit/session.js'
import { Badge, column, Facts, Live, Panel, ParcelLink, Table, Time, useLive } from '../../kit/ui.js'

/**
 * Shows the actions on an invoice: save it, and approve it while it waits for approval, unless `ticked` parcels are
 * about to be disputed.
 */
export const Actions = ({
  invoice: { invoice_no: number, state, total, charges_due, set_off },
  ticked = 0,
  onDone,
}) => {
  const path = `/invoice/${encodeURIComponent(number)}`
  const post = usePost()
  return html`<div class="row">
    <${Act} run=${() => saveDocument(path, number, 'pdf')}>PDF<//>
    <${Act} run=${() => saveDocument(path, number, 'csv')}>CSV<//>
    ${
      state === 'submitted' &&
      (total > 0 || charges_due !== 0 || set_off !== 0) &&
      may('approveOwnInvoice') &&
      html`<${Act} question=${t('invoice.approve_sure', { total: companyMoney(total) })}
        missing=${ticked > 0 ? t('invoice.ticked', { count: ticked }) : ''}
        run=${() => post(`${path}/approve`, {}).then(onDone)}>${t('invoice.approve')}<//>`
    }</div>`
}

/** Names what a line is disputed as: its parcel, or the line itself. No waybill has a blank. */
const toKey = line => line.waybill_number ?? `line ${line.line_no}`

/** Lists what can be disputed: parcels, and lines without one, that add to the total and are not disputed already. */
const listDisputable = ({ lines }) =>
  [...new Set(lines.filter(line => line.waybill_number || line.kind !== 'disputed').map(toKey))].filter(key => {
    const net = lines.reduce((left, line) => left + (toKey(line) === key ? line.net : 0), 0)
    return Math.abs(net) >= 0.0001
  })

const toDispute = (/** @type {string[]} */ keys) => {
  const lines = keys.filter(key => key.startsWith('line '))
  const parcels = keys.filter(key => !lines.includes(key))
  return {
    ...(parcels.length > 0 && { waybill_numbers: parcels }),
    ...(lines.length > 0 && { line_nos: lines.map(key => Number(key.slice(5))) }),
  }
}

/** Shows the lines of an invoice. Until it is approved, the merchant chooses parcels beside them to dispute. */
const Lines = ({ invoice, chosen, setChosen, onDone }) => {
  const [reason, setReason] = useState('')
  const post = usePost()
  const dispute = useAction(async () => {
    const path = `/invoice/${encodeURIComponent(invoice.invoice_no)}/dispute`
    await post(path, { ...toDispute(chosen), reason })
    onDone()
  })
  const disputable = invoice.state === 'submitted' && may('disputeInvoice') ? listDisputable(invoice) : []
  const choose = (/** @type {string} */ waybill) => (/** @type {any} */ event) =>
    setChosen(event.target.checked ? [...chosen, waybill] : chosen.filter(each => each !== waybill))
  // A parcel with several lines has one box.
  const isFirst = row => invoice.lines.find(line => toKey(line) === toKey(row))?.line_no === row.line_no
  const box = row =>
    isFirst(row) &&
    disputable.includes(toKey(row)) &&
    html`<input type="checkbox" aria-label=${`${t('invoice.choose')} ${toKey(row)}`}
      checked=${chosen.includes(toKey(row))} onChange=${choose(toKey(row))} />`
  const columns = [
    ...(disputable.length > 0 ? [column(t('invoice.choose'), box)] : []),
    column(t('parcel'), row => html`<${ParcelLink} waybill=${row.waybill_number} />`),
    ...lineColumns(),
  ]
  return html`<${Panel} title=${t('invoice.lines')}>
    <${Table} caption=${t('invoice.lines')} columns=${columns}
      rows=${invoice.lines.map((line, id) => ({ ...line, id }))} empty=${t('money.empty')} />
    ${
      disputable.length > 0 &&
      html`<form class="stack" onSubmit=${instead(() => dispute.run())}>
        <p class="hint">${t('invoice.dispute_hint')}</p>
        <${Control} id="dispute-reason" label=${t('invoice.reason')} value=${reason} required maxlength="500"
          errors=${dispute.error?.errors?.reason} onValue=${setReason} />
        <${ErrorText} error=${dispute.error} except=${['reason']} />
        <div class="row"><${Button} kind="primary" type="submit" isBusy=${dispute.isBusy}
          missing=${chosen.length === 0 ? t('invoice.choose_first') : ''}>
          ${t('invoice.dispute', { count: chosen.length })}<//></div></form>`
    }<//>`
}

const showFacts = invoice => ({
  [t('invoice.document')]: named('document', invoice.document),
  [t('invoice.total')]: companyMoney(invoice.total || invoice.charges_due),
  [t('invoice.issued_on')]: invoice.versions.at(-1)?.issued_on,
  [t('invoice.objection_until')]:
    invoice.state === 'submitted' && invoice.objection_until && html`<${Time} at=${invoice.objection_until} />`,
  [t('invoice.paid_on')]: invoice.paid_on,
})

/** Returns true for an invoice of which disputes leave nothing to pay. */
const isWaiting = ({ state, total, charges_due, set_off }) =>
  state === 'submitted' && total <= 0 && charges_due === 0 && set_off === 0

/** Shows one invoice with its lines and documents, and what the merchant may do. */
export const Invoice = ({ no }) => {
  const found = useLive(signal => callOrders(`/invoice/${encodeURIComponent(no)}`, { signal }), 0, [no])
  const [chosen, setChosen] = useState(/** @type {string[]} */ ([]))
  const onDone = () => {
    setChosen([])
    found.reload()
  }
  return html`<div class="row"><h1 tabindex="-1">${no}</h1>
      ${found.data && html`<${Badge}>${t(`invoice.${found.data.data.state}`)}<//>`}</div>
    <p><a href="#/money">${t('menu.money')}</a></p>
    <${Live} of=${found} lines=${8}>${({ data }) => html`
      <${Panel} title=${data.invoice_ref_no}><${Facts} of=${showFacts(data)} />
        ${isWaiting(data) && html`<p class="notice">${t('invoice.waits')}</p>`}
        <${Actions} invoice=${data} ticked=${chosen.length} onDone=${onDone} /><//>
      <${Lines} key=${data.version} invoice=${data} chosen=${chosen} setChosen=${setChosen} onDone=${onDone} />
      <${Versions} invoice=${data} needs="getCreditNote" />`}<//>`
}
