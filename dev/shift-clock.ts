import { setTimeout as delay } from 'node:timers/promises'
import type { Test } from 'tap'

/** Moves this process's clock by `hours()` hours. Returns the real Date. */
export const falsifyDate = (hours: () => number): DateConstructor => {
  const Real = Date
  const now = () => Real.now() + hours() * 3_600_000
  globalThis.Date = new Proxy(Real, {
    construct: (_target, given: ConstructorParameters<DateConstructor>) =>
      given.length > 0 ? new Real(...given) : new Real(now()),
    apply: () => new Real(now()).toString(),
    get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
  })
  return Real
}

/**
 * Moves this process's clock by `hours` until the test ends. Returns a function that reads the real time, in
 * milliseconds.
 */
export const shiftClock = (t: Test, hours: number | (() => number)): (() => number) => {
  const Real = falsifyDate(typeof hours === 'number' ? () => hours : hours)
  t.teardown(() => {
    globalThis.Date = Real
  })
  return () => Real.now()
}

/**
 * Stops the clock by which this process measures intervals until the test ends. Returns a function that moves it.
 */
export const moveStopwatch = (teardown: (cleanUp: () => unknown) => unknown) => {
  const real = performance.now
  let now = performance.now()
  performance.now = () => now
  teardown(() => {
    performance.now = real
  })
  return async (milliseconds: number): Promise<void> => {
    now += milliseconds
    // lru-cache reads the clock again only after a timer of a millisecond.
    await delay(5)
  }
}
