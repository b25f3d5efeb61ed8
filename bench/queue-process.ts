// Runs the notifier's queue in a process, put together as its app.ts and main.ts do.

import { createLogger } from '@courier/shared/log.ts'
import { createPool } from '@courier/shared/postgres/database.ts'
import type pg from 'pg'
import { createTokenKeeper } from '../services/notifier/channels/secrets.ts'
import { readKeyring } from '../services/notifier/channels/vault.ts'
import { createMessagingApi } from '../services/notifier/messaging-api/client.ts'
import { createEffects } from '../services/notifier/sending/effects.ts'
import type { ClaimedMessage } from '../services/notifier/sending/message.ts'
import type { SendOutcome } from '../services/notifier/sending/outcomes.ts'
import { Queue } from '../services/notifier/sending/queue.ts'
import { createSender } from '../services/notifier/sending/sender.ts'
import { runTasks } from './processes.ts'
import { type Measurement, measure } from './repeat.ts'

export interface QueueTask {
  databaseUrl: string
  credentialsKeys: string
  apiUrl: string
  /** The most messages in flight at once. */
  window: number
  /** Runs the queue until so many messages are stored as accepted. */
  messages: number
}

interface Parts {
  pool: pg.Pool
  send: (message: ClaimedMessage) => Promise<SendOutcome>
}

const logger = createLogger('notifier', 'warn')
const partsOfWindow = new Map<number, Parts>()

/** The parts for a window, whose connections stay open from task to task. */
const partsFor = (task: QueueTask): Parts => {
  const known = partsOfWindow.get(task.window)
  if (known) return known
  const pool = createPool({ url: task.databaseUrl, name: 'notifier', connections: 10 })
  const options = { baseUrl: task.apiUrl, version: 'v17.0', product: 'whatsapp', connections: task.window }
  const keyring = readKeyring(task.credentialsKeys)
  const tokens = createTokenKeeper(pool, keyring)
  const send = createSender({
    pool,
    api: createMessagingApi(options),
    keyring,
    tokens,
    effects: createEffects(pool, logger),
    logger,
  })
  const parts = { pool, send }
  partsOfWindow.set(task.window, parts)
  return parts
}

const stallMilliseconds = 20_000

/** The milliseconds are those of the API's requests. Throws for a message that is not accepted. */
const runQueue = (task: QueueTask): Promise<Measurement> =>
  measure(async (_start, ended) => {
    const { pool, send } = partsFor(task)
    const { promise: allAccepted, resolve, reject } = Promise.withResolvers<void>()
    let left = task.messages
    const sendAndCount = async (message: ClaimedMessage): Promise<SendOutcome> => {
      stall.refresh()
      const begun = performance.now()
      const outcome = await send(message)
      ended(begun)
      if (outcome.status !== 'accepted') reject(new Error(`a message became ${outcome.status}: ${outcome.detail}`))
      if (--left === 0) resolve()
      return outcome
    }
    const stall = setTimeout(() => reject(new Error(`nothing more was sent; ${left} are left`)), stallMilliseconds)
    const queue = new Queue({ pool, logger, send: sendAndCount, window: task.window, pairSeconds: 0, sendSeconds: 16 })
    queue.start()
    await allAccepted.finally(() => {
      clearTimeout(stall)
      return queue.stop()
    })
  })

runTasks(runQueue)
