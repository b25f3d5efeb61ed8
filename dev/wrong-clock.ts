// With NODE_OPTIONS=--import, sets the clock of the process wrong by the first of the hours in CLOCK_IS_WRONG_BY, such as
// -5,0.5,4400. Each SIGWINCH, which services ignore, moves on to the next. Affects only Date: performance.now() and
// timers never depend on a clock.
const shifts = (process.env.CLOCK_IS_WRONG_BY ?? '0').split(',').map(hours => Number(hours) * 3_600_000)
let place = 0
process.on('SIGWINCH', () => {
  place = (place + 1) % shifts.length
})

const Real = Date
const now = (): number => Real.now() + (shifts[place] ?? 0)

globalThis.Date = new Proxy(Real, {
  construct: (_target, given: ConstructorParameters<DateConstructor>) =>
    given.length > 0 ? new Real(...given) : new Real(now()),
  apply: () => new Real(now()).toString(),
  get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
})
