// Books an upload in chunks, each with a key. The browser stores the chunks first, and after a closed tab or a lost
// connection sends the same with the same keys: orders books no chunk twice. The rows not booked yet stay beside them.
import { ApiError, callOrders } from '../../kit/api.js'
import { chunk, retry } from '../merchant.js'
import { addErrors, ordersAtOnce, toGeneral, toOrder } from './check-rows.js'
import { alone, isDraft, isElsewhere, isLeft, isTooOld, listOpen, readUpload, writeUpload } from './stored-upload.js'

/** @import { Row, General } from './check-rows.js' @import { Chunk, Stored } from './stored-upload.js' */

/** Reads the upload that this tab shows, unless another tab has begun one or gone on with this one meanwhile. */
const readCurrent = async (/** @type {Stored | undefined} */ shown) => {
  const current = await readUpload()
  const isSame = current?.id === shown?.id && current?.chunks.length === shown?.chunks.length
  const isEnded = !current || isTooOld(current) || !current.chunks.some(isLeft)
  if (isEnded && (isSame || (!shown && !(current && listOpen(current).length)))) return shown && current
  throw isElsewhere()
}

/**
 * Stores rows as chunks of the upload that the tab shows, or of a new one, and beside them the `rest` that a person
 * corrects later. Refuses while another tab has an upload that is not ended.
 * @param {{ good: Row[], rest: Row[], general: General, status: string }} checked
 * @param {Stored | undefined} shown @returns {Promise<Stored>}
 */
export const beginUpload = ({ good, rest, general, status }, shown) =>
  alone(async () => {
    const { id, chunks: before } = (await readCurrent(shown)) ?? { id: newId(), chunks: [] }
    const ended = before.filter(part => !isLeft(part))
    const chunks = chunk(good, ordersAtOnce).map((rows, index) => ({
      key: `desk ${id} ${before.length + index}`,
      lines: rows.map(({ line }) => line),
      orders: rows.map(row => ({ ...toOrder(row, general), initial_status_key: status })),
      rows,
      status,
    }))
    const upload = { id, startedAt: Date.now(), general, chunks: [...ended, ...chunks], rest }
    await writeUpload(upload)
    return upload
  })

const newId = () => crypto.randomUUID?.() ?? Array.from(crypto.getRandomValues(new Uint32Array(4))).join('-')

/** Stores what a person has corrected. @param {Stored} shown @param {Row[]} rest */
export const storeRest = (shown, rest) =>
  alone(async () => {
    const current = await readCurrent(shown)
    if (current) await writeUpload({ ...current, rest })
  })

/** @param {Stored} upload @param {Chunk} part */
const bookChunk = async ({ general }, part) => {
  const body = { general_data: toGeneral(general), order_data: part.orders }
  const path = part.orders[0].shop_id ? '/shop-order/book' : '/order/bulk'
  const send = () => callOrders(path, { method: 'POST', body, key: part.key })
  const result = await retry(send).catch(error => error)
  if (!(result instanceof Error)) return { waybills: result.data }
  if (result instanceof ApiError && result.status === 422) return { errors: result.errors }
  throw result
}

/** Gives the rows of a refused chunk back to the person. */
const giveBack = (/** @type {Stored} */ upload, /** @type {Chunk} */ { rows = [], errors = {} }) => {
  addErrors(rows, errors)
  upload.rest = [...(upload.rest ?? []), ...rows].sort((a, b) => a.line - b.line)
}

/** Books the chunks that are not booked yet. @param {Stored} upload @param {(upload: Stored) => void} onProgress */
export const book = (upload, onProgress) =>
  alone(async () => {
    const current = (await readUpload()) ?? upload
    if (current.id !== upload.id) throw isElsewhere()
    for (const part of current.chunks.filter(isLeft)) {
      Object.assign(part, await bookChunk(current, part))
      if (part.errors) giveBack(current, part)
      delete part.rows
      await writeUpload(current)
      onProgress({ ...current })
    }
    return current
  })

/** Confirms all drafts, but those confirmed or cancelled meanwhile. @param {Stored} upload */
export const confirmDrafts = upload =>
  alone(async () => {
    const current = (await readUpload()) ?? upload
    for (const part of current.chunks.filter(isDraft)) {
      const confirmed = await confirmAll(part.waybills ?? [], part.key)
      Object.assign(part, { status: 'key_2', noDrafts: (part.waybills ?? []).length - confirmed })
      await writeUpload(current)
    }
    return current
  })

/** Returns how many were confirmed. @param {string[]} waybills @param {string} key @returns {Promise<number>} */
const confirmAll = async (waybills, key) => {
  if (waybills.length === 0) return 0
  const request = { method: 'POST', body: { waybill_numbers: waybills }, key: `${key} confirm ${waybills.length}` }
  const result = await retry(() => callOrders('/order/confirm', request)).catch(error => error)
  if (!(result instanceof ApiError)) return waybills.length
  const left = waybills.filter((_, index) => !result.errors[`waybill_numbers.${index}`])
  if (result.status !== 422 || left.length === waybills.length) throw result
  return confirmAll(left, key)
}
