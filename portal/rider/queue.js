// Holds what the rider sees: the list as the service sent it last, and the acts since, each with an id of its own.

import { newKey } from '../kit/api.js'
import { useEffect, useState } from '../kit/preact.js'
import { getSession } from '../kit/session.js'
import { changeAct, inStore, readValue } from './store.js'

/**
 * An act is stored before the rider sees it, and is sent once its five seconds are over. `done` acts stay until a list
 * that was read later shows what they did.
 * @typedef {{
 *   seq: number, id: string, owner: string, by: string, kind: 'deliver' | 'fail' | 'hand_back' | 'take' | 'drop',
 *   waybill_number: string, happened_at: string, heldUntil: number, state: 'waiting' | 'sending' | 'done' | 'refused',
 *   settledAt?: number, code?: string, message?: string, cod?: number, amount?: number, method?: string,
 *   reason?: string, partly?: boolean, reason_code?: string, note?: string, act?: string,
 *   proof?: { photo?: Blob, signature?: Blob, code?: string, without?: string }
 * }} Act
 */

/** A new act waits this long, in which the rider can undo it, before it is sent. */
export const undoMs = 5_000
/** @type {{ list: any, acts: Act[], others: Act[], isSending: boolean, error: any }} */
let state = { list: undefined, acts: [], others: [], isSending: false, error: undefined }
/** @type {Set<() => void>} */
const listeners = new Set()
export const getState = () => state
export const changeState = (/** @type {Partial<typeof state>} */ changes) => {
  state = { ...state, ...changes }
  for (const listener of listeners) listener()
}

export const useRider = () => {
  const [, redraw] = useState(0)
  useEffect(() => {
    const listener = () => redraw(count => count + 1)
    listeners.add(listener)
    return () => listeners.delete(listener)
  }, [])
  return state
}

/** Returns whose acts these are: another rider who signs in on this phone does not send them. */
export const getOwner = () => {
  const { me } = getSession()
  return me?.id ? `${me.tenant.id} ${me.id}` : ''
}

/** Other tabs read the store again when it changed. */
const tabs = 'BroadcastChannel' in window ? new BroadcastChannel('courier-rider') : undefined

export const readActs = () => inStore('acts', 'readonly', store => store.getAll())

/** Reads the store; `isOwn`: this tab changed it. */
export const load = async (isOwn = true) => {
  const owner = getOwner()
  const [stored, list] = await Promise.all([readActs(), owner ? readValue(`list ${owner}`) : undefined])
  const own = stored.filter((/** @type {Act} */ act) => act.owner === owner)
  changeState({ list, acts: own, others: stored.filter(act => act.owner !== owner && isUnsent(act)) })
  if (isOwn) tabs?.postMessage('changed')
}
if (tabs) tabs.onmessage = () => load(false)

/** Returns true for an act that has no outcome yet. */
export const isOpen = (/** @type {Act} */ { state }) => state === 'waiting' || state === 'sending'
/** Lists the images of an act that are on this phone, by their kind. They follow once the act has an outcome. */
export const listImages = (/** @type {Act} */ { proof = {} }) =>
  Object.entries(proof).flatMap(([kind, value]) => (value instanceof Blob ? [{ kind, image: value }] : []))
/** Returns true for what has not wholly left this phone: an act, or the images that follow it. */
export const isUnsent = (/** @type {Act} */ act) => isOpen(act) || listImages(act).length > 0
/** A clock that was set back holds no act for longer. */
export const isHeld = (/** @type {Act} */ { state, heldUntil }) =>
  state === 'waiting' && heldUntil > Date.now() && heldUntil <= Date.now() + undoMs

/** Stores acts of one press; `onDue` runs when they may be sent. */
export const addActs = async (/** @type {any[]} */ ...added) => {
  const common = { owner: getOwner(), by: getSession().me?.name, state: 'waiting', heldUntil: Date.now() + undoMs }
  const happened_at = new Date().toISOString()
  await inStore('acts', 'readwrite', store =>
    added.map(act => store.put({ ...act, ...common, happened_at, id: newKey() })).at(-1),
  )
  await load()
}

/** Takes the acts of the last press back, if none was sent yet. */
export const undo = async (/** @type {string} */ waybill) => {
  const held = state.acts.filter(act => isHeld(act) && act.waybill_number === waybill)
  for (const { seq } of held) await changeAct(seq, act => (act.state === 'waiting' ? null : undefined))
  await load()
}

/** Lists the refused acts: those on this phone, and those of other phones that wait for a decision. */
export const listRefused = () => {
  const { list, acts } = state
  const own = new Set(acts.map(({ id }) => id))
  const elsewhere = (list?.refused ?? []).filter(({ id }) => !own.has(id))
  return [...acts.filter(({ state }) => state === 'refused'), ...elsewhere.map(each => ({ ...each, state: 'refused' }))]
}

const after = { deliver: 'done', fail: 'failed', hand_back: 'gone', take: 'to_do' }

/**
 * Returns the parcels as they are once every act has arrived, with the counts and the cash in hand.
 * @returns {{ parcels: any[], counts: Record<string, number>, cash: number | undefined }}
 */
export const view = () => {
  const { list, acts } = state
  const pending = acts.filter(act => isOpen(act) || (act.state === 'done' && !(Number(act.settledAt) < list?.readAt)))
  const last = new Map(pending.flatMap(act => (act.kind === 'drop' ? [] : [[act.waybill_number, act]])))
  const known = new Set(list?.parcels.map(parcel => parcel.waybill_number))
  const taken = pending.filter(({ kind, waybill_number }) => kind === 'take' && !known.has(waybill_number))
  const parcels = [...taken.map(({ waybill_number }) => ({ waybill_number, state: 'to_do', isTaken: true }))]
    .concat(list?.parcels ?? [])
    .map(parcel => {
      const act = last.get(parcel.waybill_number)
      return act ? { ...parcel, state: after[act.kind], waits: isOpen(act) } : parcel
    })
  const inCash = pending.filter(({ kind, method = 'cash' }) => kind === 'deliver' && method === 'cash')
  const count = (/** @type {string} */ wanted) => parcels.filter(({ state }) => state === wanted).length
  return {
    parcels,
    counts: { to_do: count('to_do'), done: count('done'), failed: count('failed') },
    cash: list?.money ? inCash.reduce((sum, { amount = 0 }) => sum + amount, list.cash.amount) : undefined,
  }
}
