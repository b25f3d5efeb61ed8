import type { Test } from 'tap'

/** The clock of this process is wrong by so many hours until the test ends. Returns the right time, in milliseconds. */
export const shiftClock = (t: Test, hours: number | (() => number)): (() => number) => {
  const Real = Date
  const now = () => Real.now() + (typeof hours === 'number' ? hours : hours()) * 3_600_000
  globalThis.Date = new Proxy(Real, {
    construct: (_target, given: ConstructorParameters<DateConstructor>) =>
      given.length > 0 ? new Real(...given) : new Real(now()),
    get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
  })
  t.teardown(() => {
    globalThis.Date = Real
  })
  return () => Real.now()
}
