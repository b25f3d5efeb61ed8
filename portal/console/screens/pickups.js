import { Act, announced, Button, instead } from '../../kit/actions.js'
import { callOrders, withQuery } from '../../kit/api.js'
import { FoldedForm, findCities } from '../../kit/form.js'
import { number, t } from '../../kit/i18n.js'
import { Filters, Rows } from '../../kit/lists.js'
import { PickupState, pickupColumns, Receipt, Tickets } from '../../kit/pickups.js'
import { html, useState } from '../../kit/preact.js'
import { getSession, may, ofTab, readStored } from '../../kit/session.js'
import { Badge, column, Facts, Field, Live, Panel, ParcelLink, Table, useLive } from '../../kit/ui.js'
import { findWaybill } from '../../kit/waybill.js'
import { play, wakeSound } from '../sound.js'

const states = ['open', 'done', 'missed', 'withdrawn']

/** Keeps what was scanned for a pickup, newest first, until it is counted; it outlives a reload of the page. */
const useScanned = (/** @type {number} */ id) => {
  const place = `courier.pickup ${getSession().tenant} ${id}`
  const [scanned, setScanned] = useState(/** @type {string[]} */ (readStored(place, [])))
  const keep = (/** @type {string[]} */ next) => {
    ofTab.set(place, JSON.stringify(next))
    setScanned(next)
  }
  return { scanned, keep }
}

/** Counts what is handed over, and says of each parcel if it was expected. @param {any} props */
const Count = ({ pickup, onDone }) => {
  const { scanned, keep } = useScanned(pickup.id)
  const [said, setSaid] = useState('')
  const expected = new Set([...pickup.expected, ...pickup.waybill_numbers])
  const missing = pickup.expected.filter(waybill => !scanned.includes(waybill))
  const nameKind = (/** @type {string} */ waybill) => (expected.has(waybill) ? 'pickup.expected' : 'pickup.extra')
  const scan = instead(event => {
    const field = event.currentTarget.elements.namedItem('scan')
    const waybill = findWaybill(field.value)
    field.value = ''
    field.focus()
    wakeSound()
    play(waybill && expected.has(waybill) ? 'good' : 'bad')
    if (!waybill) return setSaid(t('scan.no_waybill'))
    setSaid(`${waybill} ${t(scanned.includes(waybill) ? 'scan.twice' : nameKind(waybill))}`)
    if (!scanned.includes(waybill)) keep([waybill, ...scanned])
  })
  const finish = async () => {
    const body = { waybill_numbers: [...scanned].reverse() }
    await announced(callOrders(`/pickup/${pickup.id}/done`, { method: 'POST', body }))
    keep([])
    onDone()
  }
  const columns = [
    column(t('parcel'), ({ id }) => html`<${ParcelLink} waybill=${id} class="whole" />`),
    column(t('status'), ({ id }) =>
      expected.has(id)
        ? html`<${Badge} kind="good">${t('pickup.expected')}<//>`
        : html`<${Badge} kind="warn">${t('pickup.extra')}<//>`,
    ),
    column(
      '',
      ({ id }) => html`<${Button} kind="quiet" aria-label=${t('scan.drop_one', { waybill: id })}
      onClick=${() => keep(scanned.filter(each => each !== id))}>✕<//>`,
    ),
  ]
  const counts = {
    scanned: number(scanned.length),
    expected: number(pickup.expected.length),
    missing: number(missing.length),
  }
  return html`<${Panel} title=${t('pickup.count')}>
    <form onSubmit=${scan}><${Field} id="scan" name="scan" label=${t('scan.field')} autocomplete="off"
      autocapitalize="characters" spellcheck=${false} maxlength="300" enterkeyhint="done" /></form>
    <p class="scanned" role="status">${said || t('scan.ready')}</p><p>${t('pickup.counts', counts)}</p>
    <${Table} caption=${t('pickup.count')} columns=${columns} rows=${scanned.map(id => ({ id }))}
      empty=${t('scan.empty')} />
    ${
      missing.length > 0 &&
      html`<details open=${missing.length <= 20}><summary>${t('pickup.missing')}</summary>
      <code>${missing.join(' ')}</code></details>`
    }
    ${pickup.gone.map(
      ({ waybill_number: waybill, status }) => html`<p key=${waybill} class="soft">
      ${waybill}: ${status}</p>`,
    )}
    <div class="row"><${Act} kind="primary" disabled=${scanned.length === 0} question=${t('pickup.done_sure', counts)}
      run=${finish}>${t('pickup.finish')}<//></div><//>`
}

const One = ({ id }) => {
  const one = useLive(signal => callOrders(`/pickup/${encodeURIComponent(id)}`, { signal }), 15)
  const rider = { name: 'rider', label: t('pickup.rider'), maxlength: 200, required: true }
  const reason = { name: 'reason', label: t('failures.reason'), maxlength: 500, required: true }
  const form = (/** @type {string} */ step, /** @type {object} */ field) =>
    html`<${FoldedForm} title=${t(`pickup.${step}`)} id=${step} fields=${[field]} path=${`/pickup/${id}/${step}`}
      onDone=${one.reload} />`
  return html`<h1 tabindex="-1">${t('pickup.one')} ${id}</h1><p><a href="#/pickups">${t('menu.pickups')}</a></p>
    <${Live} of=${one}>${({ data }) => {
      const { address, scanned, missing, extra } = data
      const facts = {
        [t('status')]: html`<${PickupState} of=${data} />`,
        [t('merchant')]: `${data.merchant.name}, ${data.business.name}`,
        [t('pickup.where')]: address
          ? `${address.name}, ${address.address}, ${address.city}, ${address.phone}`
          : t('pickup.no_address'),
        [t('pickup.day')]: `${data.day} ${data.from ? `${data.from} – ${data.to}` : ''}`,
        [t('pickup.number')]: data.parcels > 0 && number(data.parcels),
        [t('pickup.note')]: data.note,
        [t('pickup.rider')]: data.rider && (data.rider.is_active ? data.rider.name : t('pickup.left', data.rider)),
        [t('pickup.scanned')]: scanned && `${number(scanned.length)}: ${scanned.join(' ')}`,
        [t('pickup.missing')]: missing?.join(' '),
        [t('pickup.extra')]: extra?.join(' '),
      }
      const isOpen = data.state === 'open'
      return html`<${Panel} title=${data.business.name}><${Facts} of=${facts} />
          <div class="row"><${Receipt} pickup=${data} /></div>
          ${isOpen && may('assignPickup') && form('assign', rider)}
          ${isOpen && may('missPickup') && form('missed', reason)}<//>
        ${isOpen && may('finishPickup') && html`<${Count} pickup=${data} onDone=${one.reload} />`}`
    }}<//>`
}

const Answer = ({ ticket: { id }, onDone }) => {
  const path = `/ticket/${id}`
  const close = () => announced(callOrders(`${path}/close`, { method: 'POST', body: {} })).then(onDone)
  const text = { name: 'text', label: t('ticket.reply'), maxlength: 1000, required: true }
  return html`<div class="stack"><${FoldedForm} title=${t('ticket.reply')} id=${`reply-${id}`} fields=${[text]}
      path=${`${path}/reply`} onDone=${onDone} /><${Act} run=${close}>${t('ticket.close')}<//></div>`
}

const Inbox = () => {
  const list = useLive(signal => callOrders('/ticket', { signal }), 30)
  const more = (/** @type {any} */ row) => may('closeTicket') && html`<${Answer} ticket=${row} onDone=${list.reload} />`
  return html`<${Tickets} of=${list} more=${more} />`
}

const List = ({ query }) => {
  const list = useLive(signal => callOrders(withQuery('/pickup', query), { signal }), 15, [JSON.stringify(query)])
  const fields = [
    { name: 'state', label: t('status'), options: states.map(id => ({ id, label: t(`pickup.${id}`) })) },
    { name: 'day', label: t('pickup.day'), type: 'date' },
    { name: 'city_id', label: t('pickup.city'), find: findCities },
  ]
  const columns = [
    column(t('pickup.one'), ({ id, merchant }) => html`<a href=${`#/pickups/${id}`}>${id} ${merchant.name}</a>`),
    ...pickupColumns(),
  ]
  return html`<h1 tabindex="-1">${t('menu.pickups')}</h1>
    <${Filters} screen="pickups" query=${query} fields=${fields} />
    <${Panel} title=${t('menu.pickups')}>
      <${Rows} of=${list} caption=${t('menu.pickups')} columns=${columns} empty=${t('pickup.none')} /><//>
    ${may('listAllTickets') && html`<${Inbox} />`}`
}

/** Shows pickups by day and city, or one of them, which is counted by scanning. */
export const Pickups = ({ params: [id], query }) =>
  id ? html`<${One} key=${id} id=${id} />` : html`<${List} query=${query} />`
