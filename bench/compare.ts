import { type BenchOptions, type TableRow, tell } from './bench.ts'
import { median, percentile, rounded, sum } from './figures.ts'
import type { Measurement } from './repeat.ts'

/** A measurement with the CPU it cost: in the Node process that does the work, and in Postgres (NaN: unknown). */
export interface Costed extends Measurement {
  nodeSeconds: number
  postgresSeconds: number
}

/** Takes a steady rate of `requestsPerSecond`, if given. */
export type Measure = (seconds: number, requestsPerSecond?: number) => Promise<Costed>

/** Our work and its baselines: the least that the same work, or a part of it, can take. */
interface Comparison {
  /** The name in the progress lines. */
  name: string
  unit: string
  /** The counted units, such as orders, of one request. */
  unitsPerRequest: number
  ours: Measure
  /** The baselines by the names that they have in the table. */
  floors: Record<string, Measure>
  /** Also measures ours and the first baseline at a steady rate, half of what each could do in that round. */
  alsoHalf?: boolean
}

interface Round {
  ours: Costed
  floors: Record<string, Costed>
  /** The measurement at a steady rate. */
  half: { ours: Costed; floor: Costed } | undefined
}

const warmUpSeconds = 0.3

/** Measures all in turn, round by round. Returns medians of the rounds; a ratio is the median of those of each round. */
export const compare = async (
  comparison: Comparison,
  { rounds, seconds }: Pick<BenchOptions, 'rounds' | 'seconds'>,
): Promise<TableRow> => {
  await comparison.ours(warmUpSeconds)
  for (const floor of Object.values(comparison.floors)) await floor(warmUpSeconds)
  const measured: Round[] = []
  for (let round = 1; round <= rounds; round++) {
    tell(`${comparison.name}, round ${round} of ${rounds}`)
    measured.push(await measureRound(comparison, seconds, round % 2 === 0))
  }
  return summarise(comparison, measured)
}

/** Reverses the order every second time: neither side always follows the other's disk writes. */
const measureRound = async (comparison: Comparison, seconds: number, isReversed: boolean): Promise<Round> => {
  const sides = Object.entries({ ours: comparison.ours, ...comparison.floors })
  const measured: Record<string, Costed> = {}
  for (const [name, measure] of isReversed ? sides.reverse() : sides) measured[name] = await measure(seconds)
  const { ours, ...floors } = measured as Record<string, Costed> & { ours: Costed }
  const [first] = Object.entries(comparison.floors)
  if (!comparison.alsoHalf || !first) return { ours, floors, half: undefined }
  const [name, measureFloor] = first
  const halfOf = ({ requestMilliseconds, seconds }: Costed): number => requestMilliseconds.length / seconds / 2
  const oursAtHalf = await comparison.ours(seconds, halfOf(ours))
  const floorAtHalf = await measureFloor(seconds, halfOf(floors[name] as Costed))
  return { ours, floors, half: { ours: oursAtHalf, floor: floorAtHalf } }
}

const summarise = ({ unit, unitsPerRequest, floors }: Comparison, rounds: Round[]): TableRow => {
  const units = ({ requestMilliseconds }: Costed) => requestMilliseconds.length * unitsPerRequest
  const perSecond = (measured: Costed) => units(measured) / measured.seconds
  const microseconds = (of: Costed[], cost: 'nodeSeconds' | 'postgresSeconds' | 'cpuSeconds'): number | null =>
    finite((sum(of.map(measured => measured[cost])) * 1_000_000) / sum(of.map(units)), 1)
  const ours = rounds.map(round => round.ours)
  const rates: TableRow = { [`${unit}/s`]: rounded(median(ours.map(perSecond))) }
  const costs: TableRow = {
    'Node us': microseconds(ours, 'nodeSeconds'),
    'Postgres us': microseconds(ours, 'postgresSeconds'),
    'load us': microseconds(ours, 'cpuSeconds'),
  }
  for (const name of Object.keys(floors)) {
    const pairs = rounds.map(round => ({ ours: round.ours, floor: round.floors[name] as Costed }))
    const floor = pairs.map(pair => pair.floor)
    rates[`${name}/s`] = rounded(median(floor.map(perSecond)))
    rates[`ratio to ${name}`] = rounded(median(pairs.map(pair => perSecond(pair.ours) / perSecond(pair.floor))), 2)
    costs[`${name} Node us`] = microseconds(floor, 'nodeSeconds')
    costs[`${name} Postgres us`] = microseconds(floor, 'postgresSeconds')
  }
  return { ...rates, ...latencies('', ours), ...costs, ...atHalf(rounds, Object.keys(floors)[0] ?? '') }
}

/**
 * Watch the ratio of p99 to p50: how much longer than usual an unlucky request takes; the baseline's shows what the
 * machine itself does to unlucky ones. The first quarter does not count: connections are opened then, and at a steady
 * rate every later request waits for it.
 */
const atHalf = (rounds: Round[], floor: string): TableRow => {
  const half = rounds.flatMap(round => round.half ?? [])
  if (half.length === 0) return {}
  const settled = (measured: Costed[]) =>
    measured.map(({ requestMilliseconds }) => ({
      requestMilliseconds: requestMilliseconds.slice(requestMilliseconds.length / 4),
    }))
  const [ours, floors] = [settled(half.map(pair => pair.ours)), settled(half.map(pair => pair.floor))]
  return { ...latencies('half ', ours), 'half p99/p50': spread(ours), [`${floor} half p99/p50`]: spread(floors) }
}

const spread = (measured: Pick<Costed, 'requestMilliseconds'>[]): number | null => {
  const milliseconds = measured.flatMap(({ requestMilliseconds }) => requestMilliseconds)
  return finite(percentile(milliseconds, 0.99) / percentile(milliseconds, 0.5), 1)
}

const latencies = (prefix: string, measured: Pick<Costed, 'requestMilliseconds'>[]): TableRow => {
  const milliseconds = measured.flatMap(({ requestMilliseconds }) => requestMilliseconds)
  return {
    [`${prefix}p50 ms`]: finite(percentile(milliseconds, 0.5), 2),
    [`${prefix}p99 ms`]: finite(percentile(milliseconds, 0.99), 2),
  }
}

const finite = (value: number, decimals: number): number | null =>
  Number.isFinite(value) ? rounded(value, decimals) : null
