// Keeps the session of the signed-in person. The token lives as long as the tab; it is never part of an address.
import { useEffect, useState } from './preact.js'

/** @typedef {{ name: string, email: string | null, role: string, operations: string[],
 *   tenant: { id: string, name: string, currency: string, decimals: number, country: string, time_zone: string } }} Me
 */
/** @typedef {{ tenant: string, token: string | null, me: Me | null }} Session */

/**
 * Reads a stored value of this tab. Returns `none` if the value is missing or damaged.
 * @param {string} name
 * @param {any} none
 */
export const readStored = (name, none) => {
  try {
    return JSON.parse(sessionStorage.getItem(name) ?? 'null') ?? none
  } catch {
    return none
  }
}

/** Names the face of this page: console or desk. Both may share an origin. */
export const { face } = document.documentElement.dataset
const key = face === 'desk' ? 'courier.desk' : 'courier'
/** @type {Session} */
let session = { tenant: '', token: null, me: null, ...readStored(key, {}) }
/** @type {Set<() => void>} */
const listeners = new Set()

export const getSession = () => session

/** @param {Partial<Session>} changes */
export const changeSession = changes => {
  session = { ...session, ...changes }
  const { tenant, token } = session
  if (token) sessionStorage.setItem(key, JSON.stringify({ tenant, token }))
  else sessionStorage.removeItem(key)
  for (const listener of listeners) listener()
}

/**
 * Ends the session of this token only: a late response to a request with an older token changes nothing.
 * @param {string | null} token
 */
export const endSession = token => {
  if (token === session.token) changeSession({ token: null })
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
