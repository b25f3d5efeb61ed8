// A service loads this with NODE_OPTIONS=--import. On SIGURG it prints the heap's size after a collection, in bytes. On
// SIGWINCH, which like SIGURG means little to a service, it prints the longest block of the event loop since the last
// signal, in milliseconds, and this thread's computing time: a loop that waits for a busy machine computes nothing. At
// the first signal it begins to measure.
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

process.on('SIGURG', () => {
  collect()
  collect()
  process.stdout.write(`probe ${process.memoryUsage().heapUsed}\n`)
})

const delays = monitorEventLoopDelay({ resolution: 1 })
let before = process.threadCpuUsage()

process.on('SIGWINCH', () => {
  // The monitor wakes the process a thousand times a second, so it starts when somebody measures.
  delays.enable()
  const { user, system } = process.threadCpuUsage(before)
  process.stdout.write(`probe ${delays.max / 1e6} ${(user + system) / 1000}\n`)
  delays.reset()
  before = process.threadCpuUsage()
})
