// Sends requests to the two services, using only their documented operations.
import { t } from './i18n.js'
import { endSession, face, getSession } from './session.js'

/** Represents a failed request, in the words of the service that refused it, or else of this page. */
export class ApiError extends Error {
  /**
   * @param {string} message
   * @param {{ status?: number, code?: string, errors?: Record<string, string[]>, retryAfter?: number }} about
   */
  constructor(message, { status = 0, code, errors = {}, retryAfter = 0 } = {}) {
    super(message)
    this.status = status
    this.code = code
    this.errors = errors
    /** Holds seconds; 0: not given. */
    this.retryAfter = retryAfter
    const mayPass = status === 0 || status === 429 || status >= 500
    /** Holds the seconds until a read is repeated; 0: never. */
    this.againAfter = mayPass ? Math.min(Math.max(retryAfter, 5), 60) : 0
  }
}

/**
 * @typedef {{
 *   method?: string, body?: unknown, key?: string, ifMatch?: string, signal?: AbortSignal, as?: 'json' | 'blob',
 *   token?: string | null
 * }} Options
 */

/** Holds the address one level above the page: its service's address, even if a proxy serves it below a path. */
const notifierUrl = new URL('..', document.baseURI).href.replace(/\/$/, '')
/** The desk comes from orders itself. */
let ordersUrl = notifierUrl
/** @type {string[]} */
let operations = []
const timeoutMs = { json: 30_000, blob: 120_000 }

/** Reads the address of orders, and which operations are served. */
export const readSettings = async () => {
  // The rider's page is served by orders itself, and opens without a network.
  if (face === 'rider') return
  const settings = await (await fetch('settings.json')).json()
  ordersUrl = settings.orders_url?.replace(/\/$/, '') ?? ordersUrl
  operations = settings.operations
}

/** Lists the operationIds that the page's service serves; for the console, also all of orders for staff. */
export const listServed = () => operations

const slowMs = 5_000
let slow = 0
/** @type {Set<(isWaiting: boolean) => void>} */
const watchers = new Set()

/** Calls `watch` when a request has waited for five seconds, and when none waits any more. Returns its end. */
export const watchWaiting = (/** @type {(isWaiting: boolean) => void} */ watch) => {
  watchers.add(watch)
  return () => watchers.delete(watch)
}

/** @param {string} url @param {Options} options */
const request = (url, options) => {
  let waits = 0
  const count = (/** @type {number} */ change) => {
    waits += change
    slow += change
    for (const watch of watchers) watch(slow > 0)
  }
  const timer = setTimeout(count, slowMs, 1)
  return send(url, options).finally(() => {
    clearTimeout(timer)
    if (waits > 0) count(-1)
  })
}

/** Returns a signal that aborts with the first one; the oldest browsers lack AbortSignal.any. */
const endWith = (/** @type {(AbortSignal | undefined)[]} */ ...signals) => {
  const end = new AbortController()
  for (const signal of signals) {
    if (signal?.aborted) end.abort(signal.reason)
    signal?.addEventListener('abort', () => end.abort(signal.reason), { signal: end.signal })
  }
  return end.signal
}

/** @param {string} url @param {Options} options */
const send = async (url, { method = 'GET', body, key, ifMatch, signal, as = 'json', token = getSession().token }) => {
  const { tenant } = getSession()
  const headers = {
    'x-tenant': tenant,
    ...(token && { authorization: `Bearer ${token}` }),
    ...(body !== undefined && { 'content-type': 'application/json' }),
    ...(key && { 'idempotency-key': key }),
    ...(ifMatch && { 'if-match': ifMatch }),
  }
  const end = endWith(AbortSignal.timeout(timeoutMs[as]), signal)
  const unreachable = (/** @type {unknown} */ error) => {
    throw signal?.aborted ? error : new ApiError(t('error.unreachable'))
  }
  const init = { method, headers, signal: end, ...(body !== undefined && { body: JSON.stringify(body) }) }
  const response = await fetch(url, init).catch(unreachable)
  if (response.ok) {
    const content = await response[as]().catch(unreachable)
    const read = (/** @type {string} */ header) => response.headers.get(header)
    if (as === 'blob') return Object.assign(content, { warnings: read('x-print-warnings') })
    return { ...content, etag: read('etag') }
  }
  const {
    message = t('error.status', { status: response.status }),
    code,
    errors,
  } = await response.json().catch(() => ({}))
  if (response.status === 401 && token) endSession(token)
  const retryAfter = Number(response.headers.get('retry-after')) || 0
  throw new ApiError(message, { status: response.status, code, errors, retryAfter })
}

const ordersPath = face === 'desk' ? '/api/public/merchant' : '/api/staff'

/** Sends a request to the face's own part of orders. @param {string} path such as /order @param {Options} [options] */
export const callOrders = (path, options = {}) => request(ordersUrl + ordersPath + path, options)

/** @param {string} path such as /api/messages @param {Options} [options] */
export const callNotifier = (path, options = {}) => request(notifierUrl + path, options)

/** Returns a path with the given values as its query. @param {string} path @param {Record<string, unknown>} query */
export const withQuery = (path, query) => {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== '')
  return given.length > 0 ? `${path}?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}` : path
}

/** Makes a value for the Idempotency-Key header, and for the id of a rider's act. */
export const newKey = () => crypto.randomUUID?.() ?? Array.from(crypto.getRandomValues(new Uint32Array(4))).join('-')

/**
 * Makes keys for one action of a person: each body keeps its key until its request succeeds, whatever is sent between,
 * so that repetitions take effect once.
 */
export const newKeys = () => {
  /** @type {Map<string, string>} */
  const keys = new Map()
  let last = ''
  return {
    of: (/** @type {unknown} */ body) => {
      last = JSON.stringify(body)
      const key = keys.get(last) ?? newKey()
      keys.set(last, key)
      return key
    },
    done: () => keys.delete(last),
  }
}
