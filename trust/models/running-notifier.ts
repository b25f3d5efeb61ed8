import { setTimeout as delay } from 'node:timers/promises'
import { inTenant } from '@courier/shared/postgres/database.ts'
import type { Teardown } from '../../dev/test-database.ts'
import { storeSecret } from '../../services/notifier/core/channels/secrets.ts'
import type { Tx } from '../../services/notifier/core/database/tables.ts'
import { phoneNumberId } from '../../services/notifier/test/fixture.ts'
import { standIn } from '../../services/notifier/test/orders-stand-in.ts'
import { build } from '../../services/notifier/test/portal.ts'
import { envelope, postWebhook } from '../../services/notifier/test/webhooks-fixture.ts'
import type { Trouble } from '../../simulator/trouble/trouble.ts'
import { expectSame } from './history.ts'

/**
 * Maps the fates of a send to troubles: refused permanently or temporarily, response lost, or request lost before it
 * took effect.
 */
export const fates: Record<string, Trouble> = {
  refused: { kind: 'error', code: 131026 },
  busy: { kind: 'error', code: 131016 },
  lost: { kind: 'lost', accepted: true },
  cut: { kind: 'lost', accepted: false },
}

type Settled = { name: string; id: string; status: string; attempts: number }

/** Starts the notifier with a running queue, against the simulator over the wire, with webhooks that the test sends. */
export const startNotifier = async (t: Teardown) => {
  const orders = await standIn(t)
  const notifier = await build(t, undefined, orders.client)
  const { app, pool, keyring, queue, rows } = notifier
  const appSecret = 'of-the-models'
  await inTenant(pool, 'demo', (tx: Tx) =>
    storeSecret(tx, keyring, { tenant: 'demo', phoneNumberId, kind: 'app_secret' }, appSecret),
  )
  queue.start()

  /** Waits until the messages are as expected. Hastens queued ones: one behind another is due only seconds later. */
  const settle = async (messages: readonly Settled[]): Promise<unknown> => {
    const ids = messages.map(({ id }) => id)
    const expected = messages.map(({ name, status, attempts }) => `${name} ${status} ${attempts}`)
    const read = async (): Promise<string[]> => {
      const found = await rows('select message_id, status, attempts from messages where message_id = any($1)', [ids])
      const byId = new Map(found.map(row => [row.message_id, `${row.status} ${row.attempts}`]))
      return messages.map(({ name, id }) => `${name} ${byId.get(id)}`)
    }
    const end = Date.now() + 20_000
    for (let tries = 1; Date.now() < end; tries++) {
      const found = await read()
      const goes = ids.filter((_, index) => found[index] !== expected[index])
      if (goes.length === 0) return park(ids)
      // Spares messages due in about ten seconds; claimed messages are `sending` and stay as they are.
      const hasten = `update messages set due_at = now() where message_id = any($1) and status = 'queued'
        and due_at not between now() + interval '7 seconds' and now() + interval '11 seconds'`
      if (tries % 20 === 0) await rows(hasten, [goes])
      queue.wake()
      await delay(15)
    }
    return expectSame('messages', await read(), expected)
  }
  /** Defers messages that were refused temporarily until the model makes them due. */
  const park = (ids: string[]) =>
    rows(
      `update messages set due_at = now() + interval '1 hour'
       where message_id = any($1) and status = 'queued' and attempts > 0`,
      [ids],
    )

  const post = async (body: string): Promise<void> => {
    expectSame('webhook', (await postWebhook(app, body, appSecret)).statusCode, 200)
  }
  /** Builds the body of a webhook with this `value`. */
  const webhook = (value: Record<string, unknown>): string => JSON.stringify(envelope(value, phoneNumberId))
  return { ...notifier, settle, post, webhook }
}
