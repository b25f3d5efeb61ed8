// Asks what the recipients of delivered parcels paid, and who has the cash, before a move books it.
import { companyMoney, money, number, smallest, t } from '../kit/i18n.js'
import { html, useState } from '../kit/preact.js'
import { may } from '../kit/session.js'
import { column, Field, Table, Two } from '../kit/ui.js'
import { People } from './people.js'

const methods = ['cash', 'card', 'qr', 'transfer']

/**
 * @typedef {{ waybill: string, cod: number, currency: string, amount: string, method: string, reason: string }} Payment
 */

/** @param {Payment} payment */
const isStated = ({ amount, cod, reason }) =>
  amount !== '' && Number(amount) >= 0 && (Number(amount) === cod || reason.trim() !== '')

/** Returns true if a move that books `books` states what recipients paid, where money is booked. */
export const takesPayment = (/** @type {string | undefined} */ books) =>
  may('getAnyParcelMoney') && (books === 'delivery' || books === 'partial_delivery')

/**
 * Keeps what a person enters about the payments of `orders`, which are about to get a status that books `books`. The
 * amount of a delivery begins as the COD; that of a partial delivery must be entered. `body` holds the fields of the
 * move, and undefined while something is missing.
 * @param {any[]} orders @param {string | undefined} books
 */
export const useCollection = (orders, books) => {
  const [entered, setBy] = useState(/** @type {string | undefined} */ (undefined))
  const [given, setGiven] = useState(/** @type {Record<string, any>} */ ({}))
  const isPaid = takesPayment(books)
  const riders = new Set(orders.map(({ rider }) => rider?.name ?? ''))
  // The rider who has all parcels has their cash, unless a person says otherwise.
  const by = entered ?? (riders.size === 1 ? [...riders][0] : '')
  /** @type {Payment[]} */
  const payments = orders
    .filter(({ cod }) => isPaid && cod > 0)
    .map(({ waybill_number: waybill, cod, currency }) => {
      const start = { amount: books === 'delivery' ? String(cod) : '', method: 'cash', reason: '' }
      return { ...start, ...given[waybill], waybill, cod, currency }
    })
  const cash = payments.filter(({ method }) => method === 'cash')
  const hasCash = cash.some(({ amount }) => Number(amount) > 0)
  const name = by.trim()
  const collected = Object.fromEntries(
    payments.map(({ waybill, amount, method, reason, cod }) => {
      const why = Number(amount) === cod ? {} : { reason: reason.trim() }
      return [waybill, { amount: Number(amount), method, ...why }]
    }),
  )
  const isComplete = payments.every(isStated) && (name !== '' || !hasCash)
  const fields = payments.length === 0 ? {} : { collected, ...(hasCash && { collected_by: name }) }
  return {
    by,
    setBy,
    payments,
    hasCash,
    body: isComplete ? fields : undefined,
    change: (/** @type {string[]} */ waybills, /** @type {Record<string, string>} */ values) =>
      setGiven(last => ({
        ...last,
        ...Object.fromEntries(waybills.map(waybill => [waybill, { ...last[waybill], ...values }])),
      })),
    /** Forgets the payments once they are booked; the next tour has another rider. */
    end: () => {
      setBy(undefined)
      setGiven({})
    },
  }
}

const options = () => methods.map(id => html`<option key=${id} value=${id}>${t(`collect.${id}`)}</option>`)

/** @param {ReturnType<typeof useCollection>['change']} change */
const columns = change => {
  const input = (/** @type {Payment} */ { waybill, ...payment }, /** @type {string} */ name, more = {}) =>
    html`<input aria-label=${`${waybill}: ${t(`collect.${name}`)}`} value=${payment[name]} ...${more}
      onInput=${event => change([waybill], { [name]: event.target.value })} />`
  return [
    column(
      t('parcel'),
      ({ waybill, cod, currency }) =>
        html`<${Two} first=${html`<span class="whole">${waybill}</span>`}
          second=${`${t('field.cod')} ${money(cod, currency)}`} />`,
    ),
    column(
      t('collect.amount'),
      row => html`<div class="stack">${input(row, 'amount', { type: 'number', min: '0', step: smallest() })}
        ${
          row.amount !== '' &&
          Number(row.amount) !== row.cod &&
          input(row, 'reason', { maxlength: 500, placeholder: t('collect.reason') })
        }</div>`,
    ),
    column(
      t('collect.method'),
      ({ waybill, method }) =>
        html`<select aria-label=${`${waybill}: ${t('collect.method')}`} value=${method}
          onChange=${event => change([waybill], { method: event.target.value })}>${options()}</select>`,
    ),
  ]
}

/** Shows who has the cash, how it was paid and how much, for parcels with a COD. */
export const Collection = ({ of: { by, setBy, payments, hasCash, change } }) => {
  if (payments.length === 0) return null
  const cash = payments.filter(({ method }) => method === 'cash').reduce((all, { amount }) => all + Number(amount), 0)
  const [{ method: first }] = payments
  const common = payments.every(({ method }) => method === first) ? first : ''
  const waybills = payments.map(({ waybill }) => waybill)
  return html`<fieldset class="stack"><legend>${t('collect.title', { count: number(payments.length) })}</legend>
    <p>${t('collect.sum', { amount: companyMoney(cash) })}</p>
    ${
      hasCash &&
      html`<${Field} id="collected-by" label=${t('collect.by')} hint=${t('collect.hint')} value=${by} maxlength="200"
        required list="collectors" autocomplete="off" onInput=${event => setBy(event.target.value)} />
      <${People} id="collectors" />`
    }
    ${
      payments.length > 1 &&
      html`<${Field} id="collected-method" label=${t('collect.all')} value=${common}
        onChange=${event => event.target.value && change(waybills, { method: event.target.value })}>
        <option value="">${t('collect.mixed')}</option>${options()}<//>`
    }
    <div class="payments"><${Table} caption=${t('collect.title', { count: number(payments.length) })}
      columns=${columns(change)} rows=${payments} id="waybill" /></div>
  </fieldset>`
}
