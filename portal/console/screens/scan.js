import { Act, Button, instead, saveFile } from '../../kit/actions.js'
import { callOrders } from '../../kit/api.js'
import { number, statusName, t } from '../../kit/i18n.js'
import { html, useEffect, useRef, useState } from '../../kit/preact.js'
import { may } from '../../kit/session.js'
import { column, Field, Panel, ParcelLink, Table, Two } from '../../kit/ui.js'
import { findWaybill } from '../../kit/waybill.js'
import { findRefusal, maxScanned, useScanList } from '../scan-list.js'
import { play, wakeSound } from '../sound.js'
import { Status } from './find.js'
import { Move } from './move-all.js'
import { GiveTo } from './riders.js'

/**
 * Directs typing to the field from anywhere but another field, since a barcode reader types too. After a label the
 * reader sends Enter, Tab or a line feed, which arrives as Ctrl+J and would open the browser's downloads.
 * @param {{ current: any }} field
 */
const useReader = field =>
  useEffect(() => {
    const listener = (/** @type {KeyboardEvent} */ event) => {
      const target = /** @type {HTMLInputElement} */ (event.target)
      const isEnd = event.key === 'Tab' ? !event.shiftKey && target.value : event.ctrlKey && event.key === 'j'
      if (target.id === 'scan' && isEnd) {
        event.preventDefault()
        return target.form?.requestSubmit()
      }
      if (event.key.length !== 1 || event.key === ' ' || event.ctrlKey || event.metaKey || event.altKey) return
      if (!target.matches('input, textarea')) field.current?.querySelector('input').focus()
    }
    addEventListener('keydown', listener)
    field.current?.querySelector('input').focus()
    return () => removeEventListener('keydown', listener)
  }, [])

const Scanner = ({ list, form, last, setLast }) => {
  const scans = useRef(0)
  const scan = async (/** @type {string} */ text) => {
    const at = ++scans.current
    /** Plays and shows the result of a scan. A late success does not hide a newer message. */
    const report = (/** @type {'good' | 'bad'} */ kind, /** @type {string} */ waybill, /** @type {string} */ text) => {
      play(kind)
      setLast(last => (kind === 'good' && last?.at > at ? last : { kind, waybill, text, at }))
    }
    const waybill = findWaybill(text)
    if (!waybill) return report('bad', text.slice(0, 80), t('scan.no_waybill'))
    const isAgain = list.has(waybill)
    if (!isAgain && list.isFull()) return report('bad', waybill, t('scan.full', { count: number(maxScanned) }))
    const item = await (isAgain ? list.check(waybill) : list.add(waybill))
    const stored = item?.order?.waybill_number ?? waybill
    if (stored !== waybill) {
      list.drop([waybill])
      return scan(stored)
    }
    const refusal = item && findRefusal(item, '')
    if (item)
      report(
        refusal ? 'bad' : 'good',
        waybill,
        refusal ?? (isAgain ? t('scan.twice') : statusName(item.order.status.name)),
      )
  }
  const onSubmit = instead(event => {
    const field = event.currentTarget.elements.namedItem('scan')
    const text = field.value
    field.value = ''
    field.focus()
    wakeSound()
    if (text.trim()) scan(text)
  })
  return html`<form class="panel" ref=${form} onSubmit=${onSubmit}>
    <${Field} id="scan" name="scan" label=${t('scan.field')} hint=${t('scan.hint')} autocomplete="off"
      autocapitalize="characters"
      spellcheck=${false} maxlength="300" enterkeyhint="done" />
    <p class=${`scanned ${last?.kind ?? ''}`} role="status">${
      last
        ? html`<strong>${last.kind === 'good' ? '✓' : '✗'} ${last.waybill ? t(`scan.${last.kind}`) : last.text}</strong>
          ${last.waybill && html` <code>${last.waybill}</code> ${last.text}`}`
        : t('scan.ready')
    }</p>
  </form>`
}

export const Print = ({ waybills }) => {
  const button = (/** @type {string} */ path, /** @type {object} */ body, /** @type {string} */ text) => {
    const options = { method: 'POST', body: { waybill_numbers: waybills, ...body }, as: /** @type {const} */ ('blob') }
    const save = async () => saveFile(await callOrders(`/order/${path}`, options), `${path}.pdf`)
    return html`<${Act} run=${save}>${text}<//>`
  }
  return html`<div class="row">
    ${may('printAnyLabels') && button('labels', { layout: '100x150' }, t('labels'))}
    ${may('printAnyLabels') && button('labels', { layout: 'a4x4' }, t('scan.labels_a4'))}
    ${may('printRunSheet') && button('run-sheet', {}, t('scan.run_sheet'))}</div>`
}

const Scanned = ({ list, field }) => {
  const { items } = list
  const drop = (/** @type {string[]} */ waybills) => {
    list.drop(waybills)
    field.current?.querySelector('input').focus()
  }
  const columns = [
    column(t('parcel'), ({ waybill, order }) =>
      order ? html`<${ParcelLink} waybill=${waybill} class="whole" />` : html`<code>${waybill}</code>`,
    ),
    column(t('status'), item =>
      item.order
        ? html`<${Status} of=${item.order.status} />`
        : html`<span class="wrong">${findRefusal(item, '')}</span>`,
    ),
    column(
      t('field.customer_name'),
      ({ order }) => order && html`<${Two} first=${order.customer_name} second=${order.destination_city_name} />`,
    ),
    column(
      t('scan.drop'),
      ({ waybill }) =>
        html`<${Button} kind="quiet" aria-label=${t('scan.drop_one', { waybill })}
          onClick=${() => drop([waybill])}>✕<//>`,
    ),
  ]
  const waybills = items.filter(({ order }) => order).map(({ waybill }) => waybill)
  return html`<${Panel} title=${t('scan.list', { count: number(items.length) })}
    aside=${
      items.length > 0 &&
      html`<${Act} kind="quiet" question=${t('scan.clear_sure', { count: number(items.length) })}
        run=${async () => drop(items.map(({ waybill }) => waybill))}>${t('scan.clear')}<//>`
    }>
    ${waybills.length > 0 && html`<${Print} waybills=${[...waybills].reverse()} />`}
    <${Table} caption=${t('menu.scan')} columns=${columns} rows=${items} id="waybill" empty=${t('scan.empty')} />
  <//>`
}

/** Reads parcels one after another from a barcode reader, then acts on all of them at once. */
export const Scan = () => {
  const form = useRef(/** @type {any} */ (null))
  const list = useScanList()
  /** Holds what the last scan or move led to. */
  const [last, setLast] = useState(/** @type {any} */ (null))
  useReader(form)
  const onDone = (moved = '') => {
    setLast(moved ? { kind: 'good', text: moved } : null)
    form.current?.querySelector('input').focus()
  }
  return html`<h1 tabindex="-1">${t('menu.scan')}</h1>
    <div class="columns">
      <div class="stack"><${Scanner} list=${list} form=${form} last=${last} setLast=${setLast} />
        ${may('moveOrders') && list.items.length > 0 && html`<${Move} list=${list} onDone=${onDone} />`}
        ${
          list.items.length > 0 &&
          html`<${GiveTo} waybills=${list.items.map(({ waybill }) => waybill).reverse()} onDone=${onDone} />`
        }</div>
      <${Scanned} list=${list} field=${form} />
    </div>`
}
