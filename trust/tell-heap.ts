// With NODE_OPTIONS=--import: prints what the heap holds after a collection, in bytes, on each SIGWINCH, which means nothing
// to a service.
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

process.on('SIGWINCH', () => {
  collect()
  collect()
  process.stdout.write(`heap ${process.memoryUsage().heapUsed}\n`)
})
