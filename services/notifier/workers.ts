import type { DeleteExpired } from '@courier/shared/postgres/housekeeping.ts'
import type { Tracer } from '@courier/shared/traces.ts'
import type { Keyring } from '@courier/shared/vault.ts'
import type pg from 'pg'
import type { Logger } from 'pino'
import type { Core } from './capability.ts'
import type { ChannelPoint } from './core/channels/channel-point.ts'
import type { KeyCheck } from './core/channels/check-keys.ts'
import { proveDue, readDue } from './core/channels/prove.ts'
import type { TokenKeeper } from './core/channels/secrets.ts'
import type { OnMoved } from './core/conversations/identities.ts'
import type { MessagingApi } from './core/messaging-api/client.ts'
import type { OrdersClient } from './core/orders-client/orders-client.ts'
import type { Admission } from './core/sending/admission.ts'
import { createEffects } from './core/sending/effects.ts'
import type { ClaimedMessage } from './core/sending/message.ts'
import { Queue } from './core/sending/queue.ts'
import { type ContentPoint, createSender } from './core/sending/sender.ts'
import { applyDueCategories } from './core/templates/category-changes.ts'
import { createNotifierHousekeeping } from './housekeeping.ts'
import type { Counters } from './metrics.ts'

/** Holds the parts that the application and its workers share. */
export interface Engine {
  readonly pool: pg.Pool
  readonly logger: Logger
  readonly keyring: Keyring
  readonly api: MessagingApi
  readonly orders: OrdersClient
  /** Limits the messages in flight. */
  readonly window: number
  /** Is the least pause between two messages to one recipient; 0 means no pause. */
  readonly recipientPauseSeconds: number
  readonly tracer?: Tracer | undefined
}

interface WorkerOptions extends Engine {
  readonly tokens: TokenKeeper
  readonly keys: KeyCheck
  readonly counters: Counters
  readonly poll: Core['poll']
  readonly syncDue: () => Promise<void>
  readonly admissions: readonly Admission[]
  readonly contents: readonly ContentPoint[]
  readonly onMoved: readonly OnMoved[]
  readonly channelPoints: readonly ChannelPoint[]
  readonly housekeeping: readonly DeleteExpired[]
}

/** Exceeds the API client's own deadline for a request. */
const sendSeconds = 16

/** Creates everything that runs beside the HTTP application. Any number of processes may run all of it. */
export const createWorkers = (options: WorkerOptions) => {
  const { pool, logger, poll, syncDue } = options
  return {
    queue: createQueue(options),
    proofs: poll('channel.proving', 1, () => proveDue(options, logger)),
    categories: poll('templates.categories', 60, () => applyDueCategories(pool, logger)),
    reads: poll('channel.reading', 60, () => readDue({ ...options, points: options.channelPoints })),
    catalogues: poll('templates.sync', 60, syncDue),
    housekeeping: createNotifierHousekeeping(pool, logger, options.housekeeping),
  }
}

const createQueue = (options: WorkerOptions): Queue => {
  const { pool, logger, keys, window, recipientPauseSeconds, counters, admissions } = options
  const send = createSender({ ...options, carryOut: createEffects(pool, logger), onUnopened: keys.forget })
  const sendAndCount = async (message: ClaimedMessage) => {
    const outcome = await send(message)
    counters.countSend(outcome.status)
    return outcome
  }
  const limits = { window, recipientPauseSeconds, sendSeconds }
  return new Queue({ pool, logger, send: sendAndCount, mayClaim: keys.mayUse, admissions, ...limits })
}
