import { newKeys, orders } from '../api.js'
import { number, t } from '../i18n.js'
import { html, useEffect, useRef, useState } from '../preact.js'
import { maxScanned, movesOf, refusalOf, useScanList, waybillIn } from '../scan-list.js'
import { may } from '../session.js'
import { play, wakeSound } from '../sound.js'
import { announce, Button, ErrorText, Field, Panel, saveFile, Table, useAction } from '../ui.js'
import { Status } from './find.js'

/** Typing goes to the field from wherever the focus is but another field: a reader types too. After a label it sends Enter,
 * Tab or a line feed, which arrives as Ctrl+J and would open the browser's downloads. @param {{ current: any }} field */
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

const Scanner = ({ list, form }) => {
  const [last, setLast] = useState(/** @type {any} */ (null))
  const scans = useRef(0)
  const scan = async (/** @type {string} */ text) => {
    const at = ++scans.current
    /** A late success does not hide what came after it. */
    const tell = (/** @type {'good' | 'bad'} */ kind, /** @type {string} */ waybill, /** @type {string} */ text) => {
      play(kind)
      setLast(last => (kind === 'good' && last?.at > at ? last : { kind, waybill, text, at }))
    }
    const waybill = waybillIn(text)
    if (!waybill) return tell('bad', text.slice(0, 80), t('scan.no_waybill'))
    if (list.has(waybill)) return tell('bad', waybill, t('scan.twice'))
    if (list.isFull()) return tell('bad', waybill, t('scan.full', { count: number(maxScanned) }))
    const item = await list.add(waybill)
    const capital = waybill.toUpperCase()
    if (item?.error?.status === 404 && waybill !== capital) {
      list.drop([waybill])
      return scan(capital)
    }
    const refusal = item && refusalOf(item, '')
    if (item) tell(refusal ? 'bad' : 'good', waybill, refusal ?? item.order.status.name)
  }
  const onSubmit = event => {
    event.preventDefault()
    const field = event.currentTarget.elements.namedItem('scan')
    const text = field.value
    field.value = ''
    field.focus()
    wakeSound()
    if (text.trim()) scan(text)
  }
  return html`<form class="panel" ref=${form} onSubmit=${onSubmit}>
    <${Field} id="scan" name="scan" label=${t('scan.field')} hint=${t('scan.hint')} autocomplete="off" autocapitalize="characters"
      spellcheck=${false} maxlength="300" enterkeyhint="done" />
    <p class=${`scanned ${last?.kind ?? ''}`} role="status">${
      last
        ? html`<strong>${last.kind === 'good' ? '✓' : '✗'} ${t(`scan.${last.kind}`)}</strong> <code>${last.waybill}</code> ${last.text}`
        : t('scan.ready')
    }</p>
  </form>`
}

/** Sends all to one status; those that are refused are named, with the way to leave them out. */
const Move = ({ list, field }) => {
  const [status, setStatus] = useState('')
  const [note, setNote] = useState('')
  const keys = useRef(newKeys())
  const { items } = list
  const moves = movesOf(items)
  const chosen = moves.some(({ status_key }) => status_key === status) ? status : ''
  const read = items.filter(({ isRead }) => isRead)
  const refused = read.flatMap(item => {
    const reason = refusalOf(item, chosen)
    return reason ? [{ id: item.waybill, reason }] : []
  })
  const isReady = chosen && refused.length === 0 && read.length === items.length
  const move = useAction(async () => {
    if (!isReady) return
    await moveAll(list, { status_key: chosen, note: note.trim() }, keys.current)
    setNote('')
    field.current?.querySelector('input').focus()
  })
  const drop = () => {
    list.drop(refused.map(({ id }) => id))
    field.current?.querySelector('input').focus()
  }
  return html`<${Panel} title=${t('scan.move')}>
    <div class="stack">
      <${Field} id="scan-status" label=${t('scan.to')} value=${chosen} onChange=${event => setStatus(event.target.value)}>
        <option value="">${t('message.choose')}</option>
        ${moves.map(
          ({ status_key, name, count }) =>
            html`<option key=${status_key} value=${status_key}>${name}${count < items.length ? ` (${t('scan.some', { count: number(count), total: number(items.length) })})` : ''}</option>`,
        )}
      <//>
      <${Field} id="scan-note" label=${t('moves.note')} value=${note} maxlength="1000" onInput=${event => setNote(event.target.value)} />
      ${
        refused.length > 0 &&
        html`<div class="notice"><p>${t('scan.refused', { count: number(refused.length) })}</p>
        <ul class="refused">${refused.slice(0, 50).map(({ id, reason }) => html`<li key=${id}><code>${id}</code> ${reason}</li>`)}</ul>
        ${refused.length > 50 && html`<p>${t('scan.more', { count: number(refused.length - 50) })}</p>`}
        <${Button} onClick=${drop}>${t('scan.drop_refused')}<//></div>`
      }
      <${ErrorText} error=${move.error} fields=${false} />
      <${Button} kind="primary" isBusy=${move.isBusy || !isReady} onClick=${() => move.run()}>
        ${t('scan.move_all', { count: number(items.length) })}<//>
    </div>
  <//>`
}

/** All or none; what the service refuses is noted at each. */
const moveAll = async (list, { status_key, note }, keys) => {
  const waybill_numbers = list.items.map(({ waybill }) => waybill)
  const body = { waybill_numbers, status_key, ...(note && { note }) }
  try {
    const { message } = await orders('/api/staff/order/status', { method: 'POST', body, key: keys.of(body) })
    keys.done()
    announce(message)
    play('good')
    const { order } = (await list.check(waybill_numbers[0])) ?? {}
    if (!order) return list.checkAll(waybill_numbers)
    const { status, moves } = order
    list.set(waybill_numbers, item => ({ refusal: undefined, order: item.order && { ...item.order, status, moves } }))
  } catch (caught) {
    const error = /** @type {any} */ (caught)
    play('bad')
    const reasonOf = index => error.errors?.[`waybill_numbers.${index}`]?.join(' ')
    const wrong = waybill_numbers.filter((_, index) => reasonOf(index))
    await list.checkAll(wrong)
    list.set(wrong, item => ({
      refusal: { statusKey: status_key, reason: reasonOf(waybill_numbers.indexOf(item.waybill)) },
    }))
    throw caught
  }
}

const Print = ({ waybills }) => {
  const print = useAction(async (path, body, name) =>
    saveFile(await orders(path, { method: 'POST', body: { waybill_numbers: waybills, ...body }, as: 'blob' }), name),
  )
  const of = (path, body, name) => ({
    isBusy: print.isBusy,
    onClick: () => print.run(`/api/staff/order/${path}`, body, name),
  })
  return html`<div class="row">
      ${
        may('printAnyLabels') &&
        html`<${Button} ...${of('labels', { layout: '100x150' }, 'labels.pdf')}>${t('scan.labels')}<//>
        <${Button} ...${of('labels', { layout: 'a4x4' }, 'labels.pdf')}>${t('scan.labels_a4')}<//>`
      }
      ${may('printRunSheet') && html`<${Button} ...${of('run-sheet', {}, 'run-sheet.pdf')}>${t('scan.run_sheet')}<//>`}
    </div>
    <${ErrorText} error=${print.error} />`
}

const Scanned = ({ list, field }) => {
  const { items } = list
  const drop = (/** @type {string[]} */ waybills) => {
    list.drop(waybills)
    field.current?.querySelector('input').focus()
  }
  const columns = [
    {
      name: 'waybill',
      label: t('parcel'),
      show: ({ waybill, order }) =>
        order
          ? html`<a class="whole" href=${`#/parcel/${encodeURIComponent(waybill)}`}>${waybill}</a>`
          : html`<code>${waybill}</code>`,
    },
    {
      name: 'status',
      label: t('status'),
      show: item =>
        item.order
          ? html`<${Status} of=${item.order.status} />`
          : html`<span class="wrong">${refusalOf(item, '')}</span>`,
    },
    {
      name: 'customer',
      label: t('customer'),
      show: ({ order }) =>
        order &&
        html`<span>${order.customer_name}<br /><span class="soft">${order.destination_city_name}</span></span>`,
    },
    {
      name: 'drop',
      label: t('scan.drop'),
      show: ({ waybill }) =>
        html`<${Button} kind="quiet" aria-label=${t('scan.drop_one', { waybill })} onClick=${() => drop([waybill])}>✕<//>`,
    },
  ]
  const waybills = items.filter(({ order }) => order).map(({ waybill }) => waybill)
  return html`<${Panel} title=${t('scan.list', { count: number(items.length) })}
    aside=${items.length > 0 && html`<${Button} kind="quiet" onClick=${() => drop(items.map(({ waybill }) => waybill))}>${t('scan.clear')}<//>`}>
    ${waybills.length > 0 && html`<${Print} waybills=${waybills.toReversed()} />`}
    <${Table} caption=${t('menu.scan')} columns=${columns} rows=${items.map(item => ({ ...item, id: item.waybill }))} empty=${t('scan.empty')} />
  <//>`
}

/** Parcels one after another by a barcode reader, then all of them at once. */
export const Scan = () => {
  const form = useRef(/** @type {any} */ (null))
  const list = useScanList()
  useReader(form)
  return html`<h1 tabindex="-1">${t('menu.scan')}</h1>
    <div class="columns">
      <div class="stack"><${Scanner} list=${list} form=${form} />
        ${may('moveOrders') && list.items.length > 0 && html`<${Move} list=${list} field=${form} />`}</div>
      <${Scanned} list=${list} field=${form} />
    </div>`
}
