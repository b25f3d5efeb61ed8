import { Act, announce, Button, ErrorText, saveFile, useAction } from '../../kit/actions.js'
import { own, withQuery } from '../../kit/api.js'
import { findCities } from '../../kit/form.js'
import { dateTime, money, number, statusName, t } from '../../kit/i18n.js'
import { Filters, Pages, usePages } from '../../kit/lists.js'
import { html, useEffect, useRef, useState } from '../../kit/preact.js'
import { Badge, column, Live, ParcelLink, Table, Time, Two, useLive } from '../../kit/ui.js'
import { retry, saveLabels } from '../merchant.js'
import { writeCsv } from '../read-sheet.js'

const date = { type: 'date', min: '2000-01-01', max: '2999-12-31' }
const search = () => ({
  name: 'search',
  label: t('orders.search'),
  hint: t('orders.search_hint'),
  type: 'search',
  minlength: 3,
  maxlength: 100,
})

/** @param {{ key: string, name: string }[]} statuses */
const fields = statuses => [
  {
    name: 'status',
    label: t('status'),
    options: statuses.map(({ key, name }) => ({ id: key, label: statusName(name) })),
  },
  { name: 'order_no', label: t('field.order_no') },
  { name: 'waybill_number', label: t('parcel') },
  { name: 'phone', label: t('field.customer_phone'), type: 'tel' },
  { name: 'destination_city_id', label: t('field.destination'), find: findCities },
  { name: 'created_from', label: t('orders.from'), ...date },
  { name: 'created_to', label: t('orders.to'), ...date },
]

const columns = (
  /** @type {Set<string>} */ chosen,
  /** @type {(waybills: string[], isChosen: boolean) => void} */ choose,
) => [
  column(
    t('orders.choose'),
    ({ waybill_number: waybill }) =>
      html`<input type="checkbox" aria-label=${waybill} checked=${chosen.has(waybill)}
        onChange=${event => choose([waybill], event.target.checked)} />`,
  ),
  column(
    t('parcel'),
    row => html`<${Two} first=${html`<${ParcelLink} waybill=${row.waybill_number} />`} second=${row.order_no} />`,
  ),
  column(t('field.customer_name'), row => html`<${Two} first=${row.customer_name} second=${row.customer_phone} />`),
  column(t('field.destination'), row => row.destination_city_name),
  column(t('field.cod'), row => money(row.cod, row.currency), 'number'),
  column(t('status'), row => html`<${Badge}>${statusName(row.status.name)}<//>`),
  column(t('field.created'), row => html`<${Time} at=${row.created_at} />`),
]

const exported =
  `waybill_number order_no created_at customer_name customer_phone customer_secondary_phone customer_address
  destination_city_name destination_state_name cod weight delivery_charge currency description remark
  merchant_business_name`.split(/\s+/)

/**
 * Reads a whole list, page by page, and writes it as CSV.
 * @param {object} query
 * @param {(rows: number) => void} onProgress
 * @param {AbortSignal} signal
 */
const exportOrders = async (query, onProgress, signal) => {
  const rows = /** @type {unknown[][]} */ ([])
  for (let cursor = ''; ; ) {
    const { data, meta } = await retry(() => own(withQuery('/order', { ...query, cursor, per_page: 1000 }), { signal }))
    rows.push(...data.map(row => [row.status.name, ...exported.map(name => row[name])]))
    onProgress(rows.length)
    cursor = meta.next_cursor
    if (!cursor) return saveFile(writeCsv([['status', ...exported], ...rows]), 'orders.csv')
  }
}

/** Shows the actions on the orders of a list: labels of the chosen orders, and the whole list as CSV. */
const Actions = ({ query, chosen, page, choose }) => {
  const [rows, setRows] = useState(0)
  const leaving = useRef(new AbortController())
  useEffect(() => () => leaving.current.abort(), [])
  const save = useAction(() =>
    exportOrders(query, setRows, leaving.current.signal).then(() => announce(t('orders.exported'))),
  )
  const isWhole = page.length > 0 && page.every(waybill => chosen.has(waybill))
  return html`<div class="row">
      <${Button} onClick=${() => choose(page, !isWhole)}>${t(isWhole ? 'orders.choose_none' : 'orders.choose_page')}<//>
      ${
        chosen.size > 0 &&
        html`<${Act} kind="primary" run=${() => saveLabels([...chosen])}>
        ${t('orders.labels', { count: number(chosen.size) })}<//>`
      }
      <${Button} isBusy=${save.isBusy} onClick=${() => save.run()}>${t('orders.export')}<//>
      ${save.isBusy && html`<span role="status">${t('orders.exporting', { count: number(rows) })}</span>`}</div>
    <${ErrorText} error=${save.error} />`
}

/** Shows the merchant's orders, newest first. */
export const Orders = ({ query }) => {
  const statuses = useLive(signal => own('/order/status-list', { signal }))
  const list = usePages('/order', { ...query, per_page: 50 }, 30)
  const [chosen, setChosen] = useState(/** @type {Set<string>} */ (new Set()))
  const choose = (/** @type {string[]} */ waybills, /** @type {boolean} */ isChosen) =>
    setChosen(last => (isChosen ? last.union(new Set(waybills)) : last.difference(new Set(waybills))))
  return html`<h1 tabindex="-1">${t('menu.orders')}</h1>
    <${Filters} screen="orders" query=${query} first=${search()} fields=${fields(statuses.data?.data ?? [])} />
    <${Live} of=${list} lines=${8}>${({ data, meta }) => html`
      <${Actions} query=${query} chosen=${chosen} page=${data.map(row => row.waybill_number)} choose=${choose} />
      <${Table} caption=${t('menu.orders')} columns=${columns(chosen, choose)} rows=${data} id="waybill_number"
        empty=${t('orders.empty')} />
      ${
        meta.searched_to &&
        html`<p class="notice">
        ${t('orders.searched_to', { time: dateTime(meta.searched_to) })}</p>`
      }
      <${Pages} of=${list} />`}<//>`
}
