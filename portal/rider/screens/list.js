import { Button } from '../../kit/actions.js'
import { companyMoney, number, t } from '../../kit/i18n.js'
import { html, useEffect, useLayoutEffect, useRef, useState } from '../../kit/preact.js'
import { ofBrowser } from '../../kit/session.js'
import { Badge, Loading } from '../../kit/ui.js'
import { useDrag } from '../drag.js'
import { getOwner, load, useRider, view } from '../queue.js'
import { readValue, writeValue } from '../store.js'
import { sync } from '../sync.js'
import { mapLinks } from '../words.js'

/** Shows the ways to reach the recipient. */
export const Contact = ({ of: parcel, isWhole = false }) => {
  const { web, app } = mapLinks(parcel)
  const call = (/** @type {string} */ phone, /** @type {string} */ text) =>
    phone && html`<a class="button" href=${`tel:${phone.replace(/[^\p{Nd}+]/gu, '')}`}>☎ ${text}</a>`
  const link = (/** @type {string} */ url, /** @type {string} */ text) =>
    html`<a class="button" href=${url} target="_blank" rel="noreferrer">${text}</a>`
  return html`<div class="contact">
    ${call(parcel.customer_phone, isWhole ? parcel.customer_phone : t('rider.call'))}
    ${isWhole && call(parcel.customer_secondary_phone, parcel.customer_secondary_phone)}
    ${parcel.whatsapp_digits && link(`https://wa.me/${parcel.whatsapp_digits}`, `✉ ${t('rider.message')}`)}
    ${link(app, t('rider.map'))}
    ${isWhole && app !== web && link(web, t('rider.map_web'))}
  </div>`
}

const kinds = { done: 'good', failed: 'bad', gone: 'neutral', to_do: 'neutral' }

export const Badges = ({ of: { state, waits, isTaken, isGone, failed_attempts, instruction, was } }) => html`
  ${state !== 'to_do' && html`<${Badge} kind=${kinds[state]}>${t(`state.${state}`)}<//>`}
  ${waits && html`<${Badge} kind="warn">${t('rider.waiting')}<//>`}
  ${isTaken && html`<${Badge}>${t('rider.taken')}<//>`}
  ${isGone && html`<${Badge} kind="bad">${t('rider.gone')}<//>`}
  ${was && html`<${Badge} kind="warn">${t('rider.changed')}<//>`}
  ${failed_attempts > 0 && html`<${Badge}>${t('failures.attempts', { count: number(failed_attempts) })}<//>`}
  ${instruction && html`<${Badge} kind="warn">${t(`failures.${instruction.action}`)}<//>`}`

const Stop = ({ parcel, handle }) => {
  const { waybill_number: waybill, customer_name: name, customer_address: address, city, cod } = parcel
  return html`<li class=${`stop ${parcel.state}`} data-waybill=${waybill}>
    <a class="open" href=${`#/parcel/${encodeURIComponent(waybill)}`}>
      <strong class="address">${address ? `${address}, ${city}` : waybill}</strong>
      ${cod > 0 && html`<strong class="cod">${companyMoney(cod)}</strong>`}
      <span class="soft">${[name, waybill].filter(Boolean).join(' · ')}</span>
      <span class="badges"><${Badges} of=${parcel} /></span></a>
    ${
      parcel.state === 'to_do' &&
      !parcel.isTaken &&
      html`<div class="row"><${Contact} of=${parcel} />
        ${
          handle && html`<${Button} kind="drag" aria-label=${t('rider.drag', { waybill })} ...${handle(waybill)}>⇅<//>`
        }</div>`
    }
  </li>`
}

/** Returns the rider's own order: as it was dragged, until the service's list has it. */
const useSequence = () => {
  const owner = getOwner()
  const [sequence, setSequence] = useState(/** @type {string[]} */ ([]))
  useEffect(() => void readValue(`sequence ${owner}`).then(stored => setSequence(stored ?? [])), [owner])
  const keep = async (/** @type {string[]} */ waybills) => {
    setSequence(waybills)
    await writeValue(`sequence ${owner}`, waybills)
    await load()
    sync()
  }
  return { sequence, keep }
}

const byPlace = (/** @type {string[]} */ sequence) => {
  const places = new Map(sequence.map((waybill, at) => [waybill, at]))
  const place = parcel => places.get(parcel.waybill_number) ?? sequence.length
  return (a, b) => place(a) - place(b)
}
const byCity = (a, b) => (a.city ?? '').localeCompare(b.city ?? '')

const Totals = ({ counts, cash }) =>
  html`<dl class="tiles totals">
    ${['to_do', 'done', 'failed'].map(
      name => html`<div key=${name}><dt>${t(`state.${name}`)}</dt><dd>${number(counts[name])}</dd></div>`,
    )}
    ${cash !== undefined && html`<div class="cash"><dt>${t('rider.cash')}</dt><dd>${companyMoney(cash)}</dd></div>`}
  </dl>`

const atOnce = 15
/** Holds the place in the list from which the rider last opened a parcel: the next one stands there afterwards. */
let lastPlace = 0

/** Returns how many cards to draw: the first ones, and more as the rider scrolls to the `end` of them. */
const useGrowth = (/** @type {number} */ count) => {
  const [shown, setShown] = useState(lastPlace + atOnce)
  const end = useRef(/** @type {any} */ (null))
  useEffect(() => {
    if (!end.current) return
    const grow = (/** @type {IntersectionObserverEntry[]} */ [{ isIntersecting }]) =>
      isIntersecting && setShown(last => last + atOnce)
    const watcher = new IntersectionObserver(grow, { rootMargin: '600px' })
    watcher.observe(end.current)
    return () => watcher.disconnect()
  }, [shown, count])
  return { shown, end }
}

/** Scrolls back to where the rider was. */
const useLastPlace = list =>
  useLayoutEffect(() => {
    requestAnimationFrame(() => lastPlace > 0 && list.current?.children[lastPlace]?.scrollIntoView({ block: 'center' }))
  }, [])

/** Shows the parcels of the day: those to do in the rider's order, then the others. */
export const List = () => {
  const { list, error } = useRider()
  const [isByCity, setByCity] = useState(ofBrowser.get('courier.rider.by_city') === 'yes')
  const { sequence, keep } = useSequence()
  const { parcels, counts, cash } = view()
  const toDo = parcels.filter(({ state }) => state === 'to_do').sort(isByCity ? byCity : byPlace(sequence))
  const others = parcels.filter(({ state }) => state !== 'to_do')
  const place = useRef(/** @type {any} */ (null))
  const { shown, end } = useGrowth(toDo.length + others.length)
  useLastPlace(place)
  const handle = useDrag(
    place,
    toDo.map(({ waybill_number }) => waybill_number),
    keep,
  )
  const sort = () => {
    ofBrowser.set('courier.rider.by_city', isByCity ? 'no' : 'yes')
    setByCity(!isByCity)
  }
  const draw = parcel => html`<${Stop} key=${parcel.waybill_number} parcel=${parcel} handle=${!isByCity && handle} />`
  if (!list) return html`<h1 tabindex="-1">${t('menu.list')}</h1>${!error && html`<${Loading} lines=${6} />`}`
  return html`<h1 class="hidden" tabindex="-1">${t('menu.list')}</h1>
    <${Totals} counts=${counts} cash=${cash} />
    ${
      toDo.length > 1 &&
      html`<div class="row"><${Button} kind="quiet" aria-pressed=${isByCity ? 'true' : 'false'} onClick=${sort}>
        ${t('rider.by_city')}<//></div>`
    }
    <ol class="stops plain" ref=${place} onClick=${event => {
      lastPlace = [...place.current.children].indexOf(event.target.closest('li'))
    }}>
      ${toDo.slice(0, shown).map(draw)}</ol>
    ${parcels.length === 0 && html`<p class="empty">${t('rider.empty')}</p>`}
    ${
      others.length > 0 &&
      shown >= toDo.length &&
      html`<h2>${t('rider.others')}</h2><ol class="stops plain">
      ${others.slice(0, shown - toDo.length + 1).map(draw)}</ol>`
    }
    ${shown < parcels.length && html`<div ref=${end}></div>`}`
}
