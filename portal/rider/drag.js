import { announce } from '../kit/actions.js'
import { number, t } from '../kit/i18n.js'
import { useRef } from '../kit/preact.js'

/** Scrolls the page while a finger is that close to an edge, in pixels. */
const edge = 90

/**
 * Returns the listeners of a handle that drags a row of a list, or moves it with the arrow keys: `keep` gets the new
 * order. The rows have `data-waybill`.
 */
export const useDrag = (list, /** @type {string[]} */ waybills, /** @type {(order: string[]) => unknown} */ keep) => {
  const over = useRef(/** @type {Element | null} */ (null))
  const mark = (/** @type {Element | null} */ row) => {
    over.current?.classList.remove('over')
    row?.classList.add('over')
    over.current = row
  }
  const move = (/** @type {string} */ waybill, /** @type {number} */ to) => {
    if (to < 0 || to >= waybills.length || waybills[to] === waybill) return
    const others = waybills.filter(each => each !== waybill)
    keep([...others.slice(0, to), waybill, ...others.slice(to)])
    announce(t('rider.moved_to', { place: number(to + 1), count: number(waybills.length) }))
  }
  const findRow = event => {
    const row = document.elementFromPoint(event.clientX, event.clientY)?.closest('[data-waybill]') ?? null
    return row && list.current?.contains(row) ? row : null
  }
  return (/** @type {string} */ waybill) => ({
    onPointerDown: event => event.currentTarget.setPointerCapture(event.pointerId),
    onPointerMove: event => {
      if (!event.currentTarget.hasPointerCapture(event.pointerId)) return
      if (event.clientY < edge * 2) scrollBy(0, -12)
      if (event.clientY > innerHeight - edge) scrollBy(0, 12)
      mark(findRow(event) ?? over.current)
    },
    onPointerUp: () => {
      const target = over.current instanceof HTMLElement ? over.current.dataset.waybill : undefined
      mark(null)
      if (target) move(waybill, waybills.indexOf(target))
    },
    onPointerCancel: () => mark(null),
    onKeyDown: event => {
      const step = { ArrowUp: -1, ArrowDown: 1 }[event.key]
      if (!step) return
      event.preventDefault()
      move(waybill, waybills.indexOf(waybill) + step)
    },
  })
}
