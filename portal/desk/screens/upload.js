import { Act, announce, Button, ErrorText, saveFile, useAction } from '../../kit/actions.js'
import { ApiError } from '../../kit/api.js'
import { Control, findCities } from '../../kit/form.js'
import { money, number, t } from '../../kit/i18n.js'
import { html, useEffect, useState } from '../../kit/preact.js'
import { Field, Live, Panel, useLive } from '../../kit/ui.js'
import { beginUpload, book, countBooked, isTooOld, putAway, readUpload } from '../book-rows.js'
import { checkRows } from '../check-rows.js'
import { readBusinesses, recall, remember, saveLabels } from '../merchant.js'
import { columns, guessColumns, parseSheet, writeCsv } from '../read-sheet.js'

/** @typedef {import('../check-rows.js').Row} Row */

const maxRows = 10_000
const shownRows = 50

/** Reads the rows of a chosen file; the reader of workbooks is loaded for one. @param {File} file */
const readFile = async file => {
  if (!/\.xls\w?$/i.test(file.name)) return parseSheet(await file.text())
  const { readWorkbook, SheetError } = await import('../read-xlsx.js')
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

/** Lets the merchant choose the field of each column: guessed, or as corrected for the same headings before. */
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

const isBad = (/** @type {Row} */ row) => Object.keys(row.errors).length > 0

/** A bad row, corrected in place. */
const BadRow = (/** @type {{ row: Row, onChange: () => void }} */ { row, onChange }) => {
  const fields = Object.keys(row.errors)
  const set = (/** @type {string} */ name, /** @type {string} */ value) => {
    row.values[name] = value
    if (name === 'destination') row.city = undefined
    onChange()
  }
  const pick = (/** @type {string} */ id) => {
    row.city = row.alternatives?.find(city => String(city.id) === id)
    onChange()
  }
  return html`<li><strong>${t('upload.line', { line: row.line })}</strong> ${row.values.customer_name}
    <div class="fields">${fields.map(name =>
      name === ''
        ? html`<p key="row" class="error">${row.errors[name]?.join(' ')}</p>`
        : html`<${Field} key=${name} id=${`row-${row.line}-${name}`} label=${t(`field.${name}`)}
          errors=${row.errors[name]}
            value=${row.values[name] ?? ''} onInput=${event => set(name, event.target.value)} />`,
    )}
    ${
      row.errors.destination && row.alternatives?.length
        ? html`<${Field} id=${`row-${row.line}-city`} label=${t('upload.alternatives')}
          value=${row.city ? String(row.city.id) : ''} onChange=${event => pick(event.target.value)}>
            <option value="">…</option>
            ${row.alternatives.map(
              city => html`<option key=${city.id} value=${city.id}>
              ${city.name}, ${city.state}</option>`,
            )}<//>`
        : null
    }</div></li>`
}

const fieldNames = columns.map(({ name }) => name)
const saveBad = (/** @type {Row[]} */ rows) =>
  saveFile(
    writeCsv([
      [...fieldNames, 'reasons'],
      ...rows.map(row => [...fieldNames.map(name => row.values[name]), Object.values(row.errors).flat().join(' ')]),
    ]),
    'rows-to-correct.csv',
  )

/** Shows what was found, before anything is booked. */
const Checked = ({ rows, general, onBook }) => {
  const [, redraw] = useState(0)
  const [done, setDone] = useState(0)
  const check = useAction(async (/** @type {Row[]} */ some) => {
    await checkRows(some, general, t('upload.no_city'), setDone)
    announce(t('upload.good', { count: number(rows.filter(row => !isBad(row)).length) }))
    redraw(count => count + 1)
  })
  useEffect(() => void check.run(rows), [])
  const bad = /** @type {Row[]} */ (rows.filter(isBad))
  const good = rows.filter(row => row.price !== undefined && !isBad(row))
  const total = good.reduce((sum, row) => sum + row.price, 0)
  const warned = good.filter(row => row.warnings.length > 0)
  const guessed = good.filter(row => row.city.name.toLowerCase() !== (row.values.destination ?? '').toLowerCase())
  const start = useAction(async () => onBook(await beginUpload(good, general), bad))
  if (check.isBusy)
    return html`<${Panel} title=${t('upload.checking')}>
      <progress max=${rows.length} value=${done} aria-label=${t('upload.checking')}></progress><//>`
  return html`<${Panel} title=${t('upload.found')}>
    <p><strong>${t('upload.good', { count: number(good.length) })}
      </strong> ${t('upload.price', { sum: money(total, '').trim() })}</p>
    <${ErrorText} error=${check.error ?? start.error} />
    <div class="row"><${Button} kind="primary" disabled=${good.length === 0} isBusy=${start.isBusy}
      onClick=${() => start.run()}>${t('upload.book', { count: number(good.length) })}<//>
      ${check.error && html`<${Button} onClick=${() => check.run(rows)}>${t('upload.again')}<//>`}</div>
    ${
      guessed.length > 0 &&
      html`<details><summary>${t('upload.guessed', { count: number(guessed.length) })}</summary>
      <ul>${guessed
        .slice(0, shownRows)
        .map(
          row =>
            html`<li key=${row.line}>${t('upload.line', { line: row.line })}: ${
              row.values.destination || row.values.customer_address
            } → ${row.city.name}, ${row.city.state}</li>`,
        )}</ul></details>`
    }
    ${
      warned.length > 0 &&
      html`<details open><summary>${t('upload.warned', { count: number(warned.length) })}</summary>
      <ul>${warned
        .slice(0, shownRows)
        .map(
          row => html`<li key=${row.line}>${t('upload.line', { line: row.line })}: ${row.warnings.join(' ')}</li>`,
        )}</ul>
        </details>`
    }
  <//>
  ${
    bad.length > 0 &&
    html`<${Panel} title=${t('upload.bad', { count: number(bad.length) })}>
    <ol class="plain stack">${bad
      .slice(0, shownRows)
      .map(row => html`<${BadRow} key=${row.line} row=${row} onChange=${() => redraw(count => count + 1)} />`)}</ol>
    <div class="row"><${Button} onClick=${() => check.run(bad)}>${t('upload.again')}<//>
      <${Button} onClick=${() => saveBad(bad)}>${t('upload.save_bad')}<//></div>
  <//>`
  }`
}

/** Books an upload, and sums it up. */
const Booking = ({ upload: begun, bad = [], onEnd }) => {
  const [upload, setUpload] = useState(begun)
  const total = upload.chunks.reduce((sum, { orders }) => sum + orders.length, 0)
  const run = useAction(async () => setUpload({ ...(await book(upload, setUpload, t('upload.elsewhere'))) }))
  const isOld = isTooOld(upload)
  useEffect(() => void (!isOld && run.run()), [])
  const booked = countBooked(upload)
  const waybills = upload.chunks.flatMap(part => part.waybills ?? [])
  const refused = upload.chunks.filter(part => part.errors)
  const isDone = upload.chunks.every(part => part.waybills || part.errors)
  const saveWaybills = () => {
    const rows = upload.chunks.flatMap(part =>
      (part.waybills ?? []).map((waybill, index) => [
        part.lines[index],
        waybill,
        part.orders[index].order_no,
        part.orders[index].customer_name,
      ]),
    )
    saveFile(writeCsv([['line', 'waybill_number', 'order_no', 'customer_name'], ...rows]), 'waybills.csv')
  }
  const end = async () => {
    await putAway()
    onEnd()
  }
  return html`<${Panel} title=${isDone ? t('upload.done') : t('upload.booking')}>
    <progress max=${total} value=${booked} aria-label=${t('upload.booking')}></progress>
    <p role="status"><strong>${t('upload.booked', { count: number(booked), total: number(total) })}</strong></p>
    ${waybills.length > 0 && html`<p>${waybills[0]} – ${waybills.at(-1)}</p>`}
    ${isOld && !isDone && html`<p class="notice">${t('upload.too_old')}</p>`}
    ${refused.map(
      part =>
        html`<div key=${part.key} class="error">${Object.entries(part.errors)
          .slice(0, 10)
          .map(([path, sentences]) => {
            const line = part.lines[Number(path.split('.')[1])]
            return html`<p key=${path}>${line && t('upload.line', { line })} ${sentences.join(' ')}</p>`
          })}</div>`,
    )}
    ${bad.length > 0 && html`<p>${t('upload.bad', { count: number(bad.length) })}</p>`}
    <${ErrorText} error=${run.error} />
    <div class="row">
      ${run.error && html`<${Button} kind="primary" onClick=${() => run.run()}>${t('upload.continue')}<//>`}
      ${
        waybills.length > 0 &&
        html`<${Button} onClick=${saveWaybills}>${t('upload.waybills')}<//>
        <${Act} run=${() => saveLabels(waybills)}>${t('labels')}<//>
        <${Button} onClick=${() => print()}>${t('upload.print')}<//>`
      }
      ${bad.length > 0 && html`<${Button} onClick=${() => saveBad(bad)}>${t('upload.save_bad')}<//>`}
      ${(isDone || isOld) && html`<${Button} onClick=${end}>${t('upload.next')}<//>`}
    </div>
  <//>`
}

/** Leads from a sheet to waybills: paste, columns, check, book. */
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
