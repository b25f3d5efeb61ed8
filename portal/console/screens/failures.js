import { Act, saveFile } from '../../kit/actions.js'
import { callOrders } from '../../kit/api.js'
import { Failures as List } from '../../kit/failures.js'
import { companyDay, t } from '../../kit/i18n.js'
import { Filters } from '../../kit/lists.js'
import { html } from '../../kit/preact.js'
import { may } from '../../kit/session.js'

/** Saves the run sheet of the parcels that the courier is to deliver again today, by the company's clock. */
const printRunSheet = async () => {
  const reattempts_by = companyDay(Date.now())
  const body = { reattempts_by, title: `${t('failures.run_sheet')} ${reattempts_by}` }
  saveFile(await callOrders('/order/run-sheet', { method: 'POST', body, as: 'blob' }), 'run-sheet.pdf')
}

export const Failures = ({ query }) => {
  const options = [
    { id: 'false', label: t('failures.waiting') },
    { id: 'true', label: t('failures.given') },
  ]
  const fields = [{ name: 'instructed', label: t('failures.instruction'), options }]
  return html`<${List} query=${query} mayDecide=${may('instructAnyOrder')}
    actions=${may('printRunSheet') && html`<${Act} run=${printRunSheet}>${t('failures.run_sheet')}<//>`}
    filters=${html`<${Filters} screen="failures" query=${query} fields=${fields} />`} />`
}
