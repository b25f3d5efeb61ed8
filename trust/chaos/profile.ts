import { writeFile } from 'node:fs/promises'
import { percentile, roundTo } from '../../bench/statistics.ts'
import { toTeardown } from '../../dev/tool.ts'
import { createChance } from '../../test/chance.ts'
import { waitUntil } from '../../test/courier.ts'
import { bearer } from '../courier.ts'
import type { Measured, TrustOptions } from '../promise.ts'
import { audit } from './audit.ts'
import { type Bed, type BedOptions, buildAddress, startBed } from './bed.ts'
import type { Crew } from './clients/client.ts'
import { startClients } from './clients.ts'
import type { Evidence } from './evidence.ts'
import { type Happened, runFaults } from './faults.ts'
import { followChanges } from './follow-changes.ts'
import { type Call, groupIntents, makeExcerpt, reads } from './history.ts'
import type { Lane } from './plan.ts'
import { readEvidence } from './read-evidence.ts'
import { createRecorder, type Recorder } from './record.ts'
import { becomeReady, comeToRest, emptyOutbox } from './recover.ts'

/** Describes a run on the bed: clients, faults, and the conditions that must hold besides the audit's checks. */
interface Profile {
  /** Names the promise as the command line does. */
  readonly name: string
  readonly bed: BedOptions
  readonly crew: Crew
  readonly plan: (chance: () => number, history: readonly Call[]) => readonly Lane[]
  /** Sets the minimum time for which clients work; they go on until the last fault is over and enough has happened. */
  readonly seconds?: number
  readonly isEnough?: (seen: Seen) => boolean
  /** After the last fault, a send that has had no response for this long never gets one. */
  readonly sendSeconds?: number
  /** Adds sentences about this promise alone, and returns its measured values. */
  readonly judge?: (played: Played, t: TrustOptions) => Measured
}

/** Holds the history so far. */
export interface Seen extends Pick<Evidence, 'history' | 'presses'> {
  readonly happened: readonly Happened[]
}

export interface Played {
  readonly evidence: Evidence
  readonly happened: readonly Happened[]
  readonly faults: number
  readonly recoverySeconds: number
}

/** Limits recovery after the last fault: with start and audit it fits into the ten minutes of a test. */
const maxRecoverySeconds = 480

/** Registers the merchant's endpoints, of which the first is behind a link. */
const registerEndpoints = async ({ courier, endpoints, links }: Bed, { insist }: Recorder): Promise<void> => {
  const headers = bearer(courier.tokens.merchant)
  const url = `${buildAddress(links['clients-orders'])}/api/public/merchant/webhook`
  for (const [n, endpoint] of endpoints.entries()) {
    const body = { url: n === 0 ? endpoint.url.replace(/:\d+/, `:${links['orders-endpoint'].port}`) : endpoint.url }
    const about = { who: 'merchant0', what: 'register a webhook', name: `webhook-${n}`, parts: [] }
    const { status, code, data } = await insist({ ...about, url, headers, body })
    if (!data) throw new Error(`an endpoint was not registered: ${status} ${code}`)
    const { id, secret } = data as { id: string; secret: string }
    Object.assign(endpoint, { id, secret })
  }
}

/** Plays one history: clients and faults, then recovery. Returns its evidence. */
const play = async (t: TrustOptions, profile: Profile, seed: number): Promise<Played> => {
  const bed = await startBed(t, profile.bed)
  const recorder = createRecorder()
  await registerEndpoints(bed, recorder)
  const finishFollowing = followChanges(buildAddress(bed.links['clients-orders']), bed.courier.tokens.merchant)
  const plan = profile.plan(createChance(seed), recorder.history)
  const workingUntil = performance.now() + (profile.seconds ?? 0) * 1000
  const faults = runFaults(bed, plan)
  const clients = startClients(bed, recorder, profile.crew, seed, faults.log)
  // Runs before the other teardowns, so that nothing is started again after them.
  t.teardown(() => {
    clients.stop()
    recorder.giveUpIn(0)
    return faults.stop()
  })
  const seen = { history: recorder.history, presses: clients.presses, happened: faults.log }
  const isDone = () => performance.now() > workingUntil && (profile.isEnough?.(seen) ?? true)
  // A slow machine takes longer over the faults: the limit starts after them.
  const enough = async () =>
    waitUntil('enough has happened', async () => isDone(), Boolean, (profile.seconds ?? 0) + 300)
  await Promise.race([faults.done().then(enough), clients.working])
  t.report(`seed ${seed}: all ${faults.count()} faults are over`)
  for (const { calm } of bed.endpoints) calm()
  const healedAt = performance.now()
  const until = healedAt + maxRecoverySeconds * 1000
  const finishing = clients.finish()
  finishing.catch(() => undefined)
  await becomeReady(bed, until)
  const readyAt = Date.now()
  recorder.giveUpIn(120)
  await bed.courier.rows('notifier', 'update channels set rate = greatest(rate, 1000)')
  await emptyOutbox(bed, until)
  const recoverySeconds = (performance.now() - healedAt) / 1000
  await finishing
  const waiting = await comeToRest(bed, profile.sendSeconds ?? 16, until, t.report)
  const changes = await finishFollowing(Math.max(10, (until - performance.now()) / 1000))
  t.report(`served again after ${roundTo(recoverySeconds, 1)} s, and everything has come to rest`)
  const { presses, texts, stops } = clients
  const recorded = { history: recorder.history, changes, presses, texts, stops, waiting, exits: faults.exits, readyAt }
  const evidence = await readEvidence(bed, recorded)
  return { evidence, happened: faults.log, faults: faults.count(), recoverySeconds }
}

/** Plays the profile with each seed and audits each run. `TRUST_RECORD=FILE` keeps the evidence of the last run. */
export const playProfile = async (t: TrustOptions, profile: Profile, seeds = [t.seed]): Promise<Measured> => {
  const all: Played[] = []
  const measured: Measured = {}
  for (const seed of seeds) {
    const cleanUps = new AsyncDisposableStack()
    t.teardown(() => cleanUps.disposeAsync())
    const played = await play({ ...t, ...toTeardown(cleanUps) }, profile, seed)
    if (process.env.TRUST_RECORD) await writeFile(process.env.TRUST_RECORD, JSON.stringify(played.evidence))
    const words = [profile.name, ...(t.short ? ['--short'] : []), '--seed', seed]
    const again = `npm run trust -- ${words.join(' ')}${t.minutes ? ` --minutes ${t.minutes}` : ''}`
    for (const { check, sentence } of audit(played.evidence, !profile.bed.isWithoutMessages))
      t.broken.add(
        `${check}: ${sentence}\n${makeExcerpt(sentence, played.evidence.history, played.happened)}\n    again: ${again}`,
      )
    Object.assign(measured, profile.judge?.(played, t))
    all.push(played)
    await cleanUps.disposeAsync()
  }
  const common = measure(all)
  return { ...common, ...measured, violations: t.broken.count }
}

/** Requires a minimum of acknowledged changes: with fewer there would be too little to lose. */
export const hasDone =
  (count: number) =>
  ({ history }: Seen): boolean =>
    history.filter(({ ending, what, parts }) => ending === 'done' && parts.length > 0 && !reads.includes(what))
      .length >= count

export const milliseconds = ({ sentAt, respondedAt }: Call): number => respondedAt - sentAt

const measure = (all: readonly Played[]): Measured => {
  const history = all.flatMap(({ evidence }) => evidence.history)
  const intents = all.flatMap(({ evidence }) => groupIntents(evidence.history))
  const count = (list: (played: Played) => readonly unknown[]) => all.reduce((sum, one) => sum + list(one).length, 0)
  const countEndings = (ending: string) => intents.filter(intent => intent.ending === ending).length
  return {
    faults: all.reduce((sum, { faults }) => sum + faults, 0),
    calls: history.length,
    done: countEndings('done'),
    refused: countEndings('refused'),
    'in doubt': countEndings('in doubt'),
    orders: count(({ evidence }) => evidence.orders),
    messages: count(({ evidence }) => evidence.wire),
    'p99 ms': roundTo(percentile(history.filter(({ status }) => status > 0).map(milliseconds), 0.99)),
    'recovery s': roundTo(Math.max(...all.map(({ recoverySeconds }) => recoverySeconds)), 1),
  }
}
