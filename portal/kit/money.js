// Shows the lines and documents of money, for the screens of both faces.
import { Act, saveFile } from './actions.js'
import { callOrders } from './api.js'
import { companyMoney, named, t } from './i18n.js'
import { html } from './preact.js'
import { may } from './session.js'
import { column, Panel, Two } from './ui.js'

/** Returns the columns of money lines, of a parcel or of an invoice. */
export const lineColumns = () => [
  column(
    t('money.line'),
    row =>
      html`<${Two} first=${named('money', row.kind)}
      second=${[row.booked_on, row.reason].filter(Boolean).join(', ')} />`,
  ),
  column(t('money.collected'), row => companyMoney(row.collected), 'number'),
  column(
    t('money.charges'),
    row => companyMoney(row.delivery + row.cod_fee + row.return_fee + row.tax + row.withholding),
    'number',
  ),
  column(t('money.other'), row => companyMoney(row.compensation + row.adjustment - row.held), 'number'),
  column(t('money.net'), row => companyMoney(row.net), 'number'),
]

/** Saves a document. @param {string} path @param {string} name @param {string} format */
export const saveDocument = async (path, name, format) => {
  const file = await callOrders(`${path}${path.includes('?') ? '&' : '?'}format=${format}`, { as: 'blob' })
  return saveFile(file, `${name.replaceAll('/', '-')}.${format}`)
}

/** Lists what the merchant saw of an invoice: each version and credit note can be saved. */
export const Versions = ({ invoice: { invoice_no: no, versions }, needs }) => {
  if (versions.length === 0) return null
  const path = `/invoice/${encodeURIComponent(no)}`
  const credit = number => () => saveDocument(`/credit-note/${encodeURIComponent(number)}`, number, 'pdf')
  return html`<${Panel} title=${t('invoice.versions')}><ul class="plain stack">${versions.map(
    each => html`<li key=${each.version} class="row">
      <${Act} run=${() => saveDocument(`${path}?version=${each.version}`, `${no}-${each.version}`, 'pdf')}>
        ${t('invoice.version', { number: each.version })}<//>
      <span>${each.issued_on} ${companyMoney(each.total)}
        ${each.reason && html`<span class="soft"> ${each.reason}</span>`}</span>
      ${
        each.credit_note_no &&
        may(needs) &&
        html`<${Act} run=${credit(each.credit_note_no)}>${each.credit_note_no}<//>
        <span>${companyMoney(-each.credited)}</span>`
      }</li>`,
  )}</ul><//>`
}
