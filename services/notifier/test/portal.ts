import { pino } from 'pino'
import type { Teardown } from '../../../dev/test-database.ts'
import { createTokenFor } from '../access/token-commands.ts'
import { createNotifier, type NotifierOptions } from '../app.ts'
import type { OrderDesk } from '../events/order-desk.ts'
import { type StageOptions, stage } from './stage.ts'

export const serviceToken = 'a-service-token-of-tests'

const nobody: OrderDesk = { find: async () => ({ kind: 'unavailable' }) }

export interface PortalOptions extends StageOptions {
  /** Gets the lines of the log. */
  log?: string[]
}

/** The whole application with a token of staff, called as the portal calls it. */
export const build = async (
  t: Teardown,
  callsPerMinute = 1_000_000,
  orders = nobody,
  options: PortalOptions = {},
  limits: Partial<NotifierOptions> = {},
) => {
  const stageOptions = await stage(t, { ...options, isRunning: false })
  const { pool, keyring, api } = stageOptions
  const { log } = options
  const logger = log ? pino({}, { write: line => log.push(line) }) : pino({ level: 'silent' })
  const { app, queue } = await createNotifier({
    pool,
    logger,
    keyring,
    api,
    orders,
    serviceToken,
    window: 64,
    pairSeconds: options.pairSeconds ?? 0,
    callsPerMinute,
    ...limits,
  })
  t.teardown(async () => {
    await app.close()
    await queue.stop()
  })
  const { token } = await createTokenFor(pool, { tenant: 'demo', staff: 'Ruwan' })
  const call = async (
    method: 'GET' | 'POST' | 'PUT',
    url: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ) => {
    const payload = typeof body === 'string' ? body : JSON.stringify(body ?? {})
    const answer = await app.inject({
      method,
      url,
      headers: {
        authorization: `Bearer ${token}`,
        'x-tenant': 'demo',
        ...(method !== 'GET' && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(method !== 'GET' && { payload }),
    })
    return { status: answer.statusCode, headers: answer.headers, body: answer.json() }
  }
  return { ...stageOptions, app, queue, call }
}
