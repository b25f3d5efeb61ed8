import type pg from 'pg'

/** A reading lasts this long: two clocks drift less than a millisecond in that time. */
const knownMilliseconds = 30_000

/** Resolves to the current time. */
export type Clock = () => Promise<Date>

/**
 * Returns Postgres' time, whatever the clock of the process: never ahead of Postgres, and behind it by the time of a
 * response at most. Reads Postgres' clock at most twice a minute.
 */
export const createClock = (pool: pg.Pool): Clock => {
  let known: { readonly time: number; readonly at: number } | undefined
  let asking: Promise<void> | undefined
  const ask = async (): Promise<void> => {
    const { rows } = await pool.query('select extract(epoch from clock_timestamp())::float8 * 1000 as time')
    known = { time: rows[0].time, at: performance.now() }
  }
  return async () => {
    if (!known || performance.now() - known.at > knownMilliseconds) {
      asking ??= ask().finally(() => {
        asking = undefined
      })
      await asking
    }
    return known ? new Date(known.time + performance.now() - known.at) : new Date()
  }
}
