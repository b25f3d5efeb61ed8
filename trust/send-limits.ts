import { setTimeout as delay } from 'node:timers/promises'
import { createPool, inTenant } from '@courier/shared/postgres/database.ts'
import { rounded } from '../bench/figures.ts'
import { storeSecret } from '../services/notifier/channels/secrets.ts'
import { readKeyring } from '../services/notifier/channels/vault.ts'
import type { Tx } from '../services/notifier/database/tables.ts'
import { addTenant, messageTo, phoneNumberId } from '../services/notifier/test/fixture.ts'
import { eventually } from '../test/courier.ts'
import { acceptances, type Courier, countByStatus, handOver, stageCourier } from './courier-stage.ts'
import type { Broken, TrustOptions, TrustPromise } from './promise.ts'

const rate = 80
/** So many sends of a process are under way at once: each place is a worker. */
const places = 64
const others = 50
const messagesOfOther = 10
const maxSeconds = 5

const allAccepted = (courier: Courier, count: number, seconds: number) =>
  eventually(
    `${count} messages are accepted`,
    () => countByStatus(courier),
    ({ accepted = 0 }) => accepted === count,
    seconds,
  )

/** Returns the most messages that the API got within any second. */
const checkOnce = async (courier: Courier, ids: readonly string[], what: string, broken: Broken): Promise<number> => {
  const arrived = await acceptances(courier)
  const wrong = ids.filter(id => arrived.get(id)?.length !== 1).length
  broken.require(wrong === 0, `${wrong} messages did not arrive exactly once after ${what}`)
  const times = [...arrived.values()].flat().map(({ accepted_at }) => Date.parse(accepted_at))
  return Math.max(...times.map(first => times.filter(time => time >= first && time < first + 1000).length))
}

const countCalls = async (courier: Courier, code: number): Promise<number> =>
  (await courier.control('')).calls[code] ?? 0

/** The API asks to slow down, again and again. */
const storm = async (courier: Courier, [count, refusals]: readonly [number, number], broken: Broken) => {
  const ids = await handOver(courier, count)
  await eventually(
    'the first ones left',
    () => countByStatus(courier),
    ({ accepted = 0 }) => accepted > 20,
  )
  await courier.control('/scripts', { times: refusals, trouble: { kind: 'error', code: 130429 } })
  await allAccepted(courier, count, 300)
  const most = await checkOnce(courier, ids, 'error 130429', broken)
  const refused = await countCalls(courier, 130429)
  broken.require(refused === refusals, `the API refused ${refused} messages, not ${refusals}`)
  broken.require(most <= rate, `${most} messages arrived within a second`)
  return { refused, most }
}

/** The token is revoked, and later another one takes its place. */
const revoke = async (courier: Courier, count: number, broken: Broken): Promise<number> => {
  const { notifier, staff, rows } = courier
  const { accepted: before } = await courier.control('')
  await courier.control('/tokens', { access_token: 'demo-access-token', revoked: true }, 'PUT')
  const ids = await handOver(courier, count, 20_000)
  const state = () => rows('notifier', 'select state from channels')
  await eventually('the channel is paused', state, ([row]) => row?.state === 'paused', 20)
  // What is under way ends, and nothing follows it.
  await delay(1_500)
  const failed = await countCalls(courier, 190)
  broken.require(failed >= 1 && failed <= places, `${failed} sends were made with a refused token`)
  await courier.control('/tokens', { access_token: 'rotated-access-token' }, 'PUT')
  const channel = `${notifier.url}/api/channels/${phoneNumberId}`
  const put = { method: 'PUT', headers: staff, body: JSON.stringify({ access_token: 'rotated-access-token' }) }
  const changed = await fetch(channel, put)
  const resumed = await fetch(`${channel}/resume`, { method: 'POST', headers: staff, body: '{}' })
  broken.require(changed.ok && resumed.ok, `the channel was not resumed: ${changed.status}, ${resumed.status}`)
  await allAccepted(courier, before + count, 60)
  await checkOnce(courier, ids, 'a rotation of the token', broken)
  const used = await rows('notifier', 'select 1 from messages where attempts > 0 and message_id = any($1)', [ids])
  broken.require(used.length === 0, `${used.length} messages have used up an attempt`)
  return failed
}

const queueFor = (courier: Courier, condition: string, count: number) =>
  courier.rows(
    'notifier',
    `insert into messages (tenant_id, message_id, phone_number_id, recipient, template, status, due_at, expires_at)
     select c.tenant_id, 'share-' || c.tenant_id || '-' || n, c.phone_number_id, '9477' || (1000000 + n), $1,
       'queued', now(), now() + interval '1 hour'
     from channels c, generate_series(1, $2) n where c.tenant_id ${condition} 'demo'`,
    [messageTo('').template, count],
  )

/** Tenants with a number each, whose token is demo's. */
const addOthers = async ({ databases, notifier, control }: Courier): Promise<void> => {
  const pool = createPool({ url: databases.notifier.url, name: 'trust', connections: 1 })
  const keyring = readKeyring(notifier.environment.CREDENTIALS_KEYS ?? '')
  for (let n = 0; n < others; n++) {
    const [tenant, number] = [`small${n}`, String(206_540_000 + n)]
    await control(`/numbers/${number}`, {}, 'PUT')
    await addTenant(pool, tenant, number, { rate })
    const place = { tenant, phoneNumberId: number, kind: 'access_token' } as const
    await inTenant(pool, tenant, (tx: Tx) => storeSecret(tx, keyring, place, 'rotated-access-token'))
  }
  await pool.end()
}

/** Behind the messages of a large tenant. Returns the seconds until those of all others are accepted. */
const share = async (courier: Courier, t: TrustOptions, count: number): Promise<number> => {
  const { rows, control } = courier
  const before = (await control('')).accepted
  await addOthers(courier)
  await rows('notifier', `update channels set rate = 1000 where tenant_id = 'demo'`)
  await queueFor(courier, '=', count)
  await eventually(
    'the large tenant is on its way',
    () => control(''),
    ({ accepted }) => accepted > before + 100,
  )
  const started = performance.now()
  await queueFor(courier, '<>', messagesOfOther)
  const done = () => rows('notifier', `select 1 from messages where status = 'accepted' and tenant_id <> 'demo'`)
  await eventually('the others are through', done, ({ length }) => length === others * messagesOfOther, 60)
  const seconds = (performance.now() - started) / 1000
  const { queued = 0 } = await countByStatus(courier)
  t.broken.require(queued > 0, 'the large tenant was through first: nobody had to wait')
  // The short form runs beside other tests.
  t.broken.require(
    seconds < (t.short ? 3 : 1) * maxSeconds,
    `the messages of ${others} small tenants took ${seconds} s`,
  )
  return seconds
}

export const promise: TrustPromise = {
  promise:
    'A number keeps to its rate, a refused token stops it without loss, and a large tenant does not hold up others',
  limit:
    '130429: at most 80 in any second, 0 lost; 190: at most one failed send per place of the window (64), then all; 100,000 of one tenant: 10 each of 50 others within 5 s',
  run: async t => {
    const courier = await stageCourier(t, { rate, simulator: { WEBHOOK_URL: 'none' } })
    const { refused, most } = await storm(courier, t.short ? [150, 2] : [1000, 20], t.broken)
    t.report(`the API asked to slow down ${refused} times`)
    await courier.rows('notifier', 'update channels set slowed_rate = null, slowed_at = null, not_before = null')
    const failed = await revoke(courier, 100, t.broken)
    const large = t.short ? 5_000 : 100_000
    const seconds = await share(courier, t, large)
    return {
      'refused with 130429': refused,
      'most in a second': most,
      'sends with a refused token': failed,
      'of the large tenant': large,
      'others through after s': rounded(seconds, 2),
    }
  },
}
