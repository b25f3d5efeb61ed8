import { orders, withQuery } from '../../kit/api.js'
import { Decide, failureColumns } from '../../kit/failures.js'
import { t } from '../../kit/i18n.js'
import { Filters, Pages, usePages } from '../../kit/lists.js'
import { html, useState } from '../../kit/preact.js'
import { may } from '../../kit/session.js'
import { Button, ErrorText, Live, Panel, saveFile, Table, useAction } from '../../kit/ui.js'

/** Prints the sheet of the parcels that are to be delivered again today. */
const RunSheet = () => {
  const print = useAction(async () => {
    const reattempts_by = new Intl.DateTimeFormat('sv-SE').format()
    const body = { reattempts_by, title: `${t('failures.run_sheet')} ${reattempts_by}` }
    saveFile(await orders('/api/staff/order/run-sheet', { method: 'POST', body, as: 'blob' }), 'run-sheet.pdf')
  })
  return html`<${Button} isBusy=${print.isBusy} onClick=${() => print.run()}>${t('failures.run_sheet')}<//>
    <${ErrorText} error=${print.error} />`
}

/** Parcels whose delivery failed, those that wait longest first. */
export const Failures = ({ query }) => {
  const [open, setOpen] = useState('')
  const read = (cursor, signal) =>
    orders(withQuery('/api/staff/order/failed-deliveries', { ...query, cursor }), { signal })
  const list = usePages(read, [query], 30)
  const close = () => {
    setOpen('')
    list.reload()
  }
  const states = [
    { id: 'false', label: t('failures.waiting') },
    { id: 'true', label: t('failures.given') },
  ]
  return html`<div class="row"><h1 tabindex="-1">${t('menu.failures')}</h1>${may('printRunSheet') && html`<${RunSheet} />`}</div>
    <p class="notice">${t('failures.hint')}</p>
    <${Filters} screen="failures" query=${query} fields=${[{ name: 'instructed', label: t('failures.instruction'), options: states }]} />
    ${open && html`<${Panel} title=${`${t('failures.decide')}: ${open}`}><${Decide} key=${open} path=${`/api/staff/order/${encodeURIComponent(open)}`} onDone=${close} /><//>`}
    <${Live} of=${list} lines=${6}>${({ data, next_cursor: next }) => html`
      <${Table} caption=${t('menu.failures')} columns=${failureColumns(may('instructAnyOrder') ? setOpen : undefined)} rows=${data.map(row => ({ ...row, id: row.waybill_number }))} empty=${t('failures.empty')} />
      <${Pages} of=${list} next=${next} />`}<//>`
}
