// Ends `npm start` when one runs on the same data folder. Plain JavaScript for any Node: it comes before the packages are
// installed, which would take them away from the one that runs.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const folder = resolve(root, process.env.DATA_DIR?.trim() || '.data')

/** Its process, and a line for each address. */
const readLock = () => {
  try {
    return readFileSync(join(folder, 'start.pid'), 'utf8').split('\n')
  } catch {
    return []
  }
}

/** A crash leaves the file, and its process id may be another's by now. */
const isStart = pid =>
  Number(pid) > 0 && spawnSync('ps', ['-o', 'args=', '-p', pid], { encoding: 'utf8' }).stdout?.includes('dev/start.ts')

const [pid, ...addresses] = readLock()
if (Number(pid) !== process.pid && isStart(pid)) {
  process.stderr.write(`npm start is already running on ${folder}:
${addresses.join('\n')}
Stop it with Ctrl-C in its terminal, or with: kill ${pid}
One beside it needs a DATA_DIR, an EMBEDDED_POSTGRES_PORT and ports of its own: ORDERS_PORT, NOTIFIER_PORT, SIMULATOR_PORT.
`)
  process.exit(1)
}
