// Books an upload in chunks, each with a key. The browser stores the chunks before it sends them: after a closed tab or
// a lost connection it sends the same chunks with the same keys, and orders books no chunk twice.
import { ApiError, own } from '../../kit/api.js'
import { getSession } from '../../kit/session.js'
import { chunk, retry } from '../merchant.js'
import { ordersAtOnce, toGeneral, toOrder } from './check-rows.js'

/**
 * @typedef {{
 *   key: string, lines: number[], orders: object[], waybills?: string[], errors?: Record<string, string[]>
 * }} Chunk
 * @typedef {{ id: string, startedAt: number, general: object, chunks: Chunk[] }} Stored
 */

const keptHours = 23

/**
 * @template Result
 * @param {IDBTransactionMode} mode
 * @param {(store: IDBObjectStore) => IDBRequest<Result>} act
 * @returns {Promise<Result>}
 */
const inStore = (mode, act) =>
  new Promise((resolve, reject) => {
    const opening = indexedDB.open('courier-desk', 1)
    opening.onupgradeneeded = () => opening.result.createObjectStore('uploads')
    opening.onerror = () => reject(opening.error)
    opening.onsuccess = () => {
      const transaction = opening.result.transaction('uploads', mode)
      const request = act(transaction.objectStore('uploads'))
      transaction.oncomplete = () => {
        opening.result.close()
        resolve(request.result)
      }
      transaction.onabort = () => reject(transaction.error)
    }
  })

/**
 * Returns the key under which this browser stores an upload: company and login. Other people at this machine do not see
 * the upload.
 */
const owner = () => `${getSession().tenant} ${getSession().me?.email}`

/** Reads the upload that was begun and not yet put away. @returns {Promise<Stored | undefined>} */
export const readUpload = () => inStore('readonly', store => store.get(owner()))
const writeUpload = (/** @type {Stored} */ upload) => inStore('readwrite', store => store.put(upload, owner()))
export const putAway = () => inStore('readwrite', store => store.delete(owner()))

/** Lets only one tab begin or book uploads at a time. @template Result @param {() => Promise<Result>} act */
const alone = (/** @type {string} */ elsewhere, act) =>
  navigator.locks.request(`upload ${owner()}`, { ifAvailable: true }, lock => {
    if (!lock) throw new ApiError(elsewhere)
    return act()
  })

/** @param {Chunk} part */
const isLeft = ({ waybills, errors }) => !waybills && !errors

/**
 * Stores an upload, unless another tab has begun one and not ended it: its chunks would be forgotten.
 * @param {import('./check-rows.js').Row[]} rows
 * @param {import('./check-rows.js').General} general
 * @param {string} elsewhere the error when another tab has begun an upload
 * @returns {Promise<Stored>}
 */
export const beginUpload = (rows, general, elsewhere) =>
  alone(elsewhere, async () => {
    if ((await readUpload())?.chunks.some(isLeft)) throw new ApiError(elsewhere)
    const upload = toUpload(rows, general)
    await writeUpload(upload)
    return upload
  })

/** @param {import('./check-rows.js').Row[]} rows @param {import('./check-rows.js').General} general */
const toUpload = (rows, general) => {
  const id = crypto.randomUUID?.() ?? Array.from(crypto.getRandomValues(new Uint32Array(4))).join('-')
  const chunks = chunk(rows, ordersAtOnce).map((some, index) => ({
    key: `desk ${id} ${index}`,
    lines: some.map(({ line }) => line),
    orders: some.map(row => toOrder(row, general)),
  }))
  return { id, startedAt: Date.now(), general: toGeneral(general), chunks }
}

/**
 * Returns true when the upload is nearly a day old: orders then forgets the keys and cannot tell which chunks it
 * booked.
 * @param {Stored} upload
 */
export const isTooOld = ({ startedAt }) => Date.now() - startedAt > keptHours * 3_600_000

/** @param {Stored} upload */
export const countBooked = ({ chunks }) => chunks.reduce((sum, { waybills }) => sum + (waybills?.length ?? 0), 0)

/** @param {Stored} upload @param {Chunk} part */
const bookChunk = async ({ general }, part) => {
  const body = { general_data: general, order_data: part.orders }
  try {
    return { waybills: (await retry(() => own('/order/bulk', { method: 'POST', body, key: part.key }))).data }
  } catch (error) {
    if (error instanceof ApiError && error.status === 422) return { errors: error.errors }
    throw error
  }
}

/**
 * Books the chunks that are not booked yet, in only one tab at a time.
 * @param {Stored} upload @param {(upload: Stored) => void} onProgress
 * @param {string} elsewhere the error when another tab is booking the upload
 */
export const book = (upload, onProgress, elsewhere) =>
  alone(elsewhere, async () => {
    const current = (await readUpload()) ?? upload
    if (current.id !== upload.id) throw new ApiError(elsewhere)
    for (const part of current.chunks.filter(isLeft)) {
      Object.assign(part, await bookChunk(current, part))
      await writeUpload(current)
      onProgress({ ...current })
    }
    return current
  })
