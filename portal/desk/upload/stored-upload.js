// Stores the upload of a person in the browser, and says how far it is.
import { ApiError } from '../../kit/api.js'
import { t } from '../../kit/i18n.js'
import { getSession } from '../../kit/session.js'

/** @import { Row, General } from './check-rows.js' */
/**
 * `status` is the key with which the orders are booked, or which they have since; absent: they are drafts. `rows` come
 * back to the person if the chunk is refused.
 * @typedef {{ key: string, lines: number[], orders: any[], rows?: Row[], status?: string, waybills?: string[],
 *   noDrafts?: number, errors?: Record<string, string[]> }} Chunk
 * @typedef {{ id: string, startedAt: number, general: General, chunks: Chunk[], rest?: Row[] }} Stored
 */

const keptHours = 23

/**
 * Stores or reads an upload. A page that may not store uploads says why: without them it could book a row twice.
 * @template Result @param {IDBTransactionMode} mode @param {(store: IDBObjectStore) => IDBRequest<Result>} act
 * @returns {Promise<Result>}
 */
const inStore = (mode, act) =>
  new Promise((resolve, reject) => {
    // Only pages at secure addresses have locks.
    if (!navigator.locks) throw new ApiError(t('upload.needs_https'), { status: 400 })
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
  }).catch(error => {
    throw error instanceof ApiError ? error : new ApiError(t('upload.not_stored'), { status: 400 })
  })

/** Returns the key of an upload: other people at this machine do not see it. */
const owner = () => `${getSession().tenant} ${getSession().me?.email}`

/** Reads the upload that was begun and not yet put away. @returns {Promise<Stored | undefined>} */
export const readUpload = () => inStore('readonly', store => store.get(owner()))
export const writeUpload = (/** @type {Stored} */ upload) => inStore('readwrite', store => store.put(upload, owner()))
export const putAway = () => inStore('readwrite', store => store.delete(owner()))

export const isElsewhere = () => new ApiError(t('upload.elsewhere'))

/** Lets only one tab begin or book uploads at a time. @template Result @param {() => Promise<Result>} act */
export const alone = act =>
  navigator.locks.request(`upload ${owner()}`, { ifAvailable: true }, lock => {
    if (!lock) throw isElsewhere()
    return act()
  })

export const isLeft = (/** @type {Chunk} */ { waybills, errors }) => !waybills && !errors

/** Returns true when the upload is nearly a day old: orders then forgets the keys. @param {Stored} upload */
export const isTooOld = ({ startedAt }) => Date.now() - startedAt > keptHours * 3_600_000

export const countBooked = (/** @type {Stored} */ { chunks }) =>
  chunks.reduce((sum, { waybills }) => sum + (waybills?.length ?? 0), 0)
export const isDone = (/** @type {Stored} */ { chunks }) => !chunks.some(isLeft)
export const isDraft = (/** @type {Chunk} */ { waybills, status = 'key_1' }) => Boolean(waybills) && status === 'key_1'
export const listDrafts = (/** @type {Stored} */ { chunks }) =>
  chunks.filter(isDraft).flatMap(({ waybills = [] }) => waybills)
/** Lists the rows that a person has neither booked nor left out. @param {Stored} upload */
export const listOpen = ({ rest = [] }) => rest.filter(({ leftOut }) => !leftOut)
