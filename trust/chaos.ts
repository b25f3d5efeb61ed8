import { writeFile } from 'node:fs/promises'
import { percentile, rounded } from '../bench/figures.ts'
import { teardownOf } from '../dev/tool.ts'
import { chanceOf } from '../test/chance.ts'
import { audit } from './chaos/audit.ts'
import { addressOf, type Bed, startBed } from './chaos/bed.ts'
import { startClients } from './chaos/clients.ts'
import type { Evidence } from './chaos/evidence.ts'
import { type Happened, runFaults } from './chaos/faults.ts'
import { excerptOf, intentsOf } from './chaos/history.ts'
import { planFaults } from './chaos/plan.ts'
import { readEvidence } from './chaos/read-evidence.ts'
import { createRecorder, type Recorder } from './chaos/record.ts'
import { becomeReady, comeToRest, emptyOutbox } from './chaos/recover.ts'
import { followChanges } from './follow-changes.ts'
import { type Measured, seed as sameSeed, type TrustOptions, type TrustPromise } from './promise.ts'

/** The merchant's endpoint fails at times, responds late, and loses its responses. Returns the webhook's id. */
const register = async ({ courier, endpoint, links }: Bed, { call }: Recorder, seed: number): Promise<string> => {
  const headers = { authorization: `Bearer ${courier.merchant.token}`, 'x-tenant': 'demo' }
  const body = { url: endpoint.url.replace(/:\d+/, `:${links['orders-endpoint'].port}`) }
  const about = { who: 'merchant0', what: 'register a webhook', name: 'webhook', parts: [] }
  const url = `${addressOf(links['clients-orders'])}/api/public/merchant/webhook`
  const { data } = await call({ ...about, url, headers, body })
  const { id, secret } = data as { id: string; secret: string }
  const chance = chanceOf(seed)
  const react: Bed['endpoint']['react'] = () => {
    const luck = chance()
    if (luck < 0.03) return { status: 500 }
    return luck < 0.06 ? { isLost: true } : { milliseconds: luck < 0.1 ? 300 : 0 }
  }
  Object.assign(endpoint, { secret, react })
  return id
}

const heal = (bed: Bed): void => {
  bed.endpoint.react = () => ({})
}

interface Played {
  readonly evidence: Evidence
  readonly happened: readonly Happened[]
  readonly faults: number
  readonly recoverySeconds: number
}

/** After the last fault, for everything together: with the start and the audit it fits into the ten minutes of a test. */
const maxRecoverySeconds = 480

/** One history: clients and faults for so many seconds, then recovery, then everything that is to be known of it. */
const play = async (t: TrustOptions, seed: number, seconds: number): Promise<Played> => {
  const bed = await startBed(t)
  const recorder = createRecorder()
  const endpointId = await register(bed, recorder, seed)
  const merchant = { url: addressOf(bed.links['clients-orders']), token: bed.courier.merchant.token }
  const finishFollowing = followChanges(merchant)
  const plan = planFaults(seed, seconds * 1000, t.short ? 3_000 : 8_000)
  const faults = runFaults(bed, plan)
  const clients = startClients(bed, recorder, seed, faults.log)
  // First of all: nothing is started again after that.
  t.teardown(() => {
    clients.stop()
    recorder.giveUpIn(0)
    return faults.stop()
  })
  t.report(`seed ${seed}: ${plan.length} faults in ${seconds} s`)
  await Promise.race([faults.done(), clients.working])
  t.report('nothing fails any more')
  heal(bed)
  const healedAt = performance.now()
  const until = healedAt + maxRecoverySeconds * 1000
  const finishing = clients.finish()
  finishing.catch(() => undefined)
  await becomeReady(bed, until)
  const readyAt = Date.now()
  recorder.giveUpIn(120)
  await emptyOutbox(bed, endpointId, until)
  const recoverySeconds = (performance.now() - healedAt) / 1000
  await finishing
  const waiting = await comeToRest(bed, endpointId, until, t.report)
  const items = await finishFollowing(Math.max(10, (until - performance.now()) / 1000))
  t.report(`served again after ${rounded(recoverySeconds, 1)} s, and everything has come to rest`)
  const { presses, texts, stops } = clients
  const recorded = { history: recorder.history, presses, texts, stops, waiting, exits: faults.exits, readyAt }
  const evidence = await readEvidence(bed, recorded, items)
  return { evidence, happened: faults.log, faults: plan.length, recoverySeconds }
}

const report = (t: TrustOptions, seed: number, { evidence, happened }: Played): void => {
  const again = `npm run trust -- chaos ${t.short ? '--short ' : ''}--seed ${seed}${t.minutes ? ` --minutes ${t.minutes}` : ''}`
  for (const { check, sentence } of audit(evidence))
    t.broken.add(`${check}: ${sentence}\n${excerptOf(sentence, evidence.history, happened)}\n    again: ${again}`)
}

/** Three seeds; one that was given is the only one. `CHAOS_RECORD=FILE` keeps the evidence of the last one. */
const seedsOf = ({ short, seed }: TrustOptions): number[] =>
  short || seed !== sameSeed ? [seed] : [seed, seed + 1, seed + 2]

const run: TrustPromise['run'] = async t => {
  const minutes = t.minutes ?? (t.short ? 0.25 : 200 / 60)
  const all: Played[] = []
  for (const seed of seedsOf(t)) {
    const cleanUps = new AsyncDisposableStack()
    t.teardown(() => cleanUps.disposeAsync())
    const played = await play({ ...t, ...teardownOf(cleanUps) }, seed, minutes * 60)
    if (process.env.CHAOS_RECORD) await writeFile(process.env.CHAOS_RECORD, JSON.stringify(played.evidence))
    report(t, seed, played)
    all.push(played)
    await cleanUps.disposeAsync()
  }
  const measured = figuresOf(t, all)
  const least = t.short ? 5 : 20
  const isEnough = Number(measured.done) > least && Number(measured['messages sent']) > least
  t.broken.require(isEnough, 'there was too little to lose')
  return measured
}

const figuresOf = ({ seed, broken }: TrustOptions, all: readonly Played[]): Measured => {
  const history = all.flatMap(({ evidence }) => evidence.history)
  const calls = history.filter(({ status }) => status > 0).map(({ sentAt, respondedAt }) => respondedAt - sentAt)
  const countOf = (ending: string) =>
    all.flatMap(({ evidence }) => intentsOf(evidence.history)).filter(i => i.ending === ending).length
  return {
    seeds: all.length > 1 ? `${seed} to ${seed + all.length - 1}` : seed,
    calls: history.length,
    ...{ done: countOf('done'), refused: countOf('refused'), 'in doubt': countOf('in doubt') },
    orders: all.reduce((sum, { evidence }) => sum + evidence.orders.length, 0),
    'messages sent': all.reduce((sum, { evidence }) => sum + evidence.wire.length, 0),
    'addresses confirmed': all.flatMap(({ evidence }) => evidence.acted).filter(({ id }) => id.endsWith(' address'))
      .length,
    faults: all.reduce((sum, { faults }) => sum + faults, 0),
    'webhooks given up': all.reduce((sum, { evidence }) => sum + evidence.givenUp.length, 0),
    violations: broken.count,
    'p99 ms': rounded(percentile(calls, 0.99)),
    'recovery s': rounded(Math.max(...all.map(({ recoverySeconds }) => recoverySeconds)), 1),
  }
}

export const promise: TrustPromise = {
  promise:
    'Whatever fails at the same time, every response is true, what was acknowledged is kept, and nothing happens twice or without being asked for',
  limit:
    'up to four faults at once for 10 min, 3 seeds, two processes of each service: 0 violations of what this page and the README promise',
  run,
}
