import { orders, withQuery } from '../../kit/api.js'
import { number, statusName, t } from '../../kit/i18n.js'
import { Filters, findCities, findMerchants, Pages, usePages } from '../../kit/lists.js'
import { html } from '../../kit/preact.js'
import { may } from '../../kit/session.js'
import { Live, Panel, Table, useLive } from '../../kit/ui.js'
import { parcelColumns } from './find.js'

const classes = ['waiting', 'under_way', 'delivered', 'returned', 'cancelled']
const date = { type: 'date', min: '2000-01-01', max: '2999-12-31' }

/** @param {{ key: string, name: string }[]} statuses */
const fields = statuses => [
  {
    name: 'status',
    label: t('status'),
    options: statuses.map(({ key, name }) => ({ id: key, label: statusName(name) })),
  },
  { name: 'status_class', label: t('orders.class'), options: classes.map(id => ({ id, label: t(`class.${id}`) })) },
  { name: 'created_from', label: t('orders.from'), ...date },
  { name: 'created_to', label: t('orders.to'), ...date },
  { name: 'delivered_on', label: t('orders.delivered_on'), ...date },
  { name: 'failed_on', label: t('orders.failed_on'), ...date },
  { name: 'destination_city_id', label: t('to'), find: findCities },
  ...(may('listMerchants') ? [{ name: 'merchant_id', label: t('merchant'), find: findMerchants }] : []),
  { name: 'phone', label: t('find.phone'), type: 'tel' },
  { name: 'order_no', label: t('order_no') },
]

/** The parcels of all merchants, newest first. */
export const Orders = ({ query }) => {
  const statuses = useLive(signal => orders('/api/staff/status', { signal }))
  const list = usePages(
    (cursor, signal) => orders(withQuery('/api/staff/order', { ...query, cursor, per_page: 50 }), { signal }),
    [query],
    30,
  )
  const total = list.data?.meta.total
  return html`<h1 tabindex="-1">${t('menu.orders')}</h1>
    <${Panel} title=${t('today.parcels')} aside=${total !== undefined && html`<span class="soft">${number(total)}${total === 10_000 && '+'}</span>`}>
      <${Filters} screen="orders" query=${query} fields=${fields(statuses.data?.data ?? [])} />
      <${Live} of=${list} lines=${8}>${({ data, meta }) => html`
        <${Table} caption=${t('today.parcels')} columns=${parcelColumns()} rows=${data.map(row => ({ ...row, id: row.waybill_number }))} empty=${t('orders.empty')} />
        <${Pages} of=${list} next=${meta.next_cursor} />`}<//>
    <//>`
}
