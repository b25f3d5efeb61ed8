// A process that runs the notifier's queue, put together as its app.ts and main.ts do.
import { createPool } from '@courier/shared/database.ts'
import { createLogger } from '@courier/shared/log.ts'
import type pg from 'pg'
import { createTokenKeeper } from '../services/notifier/channels/secrets.ts'
import { readKeyring } from '../services/notifier/channels/vault.ts'
import type { ClaimedMessage } from '../services/notifier/messages/claim.ts'
import { createEffects } from '../services/notifier/messages/effects.ts'
import type { Outcome } from '../services/notifier/messages/outcomes.ts'
import { Queue } from '../services/notifier/messages/queue.ts'
import { createSender } from '../services/notifier/messages/sender.ts'
import { createMessagingApi } from '../services/notifier/messaging-api/client.ts'
import { runTasks } from './processes.ts'
import type { Measurement } from './repeat.ts'

export interface QueueTask {
  databaseUrl: string
  credentialsKeys: string
  apiUrl: string
  /** How many messages may be on their way at once. */
  window: number
  /** The queue runs until so many messages of that tenant are stored as accepted. */
  tenant: string
  messages: number
}

interface Parts {
  pool: pg.Pool
  send: (message: ClaimedMessage) => Promise<Outcome>
}

const logger = createLogger('notifier', 'warn')
const partsOfWindow = new Map<number, Parts>()

/** The parts for a window, whose connections stay open from task to task. */
const partsFor = (task: QueueTask): Parts => {
  const known = partsOfWindow.get(task.window)
  if (known) return known
  const pool = createPool({ url: task.databaseUrl, name: 'notifier', connections: 10 })
  const options = { baseUrl: task.apiUrl, version: 'v17.0', product: 'whatsapp', connections: task.window }
  const tokens = createTokenKeeper(pool, readKeyring(task.credentialsKeys))
  const send = createSender({ api: createMessagingApi(options), tokens, effects: createEffects(pool, logger), logger })
  const parts = { pool, send }
  partsOfWindow.set(task.window, parts)
  return parts
}

const stallMilliseconds = 20_000

/** The milliseconds are those of the API's calls, of all tenants. Throws for a message that is not accepted. */
const runQueue = async (task: QueueTask): Promise<Measurement> => {
  const { pool, send } = partsFor(task)
  const callMilliseconds: number[] = []
  const { promise: allAccepted, resolve, reject } = Promise.withResolvers<void>()
  let left = task.messages
  const sendAndCount = async (message: ClaimedMessage): Promise<Outcome> => {
    stall.refresh()
    const begun = performance.now()
    const outcome = await send(message)
    callMilliseconds.push(performance.now() - begun)
    if (outcome.status !== 'accepted') reject(new Error(`a message became ${outcome.status}: ${outcome.detail}`))
    if (message.tenant === task.tenant && --left === 0) resolve()
    return outcome
  }
  const stall = setTimeout(() => reject(new Error(`nothing more was sent; ${left} are left`)), stallMilliseconds)
  const queue = new Queue({ pool, logger, send: sendAndCount, window: task.window, pairSeconds: 0, sendSeconds: 16 })
  const cpuBefore = process.cpuUsage()
  const start = performance.now()
  queue.start()
  await allAccepted.finally(() => {
    clearTimeout(stall)
    return queue.stop()
  })
  const { user, system } = process.cpuUsage(cpuBefore)
  const seconds = (performance.now() - start) / 1000
  return { seconds, callMilliseconds, cpuSeconds: (user + system) / 1_000_000 }
}

runTasks(runQueue)
