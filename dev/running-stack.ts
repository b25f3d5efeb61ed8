// @ts-expect-error: plain JavaScript, for any Node
import { findStart } from './start-lock.mjs'

/** Returns the addresses of the running `npm start` by name, Postgres' too. Returns none without one. */
export const findRunning = (): Record<string, string> => {
  const lines: string[] = findStart()?.addresses ?? []
  return Object.fromEntries(lines.map(line => line.trim().split(/ +/)))
}
