import type { BenchOptions, Cell, TableRow } from './bench.ts'
import type { Costed, Measure } from './repeat.ts'
import { log } from './service.ts'
import { median, percentile, roundTo, sum } from './statistics.ts'

/** Holds the measurement of this code, and those of the baselines by their names in the table. */
interface Sides {
  ours: Measure
  baselines: Record<string, Measure>
}

/** Gives the compiler enough time to optimise. */
const warmUpSeconds = 3

/**
 * Measures all sides in turn, round by round. Rates and ratios are medians of the rounds; percentiles and CPU cover all
 * rounds together.
 */
export const compare = async (cell: Cell, { ours, baselines }: Sides, options: BenchOptions): Promise<TableRow> => {
  const sides = Object.entries({ ours, ...baselines })
  for (const [, measure] of sides) await measure(Math.min(warmUpSeconds, 2 * options.seconds))
  const rounds: Record<string, Costed>[] = []
  for (let round = 1; round <= options.rounds; round++) {
    log(`${cell.name}, round ${round} of ${options.rounds}`)
    const measured: Record<string, Costed> = {}
    // Reverses the order in every second round, so that no side always follows the disk writes of the same other side.
    for (const [name, measure] of round % 2 ? sides : sides.toReversed())
      measured[name] = await measure(options.seconds)
    rounds.push(measured)
  }
  return { what: cell.name, ...summarise(cell, Object.keys(baselines), rounds) }
}

const summarise = (
  { unit, unitsPerRequest }: Cell,
  baselines: string[],
  rounds: Record<string, Costed>[],
): TableRow => {
  const select = (name: string): Costed[] => rounds.map(round => round[name] as Costed)
  const countUnits = ({ requestMilliseconds }: Costed) => requestMilliseconds.length * unitsPerRequest
  const measureRate = (measured: Costed) => countUnits(measured) / measured.seconds
  const averageMicroseconds = (name: string, cost: 'nodeSeconds' | 'postgresSeconds' | 'cpuSeconds'): number | null =>
    roundFinite((sum(select(name).map(measured => measured[cost])) * 1_000_000) / sum(select(name).map(countUnits)), 1)
  const measureRatio = (name: string): number =>
    median(rounds.map(round => measureRate(round.ours as Costed) / measureRate(round[name] as Costed)))
  const columns: TableRow = { [`${unit}/s`]: roundTo(median(select('ours').map(measureRate))) }
  for (const name of baselines) {
    columns[`${name}/s`] = roundTo(median(select(name).map(measureRate)))
    columns[`ratio to ${name}`] = roundTo(measureRatio(name), 2)
  }
  const milliseconds = select('ours').flatMap(({ requestMilliseconds }) => requestMilliseconds)
  columns['p50 ms'] = roundFinite(percentile(milliseconds, 0.5), 2)
  columns['p99 ms'] = roundFinite(percentile(milliseconds, 0.99), 2)
  for (const name of ['ours', ...baselines]) {
    const prefix = name === 'ours' ? '' : `${name} `
    columns[`${prefix}Node us`] = averageMicroseconds(name, 'nodeSeconds')
    columns[`${prefix}Postgres us`] = averageMicroseconds(name, 'postgresSeconds')
  }
  return { ...columns, 'load us': averageMicroseconds('ours', 'cpuSeconds') }
}

const roundFinite = (value: number, decimals: number): number | null =>
  Number.isFinite(value) ? roundTo(value, decimals) : null
