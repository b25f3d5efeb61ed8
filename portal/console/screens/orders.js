import { callOrders } from '../../kit/api.js'
import { findCities, findMerchants } from '../../kit/form.js'
import { number, statusName, t } from '../../kit/i18n.js'
import { Filters, Rows, usePages } from '../../kit/lists.js'
import { html, useState } from '../../kit/preact.js'
import { ChoosePage, Chosen, choiceColumn } from '../../kit/selection.js'
import { may } from '../../kit/session.js'
import { Panel, useLive } from '../../kit/ui.js'
import { maxScanned, useScanList } from '../scan-list.js'
import { parcelColumns } from './find.js'
import { Move } from './move-all.js'
import { GiveTo, readRiders } from './riders.js'
import { Print } from './scan.js'

const classes = ['waiting', 'under_way', 'delivered', 'returned', 'cancelled']
const date = { type: 'date', min: '2000-01-01', max: '2999-12-31' }

/** @param {{ key: string, name: string }[]} statuses @param {{ id: string, name: string }[]} riders */
const fields = (statuses, riders) => [
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
  ...(may('listRiders') ? [{ name: 'rider', label: t('riders.rider'), options: riderOptions(riders) }] : []),
  { name: 'phone', label: t('field.customer_phone'), type: 'tel' },
  { name: 'order_no', label: t('field.order_no') },
]

const riderOptions = (/** @type {{ id: string, name: string }[]} */ riders) => [
  { id: 'none', label: t('riders.no_rider') },
  ...riders.map(({ id, name }) => ({ id, label: name })),
]

/** Returns a selection whose parcels are read as they are now: another person may have moved them meanwhile. */
const useChosen = () => {
  const list = useScanList(false)
  const listWaybills = (/** @type {any[]} */ rows) => rows.map(row => row.waybill_number)
  return {
    ...list,
    size: list.items.length,
    choose: (/** @type {any[]} */ rows, /** @type {boolean} */ isChosen) => {
      const added = listWaybills(rows).filter(waybill => !list.has(waybill))
      if (isChosen) list.addAll(added.slice(0, maxScanned - list.items.length))
      else list.drop(listWaybills(rows))
    },
    clear: () => list.drop(list.items.map(({ waybill }) => waybill)),
  }
}

const Actions = ({ list, onMoved }) => {
  const [moved, setMoved] = useState('')
  const onDone = (said = '') => {
    setMoved(said)
    document.querySelector('h1')?.focus()
    onMoved()
  }
  return html`
    ${moved && html`<p class="notice good" role="status">${moved}</p>`}
    ${list.isFull() && html`<p class="notice">${t('scan.full', { count: number(list.size) })}</p>`}
    <${Print} waybills=${list.items.map(({ waybill }) => waybill).reverse()} />
    ${
      may('moveOrders') &&
      html`<details><summary>${t('scan.move_all', { count: number(list.size) })}</summary>
      <${Move} list=${list} onDone=${onDone} /></details>`
    }
    <${GiveTo} waybills=${list.items.map(({ waybill }) => waybill)} onDone=${onDone} />`
}

export const Orders = ({ query }) => {
  const statuses = useLive(signal => callOrders('/status', { signal }))
  const riders = useLive(readRiders)
  const list = usePages('/order', { ...query, per_page: 50 }, 30)
  const total = list.data?.meta.total
  const chosen = useChosen()
  const page = list.data?.data ?? []
  const mayAct = may('moveOrders') || may('printAnyLabels')
  return html`<h1 tabindex="-1">${t('menu.orders')}</h1>
    <${Panel} title=${t('today.parcels')} aside=${
      total !== undefined &&
      html`<span class="soft">${number(total)}
      ${total === 10_000 && '+'}</span>`
    }>
      <${Filters} screen="orders" query=${query} fields=${fields(statuses.data?.data ?? [], riders.data?.data ?? [])} />
      ${mayAct && page.length > 0 && html`<div class="row"><${ChoosePage} of=${chosen} page=${page} /></div>`}
      <${Rows} of=${list} lines=${8} caption=${t('today.parcels')} id="waybill_number"
        columns=${[...(mayAct ? [choiceColumn(chosen)] : []), ...parcelColumns()]}
        empty=${t('orders.empty')} />
      <${Chosen} of=${chosen} page=${page}><${Actions} list=${chosen} onMoved=${list.reload} /><//>
    <//>`
}
