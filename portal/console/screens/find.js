import { callOrders, withQuery } from '../../kit/api.js'
import { money, number, statusName, t } from '../../kit/i18n.js'
import { html, useEffect } from '../../kit/preact.js'
import { may } from '../../kit/session.js'
import { Badge, column, Live, Panel, ParcelLink, Table, Time, Two, useLive } from '../../kit/ui.js'

const kinds = { success: 'good', danger: 'bad', warning: 'warn' }
export const Status = ({ of }) => html`<${Badge} kind=${kinds[of.color]}>${statusName(of.name)}<//>`

const perPage = 50

export const parcelColumns = () => [
  column(t('parcel'), row => html`<${ParcelLink} waybill=${row.waybill_number} />`),
  column(
    t('status'),
    row => html`<${Two} first=${html`<${Status} of=${row.status} />`} second=${row.rider?.name ?? ''} />`,
  ),
  column(t('field.customer_name'), row => html`<${Two} first=${row.customer_name} second=${row.customer_phone} />`),
  column(t('field.destination'), row => row.destination_city_name),
  column(t('merchant'), row => html`<${Two} first=${row.merchant_business_name} second=${row.order_no} />`),
  column(t('field.cod'), row => money(row.cod, row.currency), 'number'),
  column(t('field.created'), row => html`<${Time} at=${row.created_at} />`),
]

/** Returns the lists that may match the typed text. @param {string} text @param {AbortSignal} signal */
const chooseLists = async (text, signal) => {
  const isPhone = text.length <= 80 && /^(?:[^\p{L}\p{Nd}]*\p{Nd}){6}/u.test(text)
  const isName = /\p{L}/u.test(text) && text.length >= 3 && text.length <= 100
  const merchants = may('listMerchants')
    ? await callOrders(withQuery('/merchant', { name: text, limit: 5 }), { signal })
    : { data: [] }
  return [
    { title: t('find.waybill'), filter: { waybill_number: text } },
    ...(isPhone ? [{ title: t('field.customer_phone'), filter: { phone: text } }] : []),
    { title: t('find.order_no'), filter: { order_no: text } },
    ...(isName ? [{ title: t('field.customer_name'), filter: { search: text } }] : []),
    ...merchants.data.map(({ id, name }) => ({ title: `${t('merchant')}: ${name}`, filter: { merchant_id: id } })),
  ]
}

/** @param {string} text @param {AbortSignal} signal */
const find = async (text, signal) => {
  if (!text) return []
  const read = async ({ title, filter }) => {
    const { data, meta } = await callOrders(withQuery('/order', { ...filter, per_page: perPage }), { signal })
    // A search has no count.
    return { title, filter, total: meta.total ?? data.length, isCut: meta.next_cursor !== null, rows: data }
  }
  return (await Promise.all((await chooseLists(text, signal)).map(read))).filter(({ rows }) => rows.length > 0)
}

/** Searches for parcels by waybill number, phone, order number, recipient or merchant. */
export const Find = ({ query }) => {
  const text = (query.q ?? '').trim()
  const found = useLive(signal => find(text, signal), 0, [text])
  const exact = found.data?.find(({ filter }) => filter.waybill_number !== undefined)?.rows[0]
  // Replaces this screen in the history: otherwise the back button would lead here and at once to the parcel again.
  useEffect(() => exact && location.replace(`#/parcel/${encodeURIComponent(exact.waybill_number)}`), [exact])
  return html`<h1 tabindex="-1">${text ? t('find.results', { text }) : t('menu.find')}</h1>
    <${Live} of=${found} lines=${6}>${lists =>
      lists.length === 0
        ? html`<p class="empty">${t('find.none')}</p>`
        : lists.map(
            ({ title, filter, total, isCut, rows }) => html`<${Panel} key=${title} title=${title}
            aside=${html`<a href=${withQuery('#/orders', filter)}>
              ${
                total > rows.length
                  ? t('find.first', { count: number(rows.length), total: number(total) })
                  : `${number(total)}${isCut ? '+' : ''}`
              }</a>`}>
            <${Table} caption=${title} columns=${parcelColumns()} rows=${rows} id="waybill_number" /><//>`,
          )}<//>`
}
