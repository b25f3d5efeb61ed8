// Keeps the list and the acts of a rider in the browser's database, which outlives the page, the session and a restart
// of the phone. Where the browser has no such database, they last as long as the page, which says so.

/** @type {Record<string, Map<any, any>>} */
const memory = { acts: new Map(), values: new Map() }
let isMemory = !('indexedDB' in window)

export const isKept = () => !isMemory

/** @param {'acts' | 'values'} name @returns {any} */
const openMemory = name => {
  const rows = memory[name]
  const done = (/** @type {any} */ result = undefined) => ({ result })
  return {
    get: (/** @type {any} */ key) => done(rows.get(key)),
    getAll: () => done([...rows.values()]),
    delete: (/** @type {any} */ key) => done(rows.delete(key)),
    clear: () => done(rows.clear()),
    put: (/** @type {any} */ value, key = value.seq ?? Math.max(0, ...rows.keys()) + 1) =>
      done(rows.set(key, name === 'acts' ? { ...value, seq: key } : value)),
  }
}

/** @returns {Promise<IDBDatabase | undefined>} */
const connect = () =>
  new Promise(resolve => {
    if (isMemory) return resolve(undefined)
    const fail = () => {
      isMemory = true
      resolve(undefined)
    }
    try {
      const opening = indexedDB.open('courier-rider', 1)
      opening.onupgradeneeded = () => {
        opening.result.createObjectStore('acts', { keyPath: 'seq', autoIncrement: true })
        opening.result.createObjectStore('values')
      }
      opening.onsuccess = () => {
        // The browser may close it while the page is in the background.
        opening.result.onclose = () => {
          connection = undefined
        }
        resolve(opening.result)
      }
      opening.onerror = fail
    } catch {
      fail()
    }
  })
/** @type {Promise<IDBDatabase | undefined> | undefined} */
let connection

/**
 * Runs `act` in a transaction, which is on the disk when the promise resolves to the result of the request that `act`
 * returned. A phone without room throws.
 * @param {'acts' | 'values'} name
 * @param {IDBTransactionMode} mode
 * @param {(store: any) => any} act
 * @returns {Promise<any>}
 */
export const inStore = async (name, mode, act) => {
  connection ??= connect()
  const database = await connection
  if (!database) return act(openMemory(name)).result
  return new Promise((resolve, reject) => {
    const transaction = database.transaction(name, mode, { durability: 'strict' })
    const request = act(transaction.objectStore(name))
    transaction.oncomplete = () => resolve(request.result)
    transaction.onabort = () => reject(transaction.error)
  })
}

/** Changes a stored act as it is now; null deletes it, undefined leaves it. Returns the act as it was. */
export const changeAct = (/** @type {number} */ seq, /** @type {(act: any) => any} */ change) =>
  inStore('acts', 'readwrite', store => {
    const reading = store.get(seq)
    const apply = () => {
      const next = reading.result && change(reading.result)
      if (next === null) store.delete(seq)
      else if (next) store.put(next)
    }
    if ('readyState' in reading) reading.onsuccess = apply
    else apply()
    return reading
  })

export const readValue = (/** @type {string} */ key) => inStore('values', 'readonly', store => store.get(key))
export const writeValue = (/** @type {string} */ key, /** @type {unknown} */ value) =>
  inStore('values', 'readwrite', store => store.put(value, key))
