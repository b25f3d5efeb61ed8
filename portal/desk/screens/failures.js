import { withQuery } from '../../kit/api.js'
import { Decide, failureColumns } from '../../kit/failures.js'
import { t } from '../../kit/i18n.js'
import { Pages, usePages } from '../../kit/lists.js'
import { html, useState } from '../../kit/preact.js'
import { Live, Panel, Table } from '../../kit/ui.js'
import { merchant } from '../merchant.js'

/** The merchant's parcels whose delivery failed, those that wait longest first. */
export const Failures = () => {
  const [open, setOpen] = useState('')
  const list = usePages(
    (cursor, signal) => merchant(withQuery('/order/failed-deliveries', { cursor }), { signal }),
    [],
    30,
  )
  const close = () => {
    setOpen('')
    list.reload()
  }
  const path = `/api/public/merchant/order/${encodeURIComponent(open)}`
  return html`<h1 tabindex="-1">${t('menu.failures')}</h1>
    <p class="notice">${t('failures.until')}</p>
    ${open && html`<${Panel} title=${`${t('failures.decide')}: ${open}`}><${Decide} key=${open} path=${path} onDone=${close} /><//>`}
    <${Live} of=${list} lines=${6}>${({ data, next_cursor: next }) => html`
      <${Table} caption=${t('menu.failures')} columns=${failureColumns(setOpen)} rows=${data.map(row => ({ ...row, id: row.waybill_number }))} empty=${t('failures.empty')} />
      <${Pages} of=${list} next=${next} />`}<//>`
}
