// Keeps the session of the signed-in person. The token lives as long as the tab, or a rider's as long as the browser
// keeps it; it is never part of an address. Keeps what the browser stores.
import { useEffect, useState } from './preact.js'

/** @typedef {{ name: string, email: string | null, role: string, operations: string[],
 *   id?: string, tenant: { id: string, name: string, currency: string, decimals: number, country: string,
 *     time_zone: string, secondary_phone?: boolean } }} Me
 */
/** @typedef {{ tenant: string, token: string | null, me: Me | null }} Session */

/**
 * Returns texts that the browser stores. They last as long as the page where the browser denies storage, which throws
 * at any use, or has no room. @param {'localStorage' | 'sessionStorage'} kind
 */
const openStore = kind => {
  /** @type {Map<string, string>} */
  const values = new Map()
  const stored = (/** @type {(storage: Storage) => any} */ act) => {
    try {
      return act(window[kind])
    } catch {
      return undefined
    }
  }
  return {
    get: (/** @type {string} */ name) => stored(storage => storage.getItem(name)) ?? values.get(name),
    set: (/** @type {string} */ name, /** @type {string} */ value) => {
      values.set(name, value)
      stored(storage => storage.setItem(name, value))
    },
    remove: (/** @type {string} */ name) => {
      values.delete(name)
      stored(storage => storage.removeItem(name))
    },
    isKept: () => stored(storage => typeof storage.getItem('') !== 'undefined') ?? false,
  }
}
/** Holds what this tab keeps, and what all tabs of the browser keep. */
export const ofTab = openStore('sessionStorage')
export const ofBrowser = openStore('localStorage')

/** Reads a stored value. Returns `none` if the value is missing or damaged. @param {string} name @param {any} none */
export const readStored = (name, none, store = ofTab) => {
  try {
    return JSON.parse(store.get(name) ?? 'null') ?? none
  } catch {
    return none
  }
}

/** Names the face of this page: console, desk or rider. They may share an origin. */
export const { face } = document.documentElement.dataset
const key = face === 'console' ? 'courier' : `courier.${face}`
/** The rider's page opens without a network: it keeps the session, and whose it is, in the browser. */
const isRider = face === 'rider'
const store = isRider ? ofBrowser : ofTab
/** @type {Session} */
let session = { tenant: '', token: null, me: null, ...readStored(key, {}, store) }
/** @type {Set<() => void>} */
const listeners = new Set()

export const getSession = () => session

/** @param {Partial<Session>} changes */
export const changeSession = changes => {
  session = { ...session, ...changes }
  const { tenant, token } = session
  if (token) store.set(key, JSON.stringify(isRider ? session : { tenant, token }))
  else store.remove(key)
  for (const listener of listeners) listener()
}

/**
 * Ends the session of this token only: a late response to a request with an older token changes nothing.
 * @param {string | null} token
 */
export const endSession = token => {
  if (token === session.token) changeSession({ token: null })
}

const lendSeconds = 60
/**
 * Lends the session to a tab that a person opens from a link of this page, such as by Ctrl-click: such a tab starts
 * without what this tab stores. The page lends it once for each press of a link, to a tab that opens this very link.
 */
const channel = 'BroadcastChannel' in window ? new BroadcastChannel(key) : undefined
let pressed = { hash: '', at: 0 }
for (const type of ['pointerdown', 'click', 'contextmenu'])
  addEventListener(
    type,
    ({ target }) => {
      const link = target instanceof Element && target.closest('a[href^="#/"]')
      if (link instanceof HTMLAnchorElement) pressed = { hash: link.hash, at: Date.now() }
    },
    true,
  )
channel?.addEventListener('message', ({ data: { wanted, by } }) => {
  const isLent = wanted && wanted === pressed.hash && Date.now() - pressed.at < lendSeconds * 1000
  if (!isLent || !session.token) return
  pressed = { hash: '', at: 0 }
  channel.postMessage({ to: by, lent: { tenant: session.tenant, token: session.token } })
})

/** Asks the tab that opened this one for its session; waits for a moment. */
export const borrowSession = async () => {
  if (session.token || !location.hash || !channel) return
  const by = Math.random()
  await new Promise(resolve => {
    setTimeout(resolve, 300)
    channel.addEventListener('message', ({ data: { to, lent } }) => {
      if (to === by) resolve(changeSession(lent))
    })
    channel.postMessage({ wanted: location.hash, by })
  })
}

export const useSession = () => {
  const [, redraw] = useState(0)
  useEffect(() => {
    const listener = () => redraw(count => count + 1)
    listeners.add(listener)
    return () => listeners.delete(listener)
  }, [])
  return session
}

/** Returns true if the person may use an operation of either service, by its operationId. @param {string} operation */
export const may = operation => session.me?.operations.includes(operation) ?? false
