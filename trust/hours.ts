import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import type { ServiceProcess } from '../dev/service-process.ts'
import { root } from '../dev/settings.ts'
import { cloneDatabase } from '../dev/test-database.ts'
import { messageTo } from '../services/notifier/test/fixture.ts'
import { chanceOf } from '../test/chance.ts'
import { eventually } from '../test/courier.ts'
import { type Courier, nowhere, readArrivals, startAnother, startCourier } from './courier.ts'
import { type PostgresClock, setUpClock } from './postgres-clock.ts'
import type { Broken, TrustPromise } from './promise.ts'

/** Hours that change at this minute, in some way. */
interface Scene {
  readonly name: string
  readonly minute: number
  readonly spans: readonly Span[]
}

interface Span {
  readonly timeZone: string
  readonly between: readonly [from: string, to: string]
}

const formats = new Map<string, Intl.DateTimeFormat>()
const clockOf = (time: number, timeZone: string): string => {
  const format =
    formats.get(timeZone) ??
    new Intl.DateTimeFormat('en-GB', { timeZone, hour: '2-digit', minute: '2-digit', hourCycle: 'h23' })
  formats.set(timeZone, format)
  return format.format(time)
}

/** Computes the hours from the time zone's clocks, without the code of the service. */
const isWithin = (time: number, { timeZone, between: [from, to] }: Span): boolean => {
  const clock = clockOf(time, timeZone)
  return from < to ? from <= clock && clock < to : from <= clock || clock < to
}

/**
 * Returns hours around that minute by the clocks of a time zone: those that begin, end, last and are over then, over
 * midnight too.
 */
const spansAround = (minute: number, timeZone: string): Span[] => {
  const after = (hours: number): string => {
    const [hour, rest] = clockOf(minute, timeZone).split(':')
    return `${String((Number(hour) + hours + 24) % 24).padStart(2, '0')}:${rest}`
  }
  const pairs = [
    [0, 3],
    [-3, 0],
    [-2, 2],
    [1, 2],
    [12, 0],
    [0, -12],
  ] as const
  return pairs.map(([from, to]) => ({ timeZone, between: [after(from), after(to)] }))
}

/** Hours around the change of clocks from 02:00 to 03:00 and back. */
const berlin: readonly Span['between'][] = [
  ['01:00', '02:30'],
  ['02:30', '08:00'],
  ['22:00', '02:00'],
  ['03:00', '04:00'],
  ['20:00', '01:00'],
  ['01:00', '05:00'],
]

const scenes = (): Record<'now' | 'spring' | 'autumn', Scene> => {
  const next = Math.ceil(Date.now() / 60_000 + 1) * 60_000
  const change = (name: string, time: string): Scene => {
    const minute = Date.parse(time)
    const spans = berlin.map(between => ({ timeZone: 'Europe/Berlin', between }))
    return { name, minute, spans: [...spans, ...spansAround(minute, 'Asia/Colombo')] }
  }
  const zones = ['Asia/Colombo', 'America/New_York', 'Australia/Lord_Howe']
  return {
    now: { name: 'the present', minute: next, spans: zones.flatMap(zone => spansAround(next, zone)) },
    spring: change('spring', '2027-03-28T01:00:00Z'),
    autumn: change('autumn', '2027-10-31T01:00:00Z'),
  }
}

/** Nothing is sent in the last seconds of its hours. */
const lastSeconds = 30
const runSeconds = 6

/**
 * The hours by which the clocks of the processes are wrong, one after the other: half a year is the other side of a
 * change.
 */
const wrongBy = ['0,-5,0.5,4400', '3,-4400,-0.4', '-12,25,0']

/** Starts processes of the notifier whose clocks change while they run. */
const startProcesses = async (t: Parameters<TrustPromise['run']>[0], courier: Courier): Promise<ServiceProcess[]> => {
  const start = (CLOCK_IS_WRONG_BY: string) => startAnother(t, courier, 'notifier', { CLOCK_IS_WRONG_BY })
  return [courier.notifier, ...(await Promise.all(wrongBy.slice(1).map(start)))]
}

/** Queues messages for each span, at whichever process responds. */
const queue = async (courier: Courier, processes: readonly ServiceProcess[], spans: readonly Span[], count: number) => {
  for (const { timeZone, between } of spans) {
    await courier.rows('notifier', 'update tenants set time_zone = $1, send_between = $2', [timeZone, between])
    const messages = Array.from({ length: count }, (_, n) =>
      messageTo(`+9477${1_000_000 + n}`, { respect_hours: true }),
    )
    const init = { method: 'POST', headers: courier.staff, body: JSON.stringify({ messages }) }
    for (const { url } of processes) {
      const response = await fetch(`${url}/api/messages/bulk`, init).catch(() => undefined)
      if (response?.status === 202) break
    }
  }
}

/** Pauses sending. Nothing is in flight once it resolves, whatever was claimed. */
const pause = async ({ rows }: Courier): Promise<void> => {
  await rows('notifier', `update channels set state = 'paused'`)
  await delay(1_000)
}
const resume = ({ rows }: Courier) => rows('notifier', `update channels set state = 'active'`)

/** Queues messages for each span, kills a process, and changes the clocks of the others meanwhile. */
const disturb = async (
  courier: Courier,
  processes: readonly ServiceProcess[],
  spans: readonly Span[],
  chance: () => number,
): Promise<void> => {
  const end = performance.now() + runSeconds * 1000
  const victim = processes[Math.floor(chance() * processes.length)] as ServiceProcess
  const others = processes.filter(other => other !== victim)
  await queue(courier, processes, spans, 5)
  await delay(chance() * 500)
  await victim.stop('SIGKILL')
  victim.start()
  await queue(courier, others, spans, 5)
  while (performance.now() < end) {
    for (const { pid } of others) process.kill(pid as number, 'SIGWINCH')
    await delay(300)
  }
  await victim.ready()
}

const refusal = { call: 'messages', times: 20, trouble: { kind: 'error', code: 131016 } }

/** Runs over the last moment at which messages of ending hours are sent, and over the minute itself. */
const play = async (
  courier: Courier,
  processes: readonly ServiceProcess[],
  clock: PostgresClock,
  { minute, spans }: Scene,
  chance: () => number,
): Promise<void> => {
  // Some are sent again, five seconds later.
  await courier.control('/scripts', refusal)
  for (const secondsBefore of [lastSeconds + 5, 3]) {
    await pause(courier)
    await clock.set(minute - secondsBefore * 1000)
    await resume(courier)
    await disturb(courier, processes, spans, chance)
  }
  const waiting = () => courier.rows('notifier', `select hours from messages where status = 'queued'`)
  const isOpen = ({ hours }: Record<string, unknown>) => isWithin(minute + 30_000, hours as Span)
  await eventually('all that may be sent has left', waiting, rows => !rows.some(isOpen), 60)
}

/**
 * Checks that each message's arrival by Postgres' clock lies within its hours. Returns how many arrived and how many
 * wait.
 */
const audit = async (courier: Courier, clock: PostgresClock, broken: Broken) => {
  const rows = await courier.rows('notifier', 'select message_id, status, hours from messages')
  const data = await readArrivals(courier.control)
  const arrivals = Map.groupBy(data as { biz_opaque_callback_data: string; accepted_at: string }[], arrival =>
    String(arrival.biz_opaque_callback_data),
  )
  let outside = 0
  for (const { message_id, hours } of rows) {
    const [first, second] = arrivals.get(String(message_id)) ?? []
    broken.require(!second, `${message_id} arrived twice`)
    const time = first && clock.at(Date.parse(first.accepted_at))
    if (time === undefined || isWithin(time, hours as Span)) continue
    outside++
    broken.add(`${message_id} left at ${new Date(time).toISOString()}, outside of ${JSON.stringify(hours)}`)
  }
  const countOf = (...statuses: string[]) => rows.filter(({ status }) => statuses.includes(String(status))).length
  return { messages: rows.length, arrived: arrivals.size, waited: countOf('queued', 'expired'), outside }
}

const run: TrustPromise['run'] = async t => {
  const { broken } = t
  const notifierDatabase = await cloneDatabase(t, 'notifier')
  const clock = await setUpClock(notifierDatabase)
  const NODE_OPTIONS = `--import ${pathToFileURL(join(root, 'dev/wrong-clock.ts'))}`
  const courier = await startCourier(t, {
    notifierDatabase,
    orders: { NOTIFIER_URL: nowhere },
    notifier: { NODE_OPTIONS, CLOCK_IS_WRONG_BY: wrongBy[0] as string },
  })
  const processes = await startProcesses(t, courier)
  const chance = chanceOf(t.seed)
  const { now, spring, autumn } = scenes()
  // Postgres' clock never goes back.
  const played = t.short ? [spring] : [now, spring, autumn]
  for (const scene of played) {
    await play(courier, processes, clock, scene, chance)
    t.report(`${scene.name}: all that may be sent has left`)
  }
  await pause(courier)
  const measured = await audit(courier, clock, broken)
  broken.require(measured.arrived > 20 && measured.waited > 20, 'too few messages were sent, or had to wait')
  return { kills: played.length * 2, processes: processes.length, ...measured }
}

export const promise: TrustPromise = {
  promise:
    'Messages leave only within their hours by the clock of Postgres: over clock changes, with wrong process clocks, and through kills',
  limit:
    'clocks wrong by up to half a year, kill -9, hours around this minute and both clock changes: 0 messages outside their hours',
  run,
}
