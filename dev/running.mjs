// Ends this `npm start` when another one runs on the same data folder: installing the packages would remove those that
// the running one uses.
import { findStart, folder } from './start-lock.mjs'

const given = process.argv.slice(2)
if (given.length > 0) {
  const isHelp = given.some(word => word === '--help' || word === '-h')
  const help = `npm start     starts orders, the notifier, a simulator and a Postgres, with a demo company
npm run demo  books, moves and messages beside it, in another terminal

It takes no arguments. The environment may set DATA_DIR (.data), ORDERS_PORT, NOTIFIER_PORT, SIMULATOR_PORT,
EMBEDDED_POSTGRES_PORT and what docs/operators/settings.md lists. Ctrl-C stops it; the data stays.
`
  process.stderr.write(isHelp ? help : `npm start does not know ${given.join(' ')}.\n\n${help}`)
  process.exit(isHelp ? 0 : 2)
}

const start = findStart()
if (start && Number(start.pid) !== process.pid) {
  process.stderr.write(`npm start is already running on ${folder}:
${start.addresses.join('\n')}
Stop it with Ctrl-C in its terminal, or with: kill ${start.pid}
A second one beside it needs its own DATA_DIR, EMBEDDED_POSTGRES_PORT, ORDERS_PORT, NOTIFIER_PORT and SIMULATOR_PORT.
`)
  process.exit(1)
}
