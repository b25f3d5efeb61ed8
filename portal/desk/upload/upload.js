import { Button, ErrorText, useAction } from '../../kit/actions.js'
import { ApiError } from '../../kit/api.js'
import { number, t } from '../../kit/i18n.js'
import { html, useState } from '../../kit/preact.js'
import { Field, Live, Panel, useLive } from '../../kit/ui.js'
import { decodeText, parseSheet } from '../read-sheet.js'
import { Columns } from './name-columns.js'
import { Booking } from './result.js'
import { Checked } from './review.js'
import { readUpload } from './stored-upload.js'

const maxRows = 10_000
const emptySheet = /** @type {import('./columns.js').Sheet} */ ({ rows: [] })

/** Reads the rows of a chosen file; loads the reader of workbooks only for a workbook. @param {File} file */
const readFile = async file => {
  if (!/\.xls\w?$/i.test(file.name)) return parseSheet(decodeText(await file.arrayBuffer()))
  const { readWorkbook, SheetError } = await import('./read-xlsx.js')
  return readWorkbook(file, maxRows + 2).catch(error => {
    throw error instanceof SheetError ? new ApiError(t(`upload.${error.message}`)) : error
  })
}

const Paste = ({ onSheet }) => {
  const [{ text, sheet }, enter] = useState({ text: '', sheet: emptySheet })
  const read = useAction(async (/** @type {File | undefined} */ file) => {
    enter({ text: '', sheet: emptySheet })
    if (file) enter({ text: '', sheet: await readFile(file) })
  })
  const count = sheet.rows.length
  const missing = count === 0 ? t('upload.paste') : count > maxRows + 1 ? t('upload.too_large') : ''
  const type = ({ target: { value } }) => enter({ text: value, sheet: parseSheet(value) })
  return html`<${Panel} title=${t('upload.paste')}>
    <p class="soft">${t('upload.hint', { max: number(maxRows) })}</p>
    <${Field} id="file" label=${t('upload.file')} type="file" accept=".xlsx,.xlsm,.csv,.tsv,.txt,text/csv"
      onChange=${event => read.run(event.target.files[0])} />
    <${ErrorText} error=${read.error} />
    <label class="field" for="rows"><span>${t('upload.rows')}</span>
      <textarea id="rows" rows="8" value=${text} onInput=${type}></textarea></label>
    <div class="row"><${Button} kind="primary" missing=${missing} isBusy=${read.isBusy} onClick=${() => onSheet(sheet)}>
      ${t('upload.read', { count: number(count) })}<//></div>
  <//>`
}

/** Leads from a sheet to waybills in four steps: paste, columns, check, book. */
export const Upload = () => {
  const begun = useLive(() => readUpload().then(upload => ({ upload })))
  const [at, go] = useState(/** @type {any} */ ({}))
  const end = () => {
    go({})
    begun.reload()
  }
  const step = (/** @type {any} */ upload) => {
    if (upload) return html`<${Booking} key=${upload.id} upload=${upload} onEnd=${end} />`
    if (at.checked) return html`<${Checked} ...${at.checked} onBook=${upload => go({ upload })} />`
    if (!at.sheet) return html`<${Paste} onSheet=${sheet => go({ sheet })} />`
    return html`<${Columns} sheet=${at.sheet} onDone=${(rows, general) => go({ checked: { rows, general } })} />`
  }
  return html`<h1 tabindex="-1">${t('menu.upload')}</h1>
    <${Live} of=${begun}>${({ upload }) => html`<div class="stack">${step(at.upload ?? upload)}
      ${(at.sheet || at.checked) && html`<div class="row"><${Button} onClick=${end}>${t('upload.restart')}<//></div>`}
      </div>`}<//>`
}
