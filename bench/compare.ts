import { type BenchOptions, type TableRow, tell } from './bench.ts'
import { median, percentile, rounded, sum } from './figures.ts'
import type { Measurement } from './repeat.ts'

/** A measurement with the CPU it cost: in the Node process that does the work, and in Postgres (NaN: not known). */
export interface Costed extends Measurement {
  nodeSeconds: number
  postgresSeconds: number
}

export type Measure = (seconds: number) => Promise<Costed>

/** Ours and its floor: the least that the same work can take. */
export interface Comparison {
  /** For the progress lines. */
  name: string
  /** How many of what is counted (such as orders) one call makes. */
  unitsPerCall: number
  unit: string
  ours: Measure
  floor: Measure
}

interface Pair {
  ours: Costed
  floor: Costed
}

const warmUpSeconds = 0.3

/** Measures both in turn, round by round. Medians of the rounds; the ratio is the median of those of each round. */
export const compare = async (
  comparison: Comparison,
  { rounds, seconds }: Pick<BenchOptions, 'rounds' | 'seconds'>,
): Promise<TableRow> => {
  await comparison.ours(warmUpSeconds)
  await comparison.floor(warmUpSeconds)
  const pairs: Pair[] = []
  for (let round = 1; round <= rounds; round++) {
    tell(`${comparison.name}, round ${round} of ${rounds}`)
    const ours = await comparison.ours(seconds)
    pairs.push({ ours, floor: await comparison.floor(seconds) })
  }
  return summarise(comparison, pairs)
}

const summarise = ({ unit, unitsPerCall }: Comparison, pairs: Pair[]): TableRow => {
  const units = ({ callMilliseconds }: Costed) => callMilliseconds.length * unitsPerCall
  const perSecond = (measured: Costed) => units(measured) / measured.seconds
  const ours = pairs.map(pair => pair.ours)
  const floor = pairs.map(pair => pair.floor)
  const milliseconds = ours.flatMap(({ callMilliseconds }) => callMilliseconds)
  const microseconds = (of: Costed[], cost: 'nodeSeconds' | 'postgresSeconds' | 'cpuSeconds'): number | null => {
    const value = (sum(of.map(measured => measured[cost])) * 1_000_000) / sum(of.map(units))
    return Number.isFinite(value) ? rounded(value, 1) : null
  }
  return {
    [`${unit}/s`]: rounded(median(ours.map(perSecond))),
    [`floor ${unit}/s`]: rounded(median(floor.map(perSecond))),
    ratio: rounded(median(pairs.map(pair => perSecond(pair.ours) / perSecond(pair.floor))), 2),
    'p50 ms': rounded(percentile(milliseconds, 0.5), 1),
    'p99 ms': rounded(percentile(milliseconds, 0.99), 1),
    'Node us': microseconds(ours, 'nodeSeconds'),
    'Postgres us': microseconds(ours, 'postgresSeconds'),
    'load us': microseconds(ours, 'cpuSeconds'),
    'floor Node us': microseconds(floor, 'nodeSeconds'),
    'floor Postgres us': microseconds(floor, 'postgresSeconds'),
  }
}
