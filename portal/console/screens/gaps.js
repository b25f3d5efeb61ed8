import { callOrders, withQuery } from '../../kit/api.js'
import { number, t } from '../../kit/i18n.js'
import { Rows } from '../../kit/lists.js'
import { html, useState } from '../../kit/preact.js'
import { column, Field, Panel, Time, Two, useLive } from '../../kit/ui.js'

const periods = [7, 30, 90]

const showPlace = ({ name, state }) => html`<${Two} first=${name} second=${state} />`

const columns = () => [
  column(t('field.origin'), row => showPlace(row.origin)),
  column(t('field.destination'), row => showPlace(row.destination)),
  column(t('gaps.asked'), row => number(row.asked_for), 'number'),
  column(t('gaps.orders'), row => number(row.orders), 'number'),
  column(
    t('menu.merchants'),
    row => html`<ul class="plain">
      ${row.merchants.map(
        ({ id, name, rate_card }) => html`<li key=${id}>${name} <span class="soft">
        ${rate_card}</span></li>`,
      )}
      ${row.more_merchants > 0 && html`<li class="soft">${t('gaps.more', { count: number(row.more_merchants) })}</li>`}
      </ul>`,
  ),
  column(t('gaps.last'), row => html`<${Time} at=${row.last_at} />`),
]

const readGaps = async (days, signal) => {
  const { data } = await callOrders(withQuery('/rate-gaps', { days, limit: 100 }), { signal })
  return { data: data.map(row => ({ ...row, id: `${row.origin.id} ${row.destination.id}` })) }
}

/** Shows the routes between two cities that merchants asked for although their rate cards have no rate for them. */
export const Gaps = () => {
  const [days, setDays] = useState('30')
  const gaps = useLive(signal => readGaps(days, signal), 0, [days])
  return html`<h1 tabindex="-1">${t('menu.gaps')}</h1>
    <p class="notice">${t('gaps.hint')}</p>
    <${Panel} title=${t('gaps.wanted')}>
      <${Field} id="gap-days" label=${t('gaps.period')} value=${days} onChange=${event => setDays(event.target.value)}>
        ${periods.map(
          count => html`<option key=${count} value=${count}>
          ${t('gaps.days', { count: number(count) })}</option>`,
        )}
      <//>
      <${Rows} of=${gaps} caption=${t('gaps.wanted')} columns=${columns()} empty=${t('gaps.empty')} />
    <//>`
}
