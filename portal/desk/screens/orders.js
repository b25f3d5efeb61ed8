import { Act, announce, Button, ErrorText, saveFile, useAction } from '../../kit/actions.js'
import { callOrders, withQuery } from '../../kit/api.js'
import { findCities, usePost } from '../../kit/form.js'
import { dateTime, money, number, statusName, t } from '../../kit/i18n.js'
import { Filters, Pages, usePages } from '../../kit/lists.js'
import { html, useEffect, useRef, useState } from '../../kit/preact.js'
import { ChoosePage, Chosen, choiceColumn, listRefusals, Refused, useSelection } from '../../kit/selection.js'
import { may } from '../../kit/session.js'
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

const columns = () => [
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
    const { data, meta } = await retry(() =>
      callOrders(withQuery('/order', { ...query, cursor, per_page: 1000 }), { signal }),
    )
    rows.push(...data.map(row => [row.status.name, ...exported.map(name => row[name])]))
    onProgress(rows.length)
    cursor = meta.next_cursor
    if (!cursor) return saveFile(writeCsv([['status', ...exported], ...rows]), 'orders.csv')
  }
}

/** Shows the choice of the page, and the action on the whole list. */
const ListActions = ({ query, chosen, page }) => {
  const [rows, setRows] = useState(0)
  const leaving = useRef(new AbortController())
  useEffect(() => () => leaving.current.abort(), [])
  const save = useAction(() =>
    exportOrders(query, setRows, leaving.current.signal).then(() => announce(t('orders.exported'))),
  )
  return html`<div class="row">
      ${page.length > 0 && html`<${ChoosePage} of=${chosen} page=${page} />`}
      <${Button} isBusy=${save.isBusy} onClick=${() => save.run()}>${t('orders.export')}<//>
      ${save.isBusy && html`<span role="status">${t('orders.exporting', { count: number(rows) })}</span>`}</div>
    <${ErrorText} error=${save.error} />`
}

/** Lists the statuses in which the merchant may confirm or cancel an order. */
const movable = { confirm: ['key_1'], cancel: ['key_1', 'key_2'] }
const moved = { confirm: { key: 'key_2' }, cancel: { key: 'key_3' } }

/** Shows the labels of the chosen orders, and the buttons that confirm or cancel all of them or none. */
const Actions = ({ chosen, onMoved }) => {
  const post = usePost()
  const [refused, setRefused] = useState(/** @type {{ id: string, reason: string }[]} */ ([]))
  const waybills = chosen.rows.map(row => row.waybill_number)
  const count = { count: number(chosen.size) }
  const move = async (/** @type {'confirm' | 'cancel'} */ verb) => {
    setRefused([])
    const error = await post(`/order/${verb}`, { waybill_numbers: waybills }).then(
      () => undefined,
      caught => caught,
    )
    const found = listRefusals(error, waybills)
    setRefused(found)
    if (error && found.length === 0) throw error
    if (error) return
    chosen.choose(
      chosen.rows.map(row => ({ ...row, status: { ...row.status, ...moved[verb] } })),
      true,
    )
    onMoved()
  }
  const button = (/** @type {'confirm' | 'cancel'} */ verb, question = '') =>
    chosen.rows.some(row => movable[verb].includes(row.status.key)) &&
    html`<${Act} question=${question} run=${() => move(verb)}>${t(`orders.${verb}`, count)}<//>`
  const drop = (/** @type {string[]} */ dropped) => {
    chosen.choose(
      dropped.map(waybill_number => ({ waybill_number })),
      false,
    )
    setRefused([])
  }
  return html`<div class="row">
      ${
        may('printLabels') &&
        html`<${Act} kind="primary" run=${() => saveLabels(waybills)}>${t('orders.labels', count)}<//>`
      }
      ${button('confirm')}${button('cancel', t('orders.cancel_sure', count))}
      ${
        may('requestPickup') &&
        chosen.rows.some(row => row.status.key === 'key_2') &&
        html`<a class="button" href=${withQuery('#/pickups', { waybills: waybills.join() })}>${t('pickup.ask')}</a>`
      }</div>
    <${Refused} title=${t('orders.refused', { count: number(refused.length) })} of=${refused} onDrop=${drop} />`
}

export const Orders = ({ query }) => {
  const statuses = useLive(signal => callOrders('/order/status-list', { signal }))
  const list = usePages('/order', { ...query, per_page: 50 }, 30)
  const chosen = useSelection()
  return html`<h1 tabindex="-1">${t('menu.orders')}</h1>
    <${Filters} screen="orders" query=${query} first=${search()} fields=${fields(statuses.data?.data ?? [])} />
    <${Live} of=${list} lines=${8}>${({ data, meta }) => html`
      <${ListActions} query=${query} chosen=${chosen} page=${data} />
      <${Table} caption=${t('menu.orders')} columns=${[choiceColumn(chosen), ...columns()]} rows=${data}
        id="waybill_number" empty=${t('orders.empty')} />
      ${
        meta.searched_to &&
        html`<p class="notice">
        ${t('orders.searched_to', { time: dateTime(meta.searched_to) })}</p>`
      }
      <${Pages} of=${list} />`}<//>
    <${Chosen} of=${chosen} page=${list.data?.data ?? []}><${Actions} chosen=${chosen} onMoved=${list.reload} /><//>`
}
