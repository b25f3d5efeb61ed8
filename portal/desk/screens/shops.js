// Connects shops, and shows the orders that they sent.
import { Act, announced, Button } from '../../kit/actions.js'
import { callOrders } from '../../kit/api.js'
import { FoldedForm, Form, findCities } from '../../kit/form.js'
import { named, number, t } from '../../kit/i18n.js'
import { Rows } from '../../kit/lists.js'
import { html, useState } from '../../kit/preact.js'
import { may } from '../../kit/session.js'
import { Badge, column, Field, Live, Panel, ParcelLink, Secret, Table, Time, useLive } from '../../kit/ui.js'
import { readBusinesses } from '../merchant.js'
import { Checked } from '../upload/review.js'

/** @import { Row } from '../upload/check-rows.js' */

const kinds = { woocommerce: 'WooCommerce', shopify: 'Shopify' }
const autoBook = () => ['key_1', 'key_2'].map(id => ({ id, label: t(`shops.auto_${id}`) }))

/** Returns the fields of a shop's form. @param {{ id: string, label: string }[]} businesses */
const shopFields = businesses => [
  { name: 'name', label: t('name'), maxlength: 100, required: true },
  { name: 'merchant_business_id', label: t('upload.business'), options: businesses },
  { name: 'origin_city_id', label: t('upload.origin'), find: findCities, required: true },
  { name: 'weight', label: t('shops.weight'), inputmode: 'decimal', hint: t('shops.weight_hint') },
  { name: 'auto_book', label: t('shops.auto'), options: autoBook(), none: t('shops.auto_none') },
]

/** Writes the body of a shop from what a person entered. @param {Record<string, string>} entered */
const toBody = ({ merchant_business_id: business, origin_city_id: origin, weight, auto_book, ...rest }) => ({
  ...rest,
  ...(business && { merchant_business_id: Number(business) }),
  ...(origin && { origin_city_id: Number(origin) }),
  ...(weight !== undefined && { weight: weight === '' ? null : Number(weight) }),
  ...(auto_book !== undefined && { auto_book: auto_book || null }),
})

const State = ({ of: { received_at: received, refused_at: refused, pinged_at: pinged } }) => {
  if (refused && !(received > refused)) return html`<${Badge} kind="bad">${t('shops.refused')}<//>`
  if (received) return html`<${Badge} kind="good">${t('shops.works')}<//> <${Time} at=${received} />`
  if (pinged) return html`<${Badge} kind="good">${t('shops.pinged')}<//>`
  return html`<${Badge} kind="warn">${t('shops.nothing')}<//>`
}

/** Shows what the shops changed since their orders were booked. */
const Changed = ({ list }) => {
  const settle = (/** @type {any} */ row) =>
    callOrders('/shop-order/settle', { method: 'POST', body: { orders: [refer(row)], as: 'seen' } }).then(list.reload)
  const apply = async (/** @type {any} */ row) => {
    const changes = row.differences.filter(({ field, now }) => editable.includes(field) && now !== null)
    const body = Object.fromEntries(changes.map(({ field, now }) => [field, now]))
    await announced(callOrders(`/order/${encodeURIComponent(row.waybill_number)}`, { method: 'PATCH', body }))
    if (changes.length === row.differences.length) await settle(row)
    list.reload()
  }
  const columns = [
    column(t('parcel'), row => html`<${ParcelLink} waybill=${row.waybill_number} />`),
    column(
      t('shops.says'),
      row => html`<div>${row.stays && html`<p class="wrong">${named('shops.stays', row.stays)}</p>`}
        ${row.differences.map(
          ({ field, booked, now }) =>
            html`<p key=${field}>${named('field', field)}: ${booked ?? '–'} → <strong>${now ?? '–'}</strong></p>`,
        )}</div>`,
    ),
    column(
      '',
      row => html`<div class="row">
        ${
          may('editOrder') &&
          row.differences.some(({ field }) => editable.includes(field)) &&
          html`<${Act} kind="primary" run=${() => apply(row)}>${t('shops.apply')}<//>`
        }
        <${Act} run=${() => settle(row)}>${t('shops.seen')}<//></div>`,
    ),
  ]
  return html`<${Live} of=${list} lines=${1}>${({ data }) =>
    data.length > 0 &&
    html`<${Panel} title=${t('shops.changed')}>
      <${Table} id="shop_order_id" caption=${t('shops.changed')} columns=${columns} rows=${data} /><//>`}<//>`
}
const editable = ['customer_name', 'customer_phone', 'customer_address', 'description', 'cod', 'weight']
const refer = (/** @type {any} */ { shop_id, shop_order_id }) => ({ shop_id, shop_order_id })

const List = () => {
  const list = useLive(signal => callOrders('/shop', { signal }), 10)
  const changed = useLive(signal => callOrders('/shop-order?state=changed', { signal }), 30)
  const businesses = useLive(readBusinesses)
  const add = async (/** @type {Record<string, string>} */ entered) => {
    const start = { kind: 'woocommerce', merchant_business_id: businesses.data?.[0]?.id }
    const body = toBody({ ...start, ...entered })
    const { data } = await announced(callOrders('/shop', { method: 'POST', body }))
    location.hash = `#/shops/${data.id}`
  }
  const columns = [
    column(t('name'), row => html`<a href=${`#/shops/${row.id}`}>${row.name}</a>`),
    column(t('shops.kind'), row => kinds[row.kind]),
    column(t('status'), row => html`<div><${State} of=${row} /></div>`),
    column(t('shops.waiting'), row => number(row.waiting), 'number'),
  ]
  const kindOf = Object.entries(kinds).map(([id, label]) => ({ id, label }))
  return html`<h1 tabindex="-1">${t('menu.shops')}</h1><p class="soft">${t('shops.about')}</p>
    <${Changed} list=${changed} />
    <${Panel} title=${t('menu.shops')}><${Rows} of=${list} lines=${2} caption=${t('menu.shops')} columns=${columns}
      empty=${t('shops.empty')} /><//>
    ${
      may('addShop') &&
      html`<${Live} of=${businesses}>${options => html`<${Panel} title=${t('shops.add')}>
      <${Form} id="shop" submit=${t('shops.add')} send=${add}
        start=${{ kind: 'woocommerce', merchant_business_id: options[0]?.id }}
        fields=${[{ name: 'kind', label: t('shops.kind'), options: kindOf }, ...shopFields(options)]} /><//>`}<//>`
    }`
}

/** Says step by step what to do in the shop; turns green once the shop tried the address. */
const Steps = ({ shop, path, onDone }) => {
  const [secret, setSecret] = useState('')
  const make = async (/** @type {object} */ body) => {
    setSecret((await callOrders(`${path}/secret`, { method: 'POST', body })).data.secret ?? '')
    onDone()
  }
  const steps =
    shop.kind === 'woocommerce' ? ['open', 'topic', 'url', 'secret', 'save'] : ['open', 'url', 'secret', 'save']
  const act = (/** @type {string} */ step) => {
    if (step === 'url')
      return html`<${Field} id="shop-url" label=${t('webhooks.url')} value=${shop.url} readonly
        onFocus=${event => event.target.select()} />`
    if (step !== 'secret') return null
    if (shop.kind === 'shopify')
      return html`<${Form} id="shop-secret" submit=${t('parcel.save')} send=${make}
        fields=${[{ name: 'secret', label: t('shops.secret'), required: true, minlength: 8, maxlength: 255 }]} />`
    return secret
      ? html`<${Secret} label=${t('shops.secret')} value=${secret} />`
      : html`<div class="row"><${Act} question=${shop.has_secret ? t('shops.secret_sure') : ''} run=${() => make({})}>
          ${t('shops.make_secret')}<//></div>`
  }
  return html`<${Panel} title=${kinds[shop.kind]}>
    <ol class="stack">${steps.map(
      step => html`<li key=${step}><p>${t(`shops.${shop.kind}_${step}`)}</p>${act(step)}</li>`,
    )}</ol><//>`
}

/** Shows the form of the keys with which tracking numbers and statuses go back, and what the shop said to them. */
const WriteBack = ({ shop, path, onDone }) => {
  const sent = useLive(signal => callOrders(`${path}/sent`, { signal }), 15)
  const statuses = useLive(async signal => (await callOrders('/order/status-list', { signal })).data)
  const isWoo = shop.kind === 'woocommerce'
  const send = async (/** @type {Record<string, string>} */ { address, key, secret, ...chosen }) => {
    const given = Object.entries(chosen).filter(([, status]) => status)
    const body = { address, key, ...(isWoo && { secret }), statuses: Object.fromEntries(given) }
    await announced(callOrders(`${path}/keys`, { method: 'PUT', body }))
    onDone()
  }
  const forget = () => announced(callOrders(`${path}/keys`, { method: 'DELETE' })).then(onDone)
  const text = (/** @type {string} */ name, more = {}) => ({
    name,
    label: t(`shops.${name}`),
    required: true,
    maxlength: 255,
    ...more,
  })
  const choices = (isWoo ? ['processing', 'on-hold', 'completed', 'cancelled', 'refunded'] : ['fulfilled']).map(id => ({
    id,
    label: id,
  }))
  const fields = (/** @type {any[]} */ list) => [
    text('address', { type: 'url', placeholder: 'https://shop.example' }),
    text('key', { label: t(isWoo ? 'shops.key' : 'shops.token'), autocomplete: 'off' }),
    ...(isWoo ? [text('secret', { label: t('shops.key_secret'), autocomplete: 'off' })] : []),
    ...list.map(({ key, name }) => ({ name: key, label: name, options: choices, none: t('shops.no_status') })),
  ]
  const columns = [
    column(t('parcel'), row => html`<${ParcelLink} waybill=${row.waybill_number} />`),
    column(
      t('status'),
      row => html`<div>${named('messages', row.state === 'pending' ? 'queued' : row.state)}
      ${row.error && html`<p class="wrong">${row.error}</p>`}</div>`,
    ),
    column(t('webhooks.last'), row => row.last_attempt_at && html`<${Time} at=${row.last_attempt_at} />`),
  ]
  return html`<${Panel} title=${t('shops.back')}><p class="soft">${t('shops.back_about')}</p>
    ${
      shop.writes_back &&
      html`<${Rows} of=${sent} id="waybill_number" lines=${1} caption=${t('shops.back')} columns=${columns}
        empty=${t('shops.none_sent')} />
      <div class="row"><${Act} question=${t('sure')} run=${forget}>${t('shops.forget')}<//></div>`
    }
    <${Live} of=${statuses} lines=${1}>${list => html`<${FoldedForm} id="shop-keys" title=${t('shops.give_keys')}
      fields=${fields(list)} send=${send} />`}<//><//>`
}

/** Turns an order of the shop into a row of the grid. */
const toRow = (/** @type {any} */ order, /** @type {number} */ index) => ({
  line: index + 1,
  values: { ...order.values },
  weightUnit: 'kg',
  marks: [...order.marks],
  errors: {},
  warnings: [],
  shop: { ...refer(order), seen_at: order.received_at },
})

/** Shows the shop's orders that wait in the grid of the sheets, and books them like those. */
const Waiting = ({ shop }) => {
  const [rows, setRows] = useState(/** @type {Row[] | undefined} */ (undefined))
  const general = {
    merchant_business_id: String(shop.merchant_business_id),
    origin_city_id: String(shop.origin_city_id),
    weight: shop.weight === null ? '' : String(shop.weight),
  }
  const read = async () => {
    const { data } = await callOrders('/shop-order')
    setRows(data.filter(order => order.shop_id === shop.id).map(toRow))
  }
  const putAway = async () => {
    const orders = (rows ?? []).flatMap(row => (row.leftOut && row.shop ? refer(row.shop) : []))
    await announced(callOrders('/shop-order/settle', { method: 'POST', body: { orders, as: 'put_away' } }))
    await read()
  }
  const book = () => {
    location.hash = '#/upload'
  }
  const left = (rows ?? []).filter(row => row.leftOut).length
  if (!rows)
    return html`<${Panel} title=${t('shops.waiting')}><p>${t('shops.count', { count: number(shop.waiting) })}</p>
      ${shop.waiting > 0 && html`<div class="row"><${Act} kind="primary" run=${read}>${t('shops.look')}<//></div>`}<//>`
  return html`<div class="stack">
    <div class="row"><${Button} onClick=${() => setRows(undefined)}>${t('parcel.close')}<//>
      ${left > 0 && html`<${Act} run=${putAway}>${t('shops.put_away', { count: number(left) })}<//>`}</div>
    <${Checked} key=${rows.length} rows=${rows} general=${general} onBook=${book} /></div>`
}

/** Shows what the shop sent, delivery by delivery. */
const Received = ({ path }) => {
  const list = useLive(signal => callOrders(`${path}/deliveries`, { signal }), 15)
  const columns = [
    column(t('shops.order'), row => row.shop_order_id ?? '–'),
    column(t('webhooks.event'), row => row.topic),
    column(t('status'), row => named('shops.outcome', row.outcome)),
    column(t('shops.at'), row => html`<${Time} at=${row.received_at} />`),
  ]
  return html`<details><summary>${t('shops.received')}</summary>
    <${Rows} of=${list} id="received_at" lines=${2} caption=${t('shops.received')} columns=${columns}
      empty=${t('shops.none_staying')} /></details>`
}

/** Shows the shop's orders that are no parcel now, and why. A person may take one back among those that wait. */
const Staying = ({ shop, onDone }) => {
  const read = async (/** @type {AbortSignal} */ signal) => {
    const lists = ['stays', 'put_away'].map(state => callOrders(`/shop-order?state=${state}`, { signal }))
    const all = (await Promise.all(lists)).flatMap(({ data }) => data)
    return { data: all.filter(order => order.shop_id === shop.id) }
  }
  const list = useLive(read, 15, [shop.id])
  const takeBack = async (/** @type {any} */ row) => {
    const body = { orders: [refer(row)], as: 'waiting' }
    await announced(callOrders('/shop-order/settle', { method: 'POST', body }))
    list.reload()
    onDone()
  }
  const columns = [
    column(t('shops.order'), row => row.values.order_no ?? row.shop_order_id),
    column(t('field.customer_name'), row => row.values.customer_name ?? '–'),
    column(t('shops.why'), row => named('shops.stays', row.stays ?? 'put_away')),
    column('', row => html`<${Act} run=${() => takeBack(row)}>${t('shops.take_back')}<//>`),
  ]
  return html`<details><summary>${t('shops.staying')}</summary>
    <${Rows} of=${list} id="shop_order_id" lines=${2} caption=${t('shops.staying')} columns=${columns}
      empty=${t('shops.none_staying')} /></details>`
}

const Shop = ({ id }) => {
  const path = `/shop/${encodeURIComponent(id)}`
  const list = useLive(signal => callOrders('/shop', { signal }), 5)
  const businesses = useLive(readBusinesses)
  const change = async (/** @type {Record<string, string>} */ entered) => {
    await announced(callOrders(path, { method: 'PATCH', body: toBody(entered) }))
    list.reload()
  }
  const remove = async () => {
    await announced(callOrders(path, { method: 'DELETE' }))
    location.hash = '#/shops'
  }
  return html`<p><a href="#/shops">${t('menu.shops')}</a></p>
    <${Live} of=${list}>${({ data }) => {
      const shop = data.find(row => row.id === id)
      if (!shop) return html`<h1 tabindex="-1">${t('menu.shops')}</h1><p class="empty">${t('shops.gone')}</p>`
      const start = Object.fromEntries(
        Object.entries(shop).map(([name, value]) => [name, value === null ? '' : String(value)]),
      )
      return html`<div class="row"><h1 tabindex="-1">${shop.name}</h1>
          <span role="status"><${State} of=${shop} /></span></div>
        <${Waiting} shop=${shop} />
        <${Staying} shop=${shop} onDone=${list.reload} />
        ${may('addShop') && html`<${Received} path=${path} />`}
        ${
          may('addShop') &&
          html`<details open=${!shop.received_at}><summary>${t('shops.connect', { kind: kinds[shop.kind] })}</summary>
            <${Steps} shop=${shop} path=${path} onDone=${list.reload} /></details>
          <${WriteBack} shop=${shop} path=${path} onDone=${list.reload} />
          <${Live} of=${businesses}>${options => html`<${FoldedForm} id="shop" title=${t('shops.change')}
            fields=${shopFields(options)} start=${start} send=${change} />`}<//>
          <div class="row"><${Act} question=${t('shops.remove_sure')} run=${remove}>${t('shops.remove')}<//></div>`
        }`
    }}<//>`
}

export const Shops = ({ params: [id] }) => (id ? html`<${Shop} key=${id} id=${id} />` : html`<${List} />`)
