import { number, t } from '../../kit/i18n.js'
import { Rows, usePages } from '../../kit/lists.js'
import { html, useState } from '../../kit/preact.js'
import { may } from '../../kit/session.js'
import { Badge, column, Field, Panel, Two } from '../../kit/ui.js'
import { MerchantMoney } from './money.js'

const columns = () => [
  column(t('merchant'), ({ id, name, email }) => {
    return html`<${Two} first=${html`<a href=${`#/orders?merchant_id=${id}`}>${name}</a>`} second=${email} />`
  }),
  ...(may('getMerchantBalance')
    ? [column(t('menu.money'), ({ id }) => html`<a href=${`#/merchants/${id}`}>${t('money.balance')}</a>`)]
    : []),
  column(t('merchants.businesses'), row => row.businesses.map(({ name }) => name).join(', ')),
  column(t('merchants.rate_card'), row => row.rate_card ?? html`<${Badge} kind="bad">${t('merchants.no_card')}<//>`),
  column(t('merchants.state'), ({ is_active: isActive }) => {
    const state = isActive ? 'active' : 'inactive'
    return html`<${Badge} kind=${isActive ? 'good' : 'neutral'}>${t(`merchants.${state}`)}<//>`
  }),
  column(t('merchants.orders'), ({ recent_orders: count }) => number(count) + (count === 10_000 ? '+' : ''), 'number'),
]

/** Shows the merchants of the company; with an id, the money of one merchant. */
export const Merchants = ({ params: [id] }) =>
  id && may('getMerchantBalance') ? html`<${MerchantMoney} id=${id} />` : html`<${List} />`

const List = () => {
  const [name, setName] = useState('')
  const list = usePages('/merchant', { name: name.trim() })
  return html`<h1 tabindex="-1">${t('menu.merchants')}</h1>
    <${Panel} title=${t('merchants.title')}
      aside=${may('listRateGaps') && html`<a href="#/gaps">${t('menu.gaps')}</a>`}>
      <${Field} id="merchant-name" label=${t('merchants.filter')} value=${name} autocomplete="off" maxlength="255"
        onInput=${event => setName(event.target.value)} />
      <${Rows} of=${list} caption=${t('menu.merchants')} columns=${columns()} empty=${t('merchants.empty')} />
    <//>`
}
