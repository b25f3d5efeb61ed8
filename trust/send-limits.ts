import { setTimeout as delay } from 'node:timers/promises'
import { rounded } from '../bench/figures.ts'
import { messageTo, phoneNumberId } from '../services/notifier/test/stage.ts'
import { eventually } from '../test/courier.ts'
import { acceptances, countByStatus, handOver, type NotifierStage, stageNotifier } from './notifier-stage.ts'
import { Broken, type Outcome, type TrustOptions, type TrustPromise } from './promise.ts'

const rate = 80
/** So many sends of a process are under way at once: each place is a worker. */
const places = 64
const others = 50
const messagesOfOther = 10
const maxSeconds = 5
const largeRate = 1000

const allAccepted = (stage: NotifierStage, count: number, seconds: number) =>
  eventually(
    `${count} messages are accepted`,
    () => countByStatus(stage),
    ({ accepted = 0 }) => accepted === count,
    seconds,
  )

/** The most messages that the API got within any second. */
const mostInSecond = ({ control }: NotifierStage): number => {
  const times = control
    .messages({ limit: 50_000 })
    .map(({ accepted_at }) => Date.parse(accepted_at))
    .sort((a, b) => a - b)
  let [first, most] = [0, 0]
  for (const [last, time] of times.entries()) {
    while (time - (times[first] as number) >= 1000) first++
    most = Math.max(most, last - first + 1)
  }
  return most
}

const checkOnce = ({ control }: NotifierStage, ids: readonly string[], what: string, broken: Broken): void => {
  const counts = acceptances(control)
  const wrong = ids.filter(id => counts.get(id) !== 1).length
  broken.require(wrong === 0, `${wrong} messages did not arrive exactly once after ${what}`)
}

/** The API asks to slow down, again and again. */
const storm = async (stage: NotifierStage, [count, refusals]: readonly [number, number], broken: Broken) => {
  const ids = await handOver(stage, count)
  await delay(500)
  stage.control.script({ times: refusals, trouble: { kind: 'error', code: 130429 } })
  await allAccepted(stage, count, 300)
  checkOnce(stage, ids, 'error 130429', broken)
  const refused = stage.control.summary().calls['130429'] ?? 0
  broken.require(refused === refusals, `the API refused ${refused} messages, not ${refusals}`)
  const most = mostInSecond(stage)
  broken.require(most <= rate, `${most} messages arrived within a second`)
  return { refused, most }
}

/** The token is revoked, and later another one takes its place. */
const revoke = async (stage: NotifierStage, count: number, broken: Broken): Promise<number> => {
  const { control, notifier, staff, rows } = stage
  const before = control.summary().accepted
  control.putToken({ access_token: 'demo-access-token', revoked: true })
  const ids = await handOver(stage, count, 20_000)
  await eventually(
    'the channel is paused',
    () => rows(`select state from channels`),
    ([row]) => row?.state === 'paused',
    20,
  )
  await delay(1_500)
  const failed = control.summary().calls['190'] ?? 0
  broken.require(failed >= 1 && failed <= places, `${failed} sends were made with a refused token`)
  control.putToken({ access_token: 'rotated-access-token' })
  const channel = `${notifier.url}/api/channels/${phoneNumberId}`
  const put = { method: 'PUT', headers: staff, body: JSON.stringify({ access_token: 'rotated-access-token' }) }
  const putAnswer = await fetch(channel, put)
  const resumed = await fetch(`${channel}/resume`, { method: 'POST', headers: staff, body: '{}' })
  broken.require(putAnswer.ok && resumed.ok, `the channel was not resumed: ${putAnswer.status}, ${resumed.status}`)
  await allAccepted(stage, before + count, 60)
  checkOnce(stage, ids, 'a rotation of the token', broken)
  const used = await rows('select count(*)::int as count from messages where attempts > 0')
  broken.require(used[0]?.count === 0, `${used[0]?.count} messages have used up an attempt`)
  return failed
}

const queueFor = (stage: NotifierStage, tenants: readonly string[], count: number) =>
  stage.rows(
    `insert into messages (tenant_id, message_id, phone_number_id, recipient, template, status, due_at, expires_at)
     select c.tenant_id, c.tenant_id || '-' || lpad(n::text, 6, '0'), c.phone_number_id, '9477' || (1000000 + n), $2,
       'queued', now(), now() + interval '1 hour'
     from channels c, generate_series(1, $3) n where c.tenant_id = any($1)`,
    [tenants, messageTo('').template, count],
  )

/** Behind the messages of a large tenant. Returns the seconds until those of all others are accepted. */
const share = async (t: TrustOptions, count: number, broken: Broken): Promise<number> => {
  const stage = await stageNotifier(t, { rate: largeRate })
  const small = Array.from({ length: others }, (_, n) => `small${n}`)
  for (const [n, tenant] of small.entries()) await stage.addNumber(tenant, String(206_540_000 + n), rate)
  await queueFor(stage, ['demo'], count)
  await eventually(
    'the large tenant is on its way',
    () => countByStatus(stage),
    ({ accepted = 0 }) => accepted > 100,
  )
  const started = performance.now()
  await queueFor(stage, small, messagesOfOther)
  const done = () =>
    stage.rows(`select count(*)::int as count from messages where status = 'accepted' and tenant_id <> 'demo'`)
  await eventually('the others are through', done, ([row]) => row?.count === others * messagesOfOther, 60)
  const seconds = (performance.now() - started) / 1000
  const { queued = 0 } = await countByStatus(stage)
  broken.require(queued > 0, 'the large tenant was through first: nobody had to wait')
  broken.require(seconds < (t.isTest ? 3 : 1) * maxSeconds, `the messages of ${others} small tenants took ${seconds} s`)
  return seconds
}

const run = async (t: TrustOptions): Promise<Outcome> => {
  const broken = new Broken()
  const stage = await stageNotifier(t, { rate })
  const { refused, most } = await storm(stage, t.short ? [150, 2] : [1000, 20], broken)
  t.report(`the API asked to slow down ${refused} times`)
  await stage.rows('update channels set slowed_rate = null, slowed_at = null, not_before = null')
  const failed = await revoke(stage, 100, broken)
  const large = t.short ? 5_000 : 100_000
  const seconds = await share(t, large, broken)
  const measured = {
    'refused with 130429': refused,
    'most in a second': most,
    'sends with a refused token': failed,
    'of the large tenant': large,
    'others through after s': rounded(seconds, 2),
  }
  return { measured, broken: broken.sentences }
}

export const sendLimits: TrustPromise = {
  name: 'send-limits',
  promise:
    'A number keeps to its rate, a refused token stops it without loss, and a large tenant does not hold up others',
  limit:
    '130429: at most 80 in any second, 0 lost; 190: at most one failed send per place of the window (64), then all; 100,000 of one tenant: 10 each of 50 others within 5 s',
  run,
}
