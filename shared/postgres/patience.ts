// Tells a slow machine from a silent connection: waits as long as there is progress. Time counts in rounds of the event
// loop: while this process gets no processor, responses lie unread, and a round counts once however long it takes.
import type { Socket } from 'node:net'
import type pg from 'pg'
import { type Connected, findStream, listConnecting, removePending } from './pg-internals.ts'

/** Is emitted by a pool when Postgres has no connection left for the role, the database or itself. */
export const refused = 'refused'
const tooManyConnections = '53300'

const roundMilliseconds = 100
const toRounds = (seconds: number): number => (seconds * 1000) / roundMilliseconds

/** Postgres acknowledges a `begin`, and each step of a handshake, at once: after this long it is silent. */
const silentSeconds = 2
/** Limits a wait for a connection of a pool that makes progress. */
const longestSeconds = 10

/** Calls `act` after two seconds, unless the function that it returns is called before. */
export const whenSilent = (act: () => void): (() => void) => {
  let left = toRounds(silentSeconds)
  const timer = setInterval(() => {
    if (--left > 0) return
    clearInterval(timer)
    act()
  }, roundMilliseconds)
  return () => clearInterval(timer)
}

interface Wait {
  rounds: number
  readonly giveUp: () => void
}

const timeout = (): Error => new Error('timeout exceeded when trying to connect')

const limiters = new WeakMap<pg.Pool, (giveUp: () => void) => () => void>()

/**
 * Calls `giveUp` once the pool has made no progress for its `queueSeconds`, or after ten seconds, unless the function
 * that it returns is called before.
 */
export const limitWait = (pool: pg.Pool, giveUp: () => void): (() => void) => limiters.get(pool)?.(giveUp) ?? (() => {})

/**
 * Limits the waits of a pool that has no connectionTimeoutMillis. A new connection is given up when its peer sends
 * nothing for two seconds. A request that waits for others to release theirs is refused when no connection is acquired
 * and no handshake goes on for `queueSeconds`.
 */
export const makePatient = (pool: pg.Pool, queueSeconds: number = silentSeconds): void => {
  const connect: (connected: Connected) => void = pool.connect.bind(pool)
  const waits = new Set<Wait>()
  const findSilent = watchHandshakes(pool)
  let timer: NodeJS.Timeout | undefined
  let quiet = 0
  pool.on('acquire', () => {
    quiet = 0
  })

  const check = (): void => {
    if (waits.size === 0) {
      clearInterval(timer)
      timer = undefined
      return
    }
    const { silent, isMoving } = findSilent()
    quiet = isMoving ? 0 : quiet + 1
    for (const wait of waits) {
      const isStuck = Math.min(++wait.rounds, quiet) >= toRounds(queueSeconds)
      if (isStuck || wait.rounds >= toRounds(Math.max(longestSeconds, queueSeconds))) wait.giveUp()
    }
    for (const stream of silent) stream.destroy(timeout())
  }
  const limit = (giveUp: () => void): (() => void) => {
    const wait = { rounds: 0, giveUp }
    waits.add(wait)
    timer ??= setInterval(check, roundMilliseconds).unref()
    return () => void waits.delete(wait)
  }
  limiters.set(pool, limit)

  const connectPatiently = (done: Connected): void => {
    const entry: Connected = (...result) => {
      endWait()
      if ((result[0] as { code?: unknown } | undefined)?.code === tooManyConnections) pool.emit(refused as never)
      done(...result)
    }
    const endWait = limit(() => {
      // Otherwise it waits for a handshake, which is watched by itself.
      if (removePending(pool, entry)) entry(timeout())
    })
    connect(entry)
  }
  const connectOrPromise = (done?: Connected): Promise<pg.PoolClient | undefined> | undefined => {
    if (done) return void connectPatiently(done)
    return new Promise((resolve, reject) =>
      connectPatiently((error, client) => (error ? reject(error) : resolve(client))),
    )
  }
  Object.assign(pool, { connect: connectOrPromise })
}

/** Returns a function to call once a round, which finds the connections whose peer is silent during the handshake. */
const watchHandshakes = (pool: pg.Pool) => {
  const seen = new WeakMap<pg.PoolClient, { bytes: number; rounds: number }>()
  return (): { silent: Socket[]; isMoving: boolean } => {
    const silent: Socket[] = []
    let isMoving = false
    for (const client of listConnecting(pool)) {
      const stream = findStream(client)
      const { bytes, rounds } = seen.get(client) ?? { bytes: 0, rounds: 0 }
      const hasMoved = stream.bytesRead !== bytes
      seen.set(client, { bytes: stream.bytesRead, rounds: hasMoved ? 0 : rounds + 1 })
      isMoving ||= hasMoved
      if (!hasMoved && rounds + 1 >= toRounds(silentSeconds)) silent.push(stream)
    }
    return { silent, isMoving }
  }
}
