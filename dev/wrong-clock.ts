// With NODE_OPTIONS=--import, moves the clock of the process by the first of the hours in CLOCK_IS_WRONG_BY, such as
// -5,0.5,4400. Each SIGWINCH, which services ignore, moves on to the next value. Affects only Date: performance.now()
// and timers never depend on the clock.
import { falsifyDate } from './shift-clock.ts'

const shifts = (process.env.CLOCK_IS_WRONG_BY ?? '0').split(',').map(Number)
let position = 0
process.on('SIGWINCH', () => {
  position = (position + 1) % shifts.length
})
falsifyDate(() => shifts[position] ?? 0)
