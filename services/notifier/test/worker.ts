/** Runs a queue in a process of its own, which tests may kill. Prints `ready`; SIGTERM ends the process cleanly. */
import { createPool } from '@courier/shared/postgres/database.ts'
import { readKeyring } from '../core/channels/vault.ts'
import { buildQueue } from './queue.ts'

const {
  DATABASE_URL = '',
  API_URL = '',
  KEYS = '',
  WINDOW = '64',
  SEND_SECONDS = '16',
  PAIR_SECONDS = '0',
} = process.env

const pool = createPool({ url: DATABASE_URL, name: 'worker', connections: 10 })
const { createQueue } = buildQueue(pool, readKeyring(KEYS), API_URL, {
  window: Number(WINDOW),
  sendSeconds: Number(SEND_SECONDS),
  recipientPauseSeconds: Number(PAIR_SECONDS),
})
const queue = createQueue()
queue.start()
process.stdout.write('ready\n')
process.on('SIGTERM', async () => {
  await queue.stop()
  process.exit()
})
