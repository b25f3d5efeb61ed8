import { loadCapabilities } from '@courier/shared/capabilities.ts'
import type { Keyring } from '@courier/shared/vault.ts'
import type pg from 'pg'
import { pino } from 'pino'
import { chosenCapabilities } from '../../../dev/chosen-capabilities.ts'
import { capabilities } from '../capabilities.ts'
import { createTokenKeeper } from '../core/channels/secrets.ts'
import { createMessagingApi } from '../core/messaging-api/client.ts'
import { createEffects } from '../core/sending/effects.ts'
import { Queue, type QueueOptions } from '../core/sending/queue.ts'
import { createSender } from '../core/sending/sender.ts'

/** Holds the capabilities that the running test loads. */
export const loaded = await loadCapabilities(capabilities, chosenCapabilities)
const admissions = [...loaded.values()].flatMap(({ admission }) => admission ?? [])
const contents = [...loaded.values()].flatMap(({ content }) => content ?? [])

export interface QueueSettings {
  recipientPauseSeconds?: number
  window?: number
  sendSeconds?: number
}

/** Builds a queue over real HTTP, wired as in main.ts. */
export const buildQueue = (pool: pg.Pool, keyring: Keyring, baseUrl: string, options: QueueSettings) => {
  const { window = 64, recipientPauseSeconds = 0, sendSeconds = 16 } = options
  // Client and server share an event loop, in which a busy machine notices a connection late.
  const patience = { connectMilliseconds: 15_000, headersMilliseconds: 15_000, bodyMilliseconds: 15_000 }
  const api = createMessagingApi({ baseUrl, version: 'v17.0', product: 'whatsapp', ...patience })
  const logger = pino({ level: 'silent' })
  const tokens = createTokenKeeper(pool, keyring)
  const send = createSender({ pool, contents, api, keyring, tokens, carryOut: createEffects(pool, logger), logger })
  const createQueue = (more: Partial<QueueOptions> = {}) =>
    new Queue({ pool, logger, send, window, recipientPauseSeconds, sendSeconds, admissions, ...more })
  return { api, tokens, send, createQueue }
}
