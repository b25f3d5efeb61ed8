import { Act, saveFile } from '../../kit/actions.js'
import { callOrders, withQuery } from '../../kit/api.js'
import { companyDay, t } from '../../kit/i18n.js'
import { Filters, Rows, usePages } from '../../kit/lists.js'
import { html } from '../../kit/preact.js'
import { column, Panel, Time, Two } from '../../kit/ui.js'

// Names the nouns of actions that accountants look for, as the audit has them.
const nouns = [
  ...['bank_account', 'bank_entry', 'cash', 'correction', 'invoice', 'order', 'parcel', 'payout', 'person', 'staff'],
  ...['tenant', 'token'],
]
const date = { type: 'date', min: '2000-01-01', max: '2999-12-31' }
const fields = () => [
  { name: 'from', label: t('statement.from'), ...date },
  { name: 'to', label: t('statement.to'), ...date },
  { name: 'noun', label: t('audit.action'), options: nouns.map(id => ({ id, label: id })) },
  { name: 'person', label: t('audit.person') },
  { name: 'waybill_number', label: t('find.waybill') },
]

const columns = () => [
  column(t('audit.at'), row => html`<${Time} at=${row.at} />`),
  column(t('audit.person'), row => html`<${Two} first=${row.actor} second=${row.actor_kind} />`),
  column(t('audit.action'), row => html`<${Two} first=${row.action} second=${row.object_id} />`),
  column(
    t('audit.details'),
    row =>
      row.details &&
      html`<ul class="plain">${row.details.map(
        (/** @type {string} */ each) => html`<li key=${each}>${each}</li>`,
      )}</ul>`,
  ),
]

/** Shows who did what, by default today. */
export const Audit = ({ query }) => {
  const today = companyDay(Date.now())
  const wanted = { ...query, from: query.from ?? today, to: query.to ?? today }
  const list = usePages('/audit', wanted)
  const save = async () =>
    saveFile(
      await callOrders(withQuery('/audit', { ...wanted, format: 'csv' }), { as: 'blob' }),
      `audit-${wanted.from}-${wanted.to}.csv`,
    )
  const rows = list.data && { ...list, data: { ...list.data, data: list.data.data.map((row, id) => ({ ...row, id })) } }
  return html`<div class="row"><h1 tabindex="-1">${t('menu.audit')}</h1><${Act} run=${save}>CSV<//></div>
    <${Filters} screen="audit" query=${wanted} fields=${fields()} />
    <${Panel} title=${t('menu.audit')}>
      <${Rows} of=${rows ?? list} caption=${t('menu.audit')} columns=${columns()} empty=${t('empty')} /><//>`
}
