import { orders, withQuery } from '../api.js'
import { number, t } from '../i18n.js'
import { Pages, usePages } from '../lists.js'
import { html, useState } from '../preact.js'
import { Badge, Field, Live, Panel, Table } from '../ui.js'

const columns = () => [
  {
    name: 'name',
    label: t('merchant'),
    show: row =>
      html`<span><a href=${`#/orders?merchant_id=${row.id}`}>${row.name}</a><br /><span class="soft">${row.email}</span></span>`,
  },
  {
    name: 'businesses',
    label: t('merchants.businesses'),
    show: row => row.businesses.map(({ name }) => name).join(', '),
  },
  {
    name: 'rate_card',
    label: t('merchants.rate_card'),
    show: row => row.rate_card ?? html`<${Badge} kind="bad">${t('merchants.no_card')}<//>`,
  },
  {
    name: 'state',
    label: t('merchants.state'),
    show: row =>
      html`<${Badge} kind=${row.is_active ? 'good' : 'neutral'}>${t(row.is_active ? 'merchants.active' : 'merchants.inactive')}<//>`,
  },
  {
    name: 'recent_orders',
    label: t('merchants.orders'),
    align: 'number',
    show: row => `${number(row.recent_orders)}${row.recent_orders === 10_000 ? '+' : ''}`,
  },
]

/** The merchants of the company. */
export const Merchants = () => {
  const [name, setName] = useState('')
  const list = usePages(
    (cursor, signal) => orders(withQuery('/api/staff/merchant', { name: name.trim(), cursor }), { signal }),
    [name],
  )
  return html`<h1 tabindex="-1">${t('menu.merchants')}</h1>
    <${Panel} title=${t('merchants.title')} aside=${html`<a href="#/gaps">${t('menu.gaps')}</a>`}>
      <${Field} id="merchant-name" label=${t('merchants.filter')} value=${name} autocomplete="off" maxlength="255"
        onInput=${event => setName(event.target.value)} />
      <${Live} of=${list} lines=${6}>${({ data, next_cursor }) => html`
        <${Table} caption=${t('menu.merchants')} columns=${columns()} rows=${data} empty=${t('merchants.empty')} />
        <${Pages} of=${list} next=${next_cursor} />`}<//>
    <//>`
}
