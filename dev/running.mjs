// Ends this `npm start` when another one runs on the same data folder: installing the packages would remove those that
// the running one uses.
import { findStart, folder } from './start-lock.mjs'

const start = findStart()
if (start && Number(start.pid) !== process.pid) {
  process.stderr.write(`npm start is already running on ${folder}:
${start.addresses.join('\n')}
Stop it with Ctrl-C in its terminal, or with: kill ${start.pid}
A second one beside it needs its own DATA_DIR, EMBEDDED_POSTGRES_PORT, ORDERS_PORT, NOTIFIER_PORT and SIMULATOR_PORT.
`)
  process.exit(1)
}
