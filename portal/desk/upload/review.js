import { Act, announce, Button, ErrorText, saveFile, useAction } from '../../kit/actions.js'
import { money, number, t } from '../../kit/i18n.js'
import { html, useEffect, useState } from '../../kit/preact.js'
import { Field, Panel } from '../../kit/ui.js'
import { saveLabels } from '../merchant.js'
import { writeCsv } from '../read-sheet.js'
import { beginUpload, book, countBooked, isTooOld, putAway } from './book-rows.js'
import { checkRows } from './check-rows.js'
import { fieldNames } from './headings.js'

/** @typedef {import('./check-rows.js').Row} Row */

const shownRows = 50
const isBad = (/** @type {Row} */ row) => Object.keys(row.errors).length > 0
/** Returns false also for a row that was not checked, such as after a lost connection. */
const isGood = (/** @type {Row} */ row) => row.price !== undefined && !isBad(row)

/** Shows a bad row, which a person corrects in place. */
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

const saveBad = (/** @type {Row[]} */ rows) =>
  saveFile(
    writeCsv([
      [...fieldNames, 'reasons'],
      ...rows.map(row => [...fieldNames.map(name => row.values[name]), Object.values(row.errors).flat().join(' ')]),
    ]),
    'rows-to-correct.csv',
  )

/** Shows the results of the check, before anything is booked. */
export const Checked = ({ rows, general, onBook }) => {
  const [, redraw] = useState(0)
  const [done, setDone] = useState(0)
  const check = useAction(async (/** @type {Row[]} */ some) => {
    await checkRows(some, general, t('upload.no_city'), setDone)
    announce(t('upload.good', { count: number(rows.filter(row => !isBad(row)).length) }))
    redraw(count => count + 1)
  })
  useEffect(() => void check.run(rows), [])
  const bad = /** @type {Row[]} */ (rows.filter(isBad))
  const good = rows.filter(isGood)
  const total = good.reduce((sum, row) => sum + row.price, 0)
  const warned = good.filter(row => row.warnings.length > 0)
  const guessed = good.filter(row => row.city.name.toLowerCase() !== (row.values.destination ?? '').toLowerCase())
  const start = useAction(async () => {
    const upload = await beginUpload(good, general, t('upload.elsewhere'))
    onBook(
      upload,
      rows.filter(row => !isGood(row)),
    )
  })
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

/** Names the rows of the sheet in a sentence that names the orders of a request. */
const nameLines = (/** @type {string} */ sentence, /** @type {import('./book-rows.js').Chunk} */ { lines }) =>
  sentence.replace(/\border_data\.(\d+)/g, (_, index) => t('upload.line', { line: lines[index] }))

/** Books an upload, and sums it up. */
export const Booking = ({ upload: begun, bad = [], onEnd }) => {
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
            return html`<p key=${path}>
              ${line && t('upload.line', { line })} ${nameLines(sentences.join(' '), part)}</p>`
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
