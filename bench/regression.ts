import { startBed } from './bench.ts'
import { createBulkCell } from './bulk.ts'
import { createMoveCell } from './moves.ts'
import { createQueueCell } from './notifier.ts'
import { createReadCells } from './read.ts'
import type { Costed, Measure } from './repeat.ts'
import { percentile, roundTo } from './statistics.ts'

/** Holds the ratios of our speed to theirs in one round: higher is better. */
export interface Ratios {
  perSecond: number
  /** Compares operations per second of CPU. */
  perCpuSecond: number
}

/** Sets the share of the last release's speed that this code must reach. */
const limit = 0.9

/** Lists the cells that may be even slower: the share of `limit` that is enough, and why. A release empties it. */
const accepted: Readonly<Record<string, number>> = {
  // Reaches 0.86 with 16 connections: bookings also write the feed of changes and look up similar orders.
  'bulk, batch 1000, key off, connections 4': 0.9,
  // Reaches 0.93: each message looks up hours, rate limits, rules that supersede each other and templates on hold.
  'queue, responses after 0 ms': 0.9,
}

/** Returns the ratios below which `share` of the rounds lie. */
const takePercentiles = (rounds: readonly Ratios[], share: number): Ratios => {
  const take = (kind: keyof Ratios): number =>
    percentile(
      rounds.map(each => each[kind]),
      share,
    )
  return { perSecond: take('perSecond'), perCpuSecond: take('perCpuSecond') }
}

/** Waiting for locks or round trips costs no CPU, so a throughput below this share is a failure by itself. */
const minimumThroughput = 0.55

/**
 * Returns true if both ratios are low, or throughput alone is very low. Another process that takes the cores lowers the
 * throughput of the side measured then, but adds little to the CPU of an operation, which is counted in ticks of 10 ms.
 * Slower code lowers both.
 */
const areLow = ({ perSecond, perCpuSecond }: Ratios, share: number): boolean =>
  Math.max(perSecond, perCpuSecond) < limit * share || perSecond < minimumThroughput * share

/** Returns true if the medians are low. */
const looksSlower = (rounds: readonly Ratios[], share: number): boolean => areLow(takePercentiles(rounds, 0.5), share)

/**
 * Returns true if three quarters of the rounds are low. If the code is as fast as the limit, half of them are: chance
 * makes 16 of `mostRounds` low in 1.3 % of all runs, however much other processes disturb single rounds.
 */
export const isSlower = (rounds: readonly Ratios[], share = 1): boolean => areLow(takePercentiles(rounds, 0.75), share)

const [mostRounds, secondsEach] = [21, 0.4]

const slowest: Ratios = { perSecond: 0, perCpuSecond: 0 }
const fastest: Ratios = { perSecond: Number.POSITIVE_INFINITY, perCpuSecond: Number.POSITIVE_INFINITY }

/** Returns true if the rounds up to `mostRounds` can no longer change what `isSlower` returns. */
const isSettled = (rounds: readonly Ratios[], share: number): boolean => {
  const rest = mostRounds - rounds.length
  const judgeWith = (each: Ratios): boolean => isSlower([...rounds, ...Array<Ratios>(rest).fill(each)], share)
  return judgeWith(slowest) === judgeWith(fastest)
}

/**
 * Measures until the rounds that are not low outnumber the low ones by two, or until the verdict is settled. Code with
 * nine low rounds in ten passes by such a lead in about one run of eighty.
 */
export const measureUntilSure = async (
  round: (isReversed: boolean) => Promise<Ratios>,
  share = 1,
): Promise<Ratios[]> => {
  const rounds: Ratios[] = []
  do rounds.push(await round(rounds.length % 2 === 1))
  while (looksSlower([...rounds, slowest, slowest], share) && !isSettled(rounds, share))
  return rounds
}

const compareCosts = (ours: Costed, theirs: Costed): Ratios => {
  const requests = ours.requestMilliseconds.length / theirs.requestMilliseconds.length
  return {
    perSecond: (requests * theirs.seconds) / ours.seconds,
    perCpuSecond: (requests * sumCpu(theirs)) / sumCpu(ours),
  }
}

/** Adds the CPU of Postgres, which not every machine can measure. */
const sumCpu = ({ nodeSeconds, postgresSeconds }: Costed): number => nodeSeconds + (postgresSeconds || 0)

const measureInTurn = (ours: Measure, theirs: Measure) => async (isReversed: boolean) => {
  const first = await (isReversed ? theirs : ours)(secondsEach)
  const second = await (isReversed ? ours : theirs)(secondsEach)
  return isReversed ? compareCosts(second, first) : compareCosts(first, second)
}

/** Node compiles what runs often: until then the side with more code is slower, and on a slow machine for longer. */
const warmUp = async (side: Measure, enoughRequests: number): Promise<void> => {
  const [seconds, mostTurns] = [0.5, 10]
  for (let requests = 0, turns = 0; requests < enoughRequests && turns < mostTurns; turns++)
    requests += (await side(seconds)).requestMilliseconds.length
}

/** Writes the median with the lower and the upper quartile. */
const describe = (rounds: readonly Ratios[], kind: keyof Ratios): string => {
  const [lower, middle, upper] = [0.25, 0.5, 0.75].map(share => roundTo(takePercentiles(rounds, share)[kind], 2))
  return `${middle} (${lower} to ${upper})`
}

/** Measures each kind of work in turn with this code and with the code of a commit. */
export const compareWithCommit = async (commit: string, cleanUps: AsyncDisposableStack) => {
  const { tools, startOurs, startTheirs } = await startBed({ commit, profileFolder: undefined }, cleanUps)
  const cells = [
    createBulkCell(tools, { batch: 1, isKeyed: true, connections: 16, bodies: 5_000 }),
    createBulkCell(tools, { batch: 1000, isKeyed: false, connections: 4, bodies: 20 }),
    ...createReadCells(tools, 16),
    createMoveCell(tools, 1, 8, 'nothing', 10),
    createQueueCell(tools, 0),
  ]
  const services = new Set(cells.map(({ service }) => service))
  await Promise.all([...services].flatMap(service => [startOurs(service), startTheirs(service)]))
  const compared = []
  for (const { name, service, unitsPerRequest, measure } of cells) {
    const sides = [await measure(await startOurs(service)), await measure(await startTheirs(service))] as const
    // A few batches compile the code for each order; the cell before has compiled the rest.
    for (const side of sides) await warmUp(side, unitsPerRequest > 1 ? 30 : 1_000)
    const rounds = await measureUntilSure(measureInTurn(...sides), accepted[name])
    const sentence = `${name}: ${describe(rounds, 'perSecond')} of ${commit.slice(0, 7)}'s throughput, ${describe(rounds, 'perCpuSecond')} per CPU second, ${rounds.length} rounds`
    compared.push({ sentence, isSlower: isSlower(rounds, accepted[name]) })
  }
  return compared
}
