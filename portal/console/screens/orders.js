import { own } from '../../kit/api.js'
import { findCities, findMerchants } from '../../kit/form.js'
import { number, statusName, t } from '../../kit/i18n.js'
import { Filters, Rows, usePages } from '../../kit/lists.js'
import { html } from '../../kit/preact.js'
import { may } from '../../kit/session.js'
import { Panel, useLive } from '../../kit/ui.js'
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
  { name: 'destination_city_id', label: t('field.destination'), find: findCities },
  ...(may('listMerchants') ? [{ name: 'merchant_id', label: t('merchant'), find: findMerchants }] : []),
  { name: 'phone', label: t('field.customer_phone'), type: 'tel' },
  { name: 'order_no', label: t('field.order_no') },
]

/** Shows the parcels of all merchants, newest first. */
export const Orders = ({ query }) => {
  const statuses = useLive(signal => own('/status', { signal }))
  const list = usePages('/order', { ...query, per_page: 50 }, 30)
  const total = list.data?.meta.total
  return html`<h1 tabindex="-1">${t('menu.orders')}</h1>
    <${Panel} title=${t('today.parcels')} aside=${
      total !== undefined &&
      html`<span class="soft">${number(total)}
      ${total === 10_000 && '+'}</span>`
    }>
      <${Filters} screen="orders" query=${query} fields=${fields(statuses.data?.data ?? [])} />
      <${Rows} of=${list} lines=${8} caption=${t('today.parcels')} columns=${parcelColumns()} id="waybill_number"
        empty=${t('orders.empty')} />
    <//>`
}
