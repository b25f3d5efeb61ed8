import { Button, ErrorText, useAction } from '../../kit/actions.js'
import { ApiError } from '../../kit/api.js'
import { Control, findCities } from '../../kit/form.js'
import { number, t } from '../../kit/i18n.js'
import { html, useState } from '../../kit/preact.js'
import { Field, Live, Panel, useLive } from '../../kit/ui.js'
import { readBusinesses, recall, remember } from '../merchant.js'
import { columns, guessColumns, parseSheet } from '../read-sheet.js'
import { readUpload } from './book-rows.js'
import { Booking, Checked } from './review.js'

const maxRows = 10_000

/** Reads the rows of a chosen file; loads the reader of workbooks only for a workbook. @param {File} file */
const readFile = async file => {
  if (!/\.xls\w?$/i.test(file.name)) return parseSheet(await file.text())
  const { readWorkbook, SheetError } = await import('./read-xlsx.js')
  return readWorkbook(file, maxRows + 2).catch(error => {
    throw error instanceof SheetError ? new ApiError(t(`upload.${error.message}`)) : error
  })
}

const Paste = ({ onRows }) => {
  const [text, setText] = useState('')
  const [rows, setRows] = useState(/** @type {string[][]} */ ([]))
  const enter = (/** @type {string} */ entered, /** @type {string[][]} */ read) => {
    setText(entered)
    setRows(read)
  }
  const read = useAction(async (/** @type {File | undefined} */ file) => {
    enter('', [])
    if (file) setRows(await readFile(file))
  })
  const type = (/** @type {string} */ entered) => enter(entered, parseSheet(entered))
  return html`<${Panel} title=${t('upload.paste')}>
    <p class="soft">${t('upload.hint', { max: number(maxRows) })}</p>
    <${Field} id="file" label=${t('upload.file')} type="file" accept=".xlsx,.xlsm,.csv,.tsv,.txt,text/csv"
      onChange=${event => read.run(event.target.files[0])} />
    <${ErrorText} error=${read.error} />
    <label class="field" for="rows"><span>${t('upload.rows')}</span>
      <textarea id="rows" rows="8" value=${text} onInput=${event => type(event.target.value)}></textarea></label>
    <div class="row"><${Button} kind="primary" disabled=${rows.length === 0 || rows.length > maxRows + 1}
      isBusy=${read.isBusy} onClick=${() => onRows(rows)}>
      ${t('upload.read', { count: number(rows.length) })}<//></div>
  <//>`
}

/** Lets the merchant choose each column's field. Starts with a guess, or the last choice for the same headings. */
const Columns = ({ sheet, onDone }) => {
  const guess = guessColumns(sheet)
  const known = recall()
  const headings = (sheet[0] ?? []).join('\t')
  const [fields, setFields] = useState(known.headings === headings ? known.fields : guess.fields)
  const [general, setGeneral] = useState({
    weight: '1',
    merchant_business_id: '',
    origin_city_id: '',
    ...known.general,
  })
  const businesses = useLive(readBusinesses)
  const set = (/** @type {string} */ name) => (/** @type {string} */ value) =>
    setGeneral(last => ({ ...last, [name]: value }))
  const done = () => {
    const business = general.merchant_business_id || businesses.data?.[0]?.id
    const chosen = { ...general, merchant_business_id: business }
    remember({ headings, fields, general: chosen })
    const body = guess.hasHeadings ? sheet.slice(1) : sheet
    const rows = body.map((cells, index) => ({
      line: index + (guess.hasHeadings ? 2 : 1),
      values: Object.fromEntries(fields.flatMap((name, at) => (name ? [[name, cells[at] ?? '']] : []))),
      errors: {},
      warnings: [],
    }))
    onDone(rows, chosen)
  }
  return html`<${Panel} title=${t('upload.columns')}>
    <${Live} of=${businesses}>${data => html`<div class="fields">
      <${Control} id="business" label=${t('upload.business')} options=${data}
        value=${general.merchant_business_id || data[0]?.id} onValue=${set('merchant_business_id')} />
      <${Control} id="origin" label=${t('upload.origin')} find=${findCities} value=${general.origin_city_id}
        onValue=${set('origin_city_id')} />
      <${Control} id="weight" label=${t('upload.weight')} inputmode="decimal" value=${general.weight}
        onValue=${set('weight')} /></div>`}<//>
    <div class="fields">${fields.map(
      (name, index) => html`<${Field} key=${index} id=${`column-${index}`} value=${name}
        label=${`${index + 1}. ${sheet[0]?.[index] ?? ''}`} hint=${sheet[1]?.[index] ?? ''}
        onChange=${event => setFields(fields.map((old, at) => (at === index ? event.target.value : old)))}>
        <option value="">${t('upload.ignore')}</option>
        ${columns.map(
          column => html`<option key=${column.name} value=${column.name}>
          ${t(`field.${column.name}`)}</option>`,
        )}<//>`,
    )}</div>
    <div class="row"><${Button} kind="primary" disabled=${!general.origin_city_id} onClick=${done}>
      ${t('upload.check')}<//></div>
  <//>`
}

/** Leads from a sheet to waybills in four steps: paste, columns, check, book. */
export const Upload = () => {
  const begun = useLive(() => readUpload().then(upload => ({ upload })))
  const [sheet, setSheet] = useState(/** @type {string[][] | undefined} */ (undefined))
  const [checked, setChecked] = useState(/** @type {any} */ (undefined))
  const [booking, setBooking] = useState(/** @type {any} */ (undefined))
  const end = () => {
    setSheet(undefined)
    setChecked(undefined)
    setBooking(undefined)
    begun.reload()
  }
  const current = booking ?? begun.data
  const step = () => {
    if (current?.upload) return html`<${Booking} key=${current.upload.id} ...${current} onEnd=${end} />`
    if (checked) return html`<${Checked} ...${checked} onBook=${(upload, bad) => setBooking({ upload, bad })} />`
    if (sheet) return html`<${Columns} sheet=${sheet} onDone=${(rows, general) => setChecked({ rows, general })} />`
    return html`<${Paste} onRows=${setSheet} />`
  }
  return html`<h1 tabindex="-1">${t('menu.upload')}</h1>
    <${Live} of=${begun}>${() => html`<div class="stack">${step()}
      ${
        (sheet || checked) &&
        !current?.upload &&
        html`<div class="row"><${Button} onClick=${end}>
        ${t('upload.restart')}<//></div>`
      }</div>`}<//>`
}
