// Keeps the scanned waybills, and the response of the service to each. Only the waybills outlive the page.
import { callOrders } from '../kit/api.js'
import { statusName, t } from '../kit/i18n.js'
import { useEffect, useRef, useState } from '../kit/preact.js'
import { getSession, ofTab, readStored } from '../kit/session.js'

export const maxScanned = 500
const atOnce = 6

/**
 * @typedef {{
 *   waybill: string, order?: any, error?: any, refusal?: { statusKey: string, reason: string }, isRead: boolean
 * }} Item
 */

const storageKey = () => {
  const { tenant, me } = getSession()
  return `courier.scan ${tenant} ${me?.email ?? me?.name}`
}

/** Returns the list, newest first. `isStored`: the list outlives a reload of the page. */
export const useScanList = (isStored = true) => {
  const [, redraw] = useState(0)
  const items = useRef(/** @type {Map<string, Item> | null} */ (null))
  const place = useRef(storageKey()).current
  const stored = isStored ? readStored(place, []) : []
  items.current ??= new Map(stored.map(waybill => [waybill, { waybill, isRead: false }]))
  const list = items.current
  const redrawing = useRef(0)
  const isLeft = useRef(false)
  /** Renders at most every 50 ms, since a list of 500 items is long. */
  const show = () => {
    redrawing.current ||= window.setTimeout(() => {
      redrawing.current = 0
      redraw(count => count + 1)
    }, 50)
  }
  const store = () => isStored && ofTab.set(place, JSON.stringify([...list.keys()]))
  const set = (/** @type {string} */ waybill, /** @type {Partial<Item>} */ changes) => {
    const item = list.get(waybill)
    if (item) list.set(waybill, { ...item, ...changes })
  }
  /** Resolves to the item in its new state. undefined: the item was dropped meanwhile. */
  const check = async (/** @type {string} */ waybill) => {
    await callOrders(`/order/${encodeURIComponent(waybill)}`).then(
      ({ data }) => set(waybill, { order: data, error: undefined, isRead: true }),
      error => set(waybill, { order: undefined, error, isRead: true }),
    )
    show()
    return list.get(waybill)
  }
  const checkAll = async (/** @type {string[]} */ waybills) => {
    const left = [...waybills]
    const next = async () => {
      for (let waybill = left.shift(); waybill !== undefined && !isLeft.current; waybill = left.shift())
        await check(waybill)
    }
    await Promise.all(Array.from({ length: atOnce }, next))
  }
  useEffect(() => {
    let timer = 0
    /** Reads the items that were not read yet or could not be read, until all are read. */
    const checkUnread = async (/** @type {Item[]} */ unread) => {
      if (getSession().token) await checkAll(unread.map(({ waybill }) => waybill))
      const failed = [...list.values()].filter(({ error }) => error?.status === 401 || error?.againAfter > 0)
      const wait = Math.max(5, ...failed.map(({ error }) => error.againAfter))
      if (!isLeft.current) timer = window.setTimeout(() => checkUnread(failed), wait * 1000)
    }
    checkUnread([...list.values()])
    return () => {
      isLeft.current = true
      clearTimeout(timer)
    }
  }, [])
  return {
    items: [...list.values()].reverse(),
    has: (/** @type {string} */ waybill) => list.has(waybill),
    isFull: () => list.size >= maxScanned,
    add: (/** @type {string} */ waybill) => {
      list.set(waybill, { waybill, isRead: false })
      store()
      show()
      return check(waybill)
    },
    /** Adds many at once, and renders at once. */
    addAll: (/** @type {string[]} */ waybills) => {
      for (const waybill of waybills) list.set(waybill, { waybill, isRead: false })
      redraw(count => count + 1)
      return checkAll(waybills)
    },
    drop: (/** @type {string[]} */ waybills) => {
      for (const waybill of waybills) list.delete(waybill)
      store()
      // Renders at once: the next action of the person is meant for the other items.
      redraw(count => count + 1)
    },
    set: (/** @type {string[]} */ waybills, /** @type {(item: Item) => Partial<Item>} */ change) => {
      for (const waybill of waybills) set(waybill, change(/** @type {Item} */ (list.get(waybill) ?? {})))
      show()
    },
    check,
    checkAll,
  }
}

/** Returns the moves that any item may make; the moves that all items may make come first. @param {Item[]} items */
export const listMoves = items => {
  const moves = new Map()
  for (const { order } of items)
    for (const move of order?.moves ?? [])
      moves.set(move.status_key, { ...move, count: (moves.get(move.status_key)?.count ?? 0) + 1 })
  return [...moves.values()].sort((a, b) => b.count - a.count)
}

/** Returns why an item may not move to a status. undefined: it may. @param {Item} item @param {string} statusKey */
export const findRefusal = ({ order, error, refusal, isRead }, statusKey) => {
  if (!isRead) return t('scan.reading')
  if (!order) return error?.status === 404 ? t('scan.unknown') : (error?.message ?? t('scan.reading'))
  if (refusal && refusal.statusKey === statusKey) return refusal.reason
  if (statusKey && !order.moves.some(move => move.status_key === statusKey))
    return t('scan.illegal', { status: statusName(order.status.name) })
  return undefined
}
