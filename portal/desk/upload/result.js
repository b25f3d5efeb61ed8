// Books an upload, and shows its result.
import { Act, Button, ErrorText, saveFile, useAction } from '../../kit/actions.js'
import { number, statusName, t } from '../../kit/i18n.js'
import { html, useEffect, useState } from '../../kit/preact.js'
import { may } from '../../kit/session.js'
import { Badge, Live, Panel, useLive } from '../../kit/ui.js'
import { readStatuses, saveLabels } from '../merchant.js'
import { writeCsv } from '../read-sheet.js'
import { book, confirmDrafts } from './book-rows.js'
import { Checked } from './review.js'
import { wordRefusal } from './row-problems.js'
import { countBooked, isDone, isTooOld, listDrafts, listOpen, putAway } from './stored-upload.js'

const saveWaybills = (/** @type {import('./stored-upload.js').Stored} */ { chunks }) => {
  const rows = chunks.flatMap(({ waybills = [], lines, orders }) =>
    waybills.map((waybill, index) => [lines[index], waybill, orders[index].order_no, orders[index].customer_name]),
  )
  saveFile(writeCsv([['line', 'waybill_number', 'order_no', 'customer_name'], ...rows]), 'waybills.csv')
}

/** Says which status the parcels have; drafts are confirmed in one action. */
const Statuses = ({ upload, onChange }) => {
  const statuses = useLive(readStatuses)
  const drafts = listDrafts(upload).length
  const elsewhere = upload.chunks.reduce((sum, { noDrafts = 0 }) => sum + noDrafts, 0)
  const confirmed = countBooked(upload) - drafts - elsewhere
  const confirm = async () => onChange({ ...(await confirmDrafts(upload)) })
  const say = (/** @type {number} */ count, /** @type {string} */ key, kind = '', status = '') =>
    count > 0 &&
    html`<p class=${kind === 'good' ? '' : 'notice'}>
      ${status && html`<${Badge} kind=${kind}>${statusName(status)}<//> `}
      ${t(`upload.${key}`, { count: number(count) })}</p>`
  return html`<${Live} of=${statuses} lines=${1}>${names => html`${say(confirmed, 'confirmed', 'good', names.confirmed)}
    ${say(elsewhere, 'no_drafts')}${say(drafts, 'drafts', 'warn', names.draft)}
    ${
      drafts > 0 &&
      names.mayConfirm &&
      html`<div class="row"><${Act} kind="primary" run=${confirm}>
      ${t('upload.confirm', { count: number(drafts) })}<//></div>`
    }`}<//>`
}

const sayRefused = ({ errors }) => html`<p class="error">${t('upload.refused')} ${wordRefusal(errors)}</p>`

/** Books an upload, sums it up, and shows the rows that are not booked yet. */
export const Booking = ({ upload: begun, onEnd }) => {
  const [upload, setUpload] = useState(begun)
  const { chunks } = upload
  const total = chunks.reduce((sum, { orders, errors }) => sum + (errors ? 0 : orders.length), 0)
  const run = useAction(async () => setUpload({ ...(await book(upload, setUpload)) }))
  const isOld = isTooOld(upload)
  useEffect(() => void (!isOld && !isDone(upload) && run.run()), [chunks.length])
  const waybills = chunks.flatMap(part => part.waybills ?? [])
  const refused = chunks.filter(part => part.errors)
  const isEnded = isDone(upload) || isOld
  const open = listOpen(upload)
  const sure = open.length > 0 ? t('upload.next_sure', { count: number(open.length) }) : ''
  const end = async () => {
    await putAway()
    onEnd()
  }

  return html`<${Panel} title=${t('upload.booking')}>
    <progress max=${total || 1} value=${waybills.length} aria-label=${t('upload.booking')}></progress>
    <p role="status">
      <strong>${t('upload.booked', { count: number(waybills.length), total: number(total) })}</strong></p>
    ${waybills.length > 0 && html`<p>${waybills[0]} – ${waybills.at(-1)}</p>`}
    ${isDone(upload) && html`<${Statuses} upload=${upload} onChange=${setUpload} />`}
    ${isOld && !isDone(upload) && html`<p class="notice">${t('upload.too_old')}</p>`}
    ${open.length > 0 && refused.map(sayRefused)}
    <${ErrorText} error=${run.error} />
    <div class="row">
      ${run.error && html`<${Button} kind="primary" onClick=${() => run.run()}>${t('upload.continue')}<//>`}
      ${
        waybills.length > 0 &&
        html`<${Button} onClick=${() => saveWaybills(upload)}>${t('upload.waybills')}<//>
        ${may('printLabels') && html`<${Act} run=${() => saveLabels(waybills)}>${t('labels')}<//>`}`
      }
      ${isEnded && html`<${Act} run=${end} question=${sure}>${t('upload.next')}<//>`}
    </div>
  <//>
  ${
    isEnded &&
    open.length > 0 &&
    html`<${Checked} key=${`${chunks.length} ${refused.length}`} rows=${upload.rest}
    general=${upload.general} stored=${upload} onBook=${setUpload} />`
  }`
}
