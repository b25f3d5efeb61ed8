import { Button, ErrorText, useAction } from '../../kit/actions.js'
import { ApiError } from '../../kit/api.js'
import { number, t } from '../../kit/i18n.js'
import { html, useState } from '../../kit/preact.js'
import { Field, Live, Panel, useLive } from '../../kit/ui.js'
import { decodeText, parseSheet } from '../read-sheet.js'
import { readUpload } from './stored-upload.js'

/** @typedef {import('./columns.js').Sheet} Sheet */

const maxRows = 10_000
const emptySheet = /** @type {Sheet} */ ({ rows: [] })

/** Reads the rows of a chosen file; loads the reader of workbooks only for a workbook. @param {File} file */
const readFile = async file => {
  if (!/\.xls\w?$/i.test(file.name)) return parseSheet(decodeText(await file.arrayBuffer()))
  const { readWorkbook, SheetError } = await import('./read-xlsx.js')
  return readWorkbook(file, maxRows + 2).catch(error => {
    throw error instanceof SheetError ? new ApiError(t(`upload.${error.message}`)) : error
  })
}

const Paste = ({ onSheet }) => {
  const [text, setText] = useState('')
  const [sheet, setSheet] = useState(emptySheet)
  const enter = (/** @type {string} */ entered, /** @type {Sheet} */ read) => {
    setText(entered)
    setSheet(read)
  }
  const read = useAction(async (/** @type {File | undefined} */ file) => {
    enter('', emptySheet)
    if (file) setSheet(await readFile(file))
  })
  const count = sheet.rows.length
  const missing = count === 0 ? t('upload.need_rows') : count > maxRows + 1 ? t('upload.too_large') : ''
  const type = (/** @type {string} */ entered) => enter(entered, parseSheet(entered))
  return html`<${Panel} title=${t('upload.paste')}>
    <p class="soft">${t('upload.hint', { max: number(maxRows) })}</p>
    <${Field} id="file" label=${t('upload.file')} type="file" accept=".xlsx,.xlsm,.csv,.tsv,.txt,text/csv"
      onChange=${event => read.run(event.target.files[0])} />
    <${ErrorText} error=${read.error} />
    <label class="field" for="rows"><span>${t('upload.rows')}</span>
      <textarea id="rows" rows="8" value=${text} onInput=${event => type(event.target.value)}></textarea></label>
    <div class="row"><${Button} kind="primary" missing=${missing} isBusy=${read.isBusy} onClick=${() => onSheet(sheet)}>
      ${t('upload.read', { count: number(count) })}<//></div>
  <//>`
}

/** Loads the steps that follow the choice of a sheet, which the page of the sign-in does without. */
const loadSteps = async () => {
  const files = Promise.all([import('./name-columns.js'), import('./review.js'), import('./result.js')])
  const [{ Columns }, { Checked }, { Booking }] = await files.catch(() => {
    throw new ApiError(t('error.unreachable'))
  })
  return { Columns, Booking, Checked }
}

/** Leads from a sheet to waybills in four steps: paste, columns, check, book. */
export const Upload = () => {
  const begun = useLive(() => readUpload().then(upload => ({ upload })))
  const steps = useLive(loadSteps)
  const [sheet, setSheet] = useState(/** @type {Sheet | undefined} */ (undefined))
  const [checked, setChecked] = useState(/** @type {any} */ (undefined))
  const [booking, setBooking] = useState(/** @type {any} */ (undefined))
  const end = () => {
    setSheet(undefined)
    setChecked(undefined)
    setBooking(undefined)
    begun.reload()
  }
  const current = booking ?? begun.data
  const step = ({ Columns, Booking, Checked }) => {
    if (current?.upload) return html`<${Booking} key=${current.upload.id} ...${current} onEnd=${end} />`
    if (checked) return html`<${Checked} ...${checked} onBook=${upload => setBooking({ upload })} />`
    return html`<${Columns} sheet=${sheet} onDone=${(rows, general) => setChecked({ rows, general })} />`
  }
  const isFirst = !sheet && !checked && !current?.upload
  return html`<h1 tabindex="-1">${t('menu.upload')}</h1>
    <${Live} of=${begun}>${() => html`<div class="stack">
      ${isFirst ? html`<${Paste} onSheet=${setSheet} />` : html`<${Live} of=${steps}>${step}<//>`}
      ${
        (sheet || checked) &&
        !current?.upload &&
        html`<div class="row"><${Button} onClick=${end}>
        ${t('upload.restart')}<//></div>`
      }</div>`}<//>`
}
