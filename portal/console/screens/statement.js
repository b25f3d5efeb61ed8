// Shows the statement of a merchant's account.
import { Act, saveFile } from '../../kit/actions.js'
import { callOrders, withQuery } from '../../kit/api.js'
import { companyDay, companyMoney, named, t } from '../../kit/i18n.js'
import { Pages, usePages } from '../../kit/lists.js'
import { html, useState } from '../../kit/preact.js'
import { column, Facts, Field, Live, Panel, ParcelLink, Table, Two } from '../../kit/ui.js'

const columns = () => [
  column(t('money.line'), row => html`<${Two} first=${named('money', row.kind)} second=${row.booked_on} />`),
  column(t('parcel'), row => row.waybill_number && html`<${ParcelLink} waybill=${row.waybill_number} />`),
  column(
    t('statement.document'),
    row => row.document && html`<a href=${`#/invoices/${encodeURIComponent(row.document)}`}>${row.document}</a>`,
  ),
  column(t('statement.amount'), row => companyMoney(row.amount), 'number'),
  column(t('money.balance'), row => companyMoney(row.balance), 'number'),
]

/** Shows the opening balance, lines and closing balance of a merchant's account; at first, those of this month. */
export const Statement = ({ id }) => {
  const today = companyDay(Date.now())
  const [days, setDays] = useState({ from: `${today.slice(0, 7)}-01`, to: today })
  const path = `/merchant/${encodeURIComponent(id)}/account`
  const page = usePages(path, days)
  const save = async () => {
    const file = await callOrders(withQuery(path, { ...days, format: 'csv' }), { as: 'blob' })
    saveFile(file, `account-${id}-${days.from}-${days.to}.csv`)
  }
  const field = name => html`<${Field} key=${name} id=${`statement-${name}`} label=${t(`statement.${name}`)} type="date"
    value=${days[name]} onChange=${({ target }) => target.value && setDays({ ...days, [name]: target.value })} />`
  return html`<${Panel} title=${t('statement')} aside=${html`<${Act} run=${save}>CSV<//>`}>
    <div class="fields">${['from', 'to'].map(field)}</div>
    <${Live} of=${page} lines=${6}>${({ data: { opening, lines, closing } }) => html`
      <${Facts} of=${{
        [t('statement.opening')]: companyMoney(opening),
        [t('statement.closing')]: companyMoney(closing),
      }} />
      <${Table} caption=${t('statement')} columns=${columns()} empty=${t('empty')}
        rows=${lines.map((line, index) => ({ ...line, id: index }))} />
      <${Pages} of=${page} />`}<//>
  <//>`
}
