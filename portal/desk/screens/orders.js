import { withQuery } from '../../kit/api.js'
import { money, statusName, t } from '../../kit/i18n.js'
import { Filters, Pages, usePages } from '../../kit/lists.js'
import { html } from '../../kit/preact.js'
import { Badge, column, Live, ParcelLink, Table, Time, Two, useLive } from '../../kit/ui.js'
import { findCities, merchant } from '../merchant.js'

const date = { type: 'date', min: '2000-01-01', max: '2999-12-31' }

/** @param {{ key: string, name: string }[]} statuses */
const fields = statuses => [
  { name: 'waybill_number', label: t('parcel') },
  { name: 'order_no', label: t('field.order_no') },
  { name: 'phone', label: t('field.customer_phone'), type: 'tel' },
  {
    name: 'status',
    label: t('orders.status'),
    options: statuses.map(({ key, name }) => ({ id: key, label: statusName(name) })),
  },
  { name: 'destination_city_id', label: t('field.destination'), find: findCities },
  { name: 'created_from', label: t('orders.from'), ...date },
  { name: 'created_to', label: t('orders.to'), ...date },
]

const columns = () => [
  column(t('parcel'), row => html`<${ParcelLink} waybill=${row.waybill_number} />`),
  column(t('field.customer_name'), row => html`<${Two} first=${row.customer_name} second=${row.customer_phone} />`),
  column(t('field.destination'), row => row.destination_city_name),
  column(t('field.cod'), row => money(row.cod, row.currency), 'number'),
  column(t('orders.status'), row => html`<${Badge}>${statusName(row.status.name)}<//>`),
  column(t('orders.created'), row => html`<${Time} at=${row.created_at} />`),
]

/** The merchant's orders, newest first. */
export const Orders = ({ query }) => {
  const statuses = useLive(signal => merchant('/order/status-list', { signal }))
  const read = (cursor, signal) => merchant(withQuery('/order', { ...query, cursor, per_page: 50 }), { signal })
  const list = usePages(read, [query], 30)
  return html`<h1 tabindex="-1">${t('menu.orders')}</h1>
    <${Filters} screen="orders" query=${query} fields=${fields(statuses.data?.data ?? [])} />
    <${Live} of=${list} lines=${8}>${({ data, meta }) => html`
      <${Table} caption=${t('menu.orders')} columns=${columns()} rows=${data.map(row => ({ ...row, id: row.waybill_number }))} empty=${t('orders.empty')} />
      <${Pages} of=${list} next=${meta.next_cursor} />`}<//>`
}
