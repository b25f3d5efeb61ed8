// Sends the acts in order, one tab at a time, and reads the list once none is left. An act is sent again, with its id,
// until the service says what became of it.

import { ApiError, callNotifier, callOrders } from '../kit/api.js'
import { t } from '../kit/i18n.js'
import { getSession } from '../kit/session.js'
import {
  addActs,
  changeState,
  getOwner,
  getState,
  isHeld,
  isOpen,
  isUnsent,
  listImages,
  load,
  readActs,
  undoMs,
} from './queue.js'
import { changeAct, inStore, readValue, writeValue } from './store.js'

/** @import { Act } from './queue.js' */

const maxActs = 100
/** The service waits five seconds for a request, in which 64 kbit/s carry 40,000 bytes. */
const sliceBytes = 24_000
/** Holds the size of the next part of an image, which follows what the connection carried so far. */
let partBytes = 16_000
const maxPartBytes = 128_000
const minPartBytes = 4_000
const readSeconds = 300
const retrySeconds = 15

/** @param {Blob} blob @returns {Promise<string>} */
const toBase64 = blob =>
  new Promise((resolve, reject) => {
    const reader = new FileReader()
    reader.onload = () => resolve(String(reader.result).replace(/^[^,]*,/, ''))
    reader.onerror = () => reject(reader.error)
    reader.readAsDataURL(blob)
  })

const toBody = (/** @type {Act} */ act) => {
  const { seq, owner, by, heldUntil, state, settledAt, code, message, proof, ...body } = act
  if (!proof) return body
  const { photo, signature, ...texts } = proof
  const sizes = listImages(act).map(({ kind, image }) => [kind, image.size])
  return { ...body, proof: { ...texts, ...(sizes.length > 0 && { follows: Object.fromEntries(sizes) }) } }
}

/** Marks the next acts of the owner as being sent, so that nobody undoes them, and returns them with their bodies. */
const takeSlice = async (/** @type {string} */ owner) => {
  const slice = []
  let bytes = 0
  for (const act of (await readActs()).filter(act => act.owner === owner && isOpen(act))) {
    if (isHeld(act)) break
    const body = toBody(act)
    bytes += JSON.stringify(body).length
    if (slice.length === maxActs || (slice.length > 0 && bytes > sliceBytes)) break
    if (await changeAct(act.seq, now => ({ ...now, state: 'sending' }))) slice.push({ act, body })
  }
  return slice
}

/** Posts acts. Acts of a rider who was deactivated meanwhile arrive too: the company decides. */
const post = (/** @type {any[]} */ acts, /** @type {string | null} */ token) => {
  const options = { method: 'POST', body: { acts }, token }
  return callOrders('/rider/acts', options).catch(error => {
    if (error.status !== 401) throw error
    return callNotifier('/api/public/rider/acts', options).catch(() => {
      throw error
    })
  })
}

/** Returns what became of the acts whose body the service refused: without this, they would hold up all others. */
const readRefusal = (/** @type {ApiError} */ error, /** @type {any[]} */ bodies) => {
  const refuse = (/** @type {number} */ at, /** @type {string} */ message) => ({
    id: bodies[at].id,
    outcome: 'refused',
    code: 'shape',
    message,
  })
  const found = Object.entries(error.errors).flatMap(([path, sentences]) => {
    const [, at] = /^acts\.(\d+)\b/.exec(path) ?? []
    return at && bodies[Number(at)] ? [refuse(Number(at), sentences.join(' '))] : []
  })
  if (error.status === 422 && found.length > 0) return found
  if (error.status === 413 && bodies.length === 1) return [refuse(0, error.message)]
  throw error
}

const settle = async (/** @type {Act} */ act, /** @type {any} */ { outcome, code, message }) => {
  const settledAt = Date.now()
  if (act.kind === 'drop') {
    const dropped = getState().acts.find(({ id }) => id === act.act)
    if (dropped) await changeAct(dropped.seq, () => null)
    return changeAct(act.seq, () => null)
  }
  const isStored = code !== 'shape' && code !== 'reused'
  await changeAct(act.seq, now => ({
    ...now,
    proof: isStored ? Object.fromEntries(listImages(now).map(({ kind, image }) => [kind, image])) : {},
    settledAt,
    ...(outcome === 'done' ? { state: 'done' } : { state: 'refused', code, message }),
  }))
}

/** Sends the next acts; returns false if none is due. */
const sendSlice = async (/** @type {string} */ owner, /** @type {string | null} */ token) => {
  const slice = await takeSlice(owner)
  if (slice.length === 0) return false
  await load()
  const bodies = slice.map(({ body }) => body)
  const outcomes = await post(bodies, token).then(
    ({ data }) => data,
    error => readRefusal(error, bodies),
  )
  for (const outcome of outcomes) {
    const sent = slice.find(({ act }) => act.id === outcome.id)
    if (sent) await settle(sent.act, outcome)
  }
  await load()
  return true
}

/** Holds how much of each image the service has, by the act's id and the kind. @type {Map<string, number>} */
const received = new Map()

/** Sends the next part of an image whose act has an outcome; returns false if there is none. */
const sendPart = async (/** @type {string} */ owner, /** @type {string | null} */ token) => {
  const act = (await readActs()).find(act => act.owner === owner && !isOpen(act) && isUnsent(act))
  if (!act) return false
  const [{ kind, image }] = listImages(act)
  const offset = received.get(`${act.id} ${kind}`) ?? 0
  const bytes = await toBase64(image.slice(offset, offset + partBytes))
  const began = performance.now()
  const body = { act: act.id, kind, offset, bytes }
  const options = { method: 'POST', body, token }
  const { data } = await callNotifier('/api/public/rider/proof-part', options).catch(error => {
    // The service keeps proofs for some months only.
    if (error.status === 404) return { data: { received: 0, is_complete: true } }
    partBytes = Math.max(minPartBytes, partBytes / 2)
    throw error
  })
  if (performance.now() - began < 1_000) partBytes = Math.min(maxPartBytes, partBytes * 2)
  received.set(`${act.id} ${kind}`, data.received)
  if (data.is_complete) await forgetImage(act, kind)
  return true
}

const forgetImage = async (/** @type {Act} */ { seq }, /** @type {string} */ kind) => {
  await changeAct(seq, ({ proof: { [kind]: _, ...proof }, ...now }) => ({ ...now, proof }))
  await load()
}

/** Lists what a person may have read before the office changed it. */
const shown = ['customer_name', 'customer_address', 'city', 'customer_phone', 'cod', 'remark']

/** Keeps what a changed parcel said before, and parcels that are gone while acts about them have no outcome. */
const mergeLists = (/** @type {any} */ before, /** @type {any} */ list) => {
  const old = new Map(before?.parcels.map(parcel => [parcel.waybill_number, parcel]))
  const parcels = list.parcels.map(parcel => {
    const known = old.get(parcel.waybill_number)
    const changed = known && shown.filter(name => known[name] !== parcel[name])
    const was = { ...known?.was, ...Object.fromEntries((changed ?? []).map(name => [name, known[name]])) }
    return Object.keys(was).length > 0 ? { ...parcel, was } : parcel
  })
  const now = new Set(parcels.map(parcel => parcel.waybill_number))
  const waiting = new Set(getState().acts.flatMap(act => (act.state === 'done' ? [] : [act.waybill_number])))
  const gone = [...old.values()].filter(({ waybill_number: waybill }) => waiting.has(waybill) && !now.has(waybill))
  return { ...list, parcels: [...parcels, ...gone.map(parcel => ({ ...parcel, isGone: true }))] }
}

const refresh = async (/** @type {string} */ owner, /** @type {string | null} */ token) => {
  const done = (await readActs()).filter(act => act.owner === owner && act.state === 'done' && !isUnsent(act))
  const readAt = Date.now()
  const { data } = await callOrders('/rider/parcels', { token })
  const list = { ...data, readAt, skewMs: Date.now() - Date.parse(data.as_of) }
  await writeValue(`list ${owner}`, mergeLists(await readValue(`list ${owner}`), list))
  for (const { seq } of done) await changeAct(seq, () => null)
}

/** Tells the service the order into which the rider dragged the list; until then it stays on the phone alone. */
const sendSequence = async (/** @type {string} */ owner, /** @type {string | null} */ token) => {
  const waybill_numbers = await readValue(`sequence ${owner}`)
  if (!waybill_numbers) return
  await callOrders('/rider/sequence', { method: 'POST', body: { waybill_numbers }, token })
  // The rider may have dragged on meanwhile: one transaction compares and deletes.
  await inStore('values', 'readwrite', store => {
    const reading = store.get(`sequence ${owner}`)
    const end = () => String(reading.result) === String(waybill_numbers) && store.delete(`sequence ${owner}`)
    if ('readyState' in reading) reading.onsuccess = end
    else end()
    return reading
  })
}

const run = async () => {
  const owner = getOwner()
  const { token } = getSession()
  if (!owner || !token) return
  changeState({ isSending: true })
  /** @type {ApiError | undefined} */
  let error
  const note = (/** @type {any} */ thrown) => {
    error ??= thrown instanceof ApiError ? thrown : new ApiError(thrown?.message ?? t('error.unreachable'))
  }
  await (async () => {
    let isNew = true
    do {
      while (await sendSlice(owner, token)) isNew = true
      await sendSequence(owner, token)
      // The images of a rider who was deactivated follow, though no list does.
      if (isNew) await refresh(owner, token).catch(note)
      isNew = false
    } while (await sendPart(owner, token))
  })().catch(note)
  changeState({ isSending: false, error })
  await load()
}

/** @type {Promise<unknown>} */
let last = Promise.resolve()
/** Lets one tab send at a time. Without locks, such as on plain http, two tabs may send an act: it counts once. */
const alone = (/** @type {() => Promise<void>} */ act) => {
  last = navigator.locks ? navigator.locks.request('courier-rider', act) : last.then(act)
  return last
}

let isAsked = false
let timer = 0
/** Sends what is due, and again later while the page is visible. */
export const sync = async () => {
  if (isAsked) return
  isAsked = true
  clearTimeout(timer)
  await alone(async () => {
    isAsked = false
    await run()
  })
  const { acts, error } = getState()
  const seconds = error ? Math.max(retrySeconds, error.againAfter) : readSeconds
  plan(acts.some(isHeld) ? undoMs : seconds * 1000)
}

const plan = (/** @type {number} */ ms) => {
  clearTimeout(timer)
  const isWanted = () => document.visibilityState === 'visible' || getState().acts.some(isUnsent)
  timer = window.setTimeout(() => isWanted() && sync(), ms)
}

/** Stores acts of one press, and sends them once they can no longer be undone. */
export const act = async (/** @type {any[]} */ ...acts) => {
  await addActs(...acts)
  plan(undoMs + 50)
}

/** Sends when the page opens, is seen again and comes online. */
export const startSync = () => {
  addEventListener('online', sync)
  document.addEventListener('visibilitychange', () => document.visibilityState === 'visible' && sync())
  return load().then(sync)
}
