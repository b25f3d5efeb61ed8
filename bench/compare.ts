import type { BenchOptions, Cell, TableRow } from './bench.ts'
import { median, percentile, rounded, sum } from './figures.ts'
import type { Costed, Measure } from './repeat.ts'
import { log } from './service.ts'

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
  const of = (name: string): Costed[] => rounds.map(round => round[name] as Costed)
  const units = ({ requestMilliseconds }: Costed) => requestMilliseconds.length * unitsPerRequest
  const perSecond = (measured: Costed) => units(measured) / measured.seconds
  const microseconds = (name: string, cost: 'nodeSeconds' | 'postgresSeconds' | 'cpuSeconds'): number | null =>
    finite((sum(of(name).map(measured => measured[cost])) * 1_000_000) / sum(of(name).map(units)), 1)
  const ratioTo = (name: string): number =>
    median(rounds.map(round => perSecond(round.ours as Costed) / perSecond(round[name] as Costed)))
  const columns: TableRow = { [`${unit}/s`]: rounded(median(of('ours').map(perSecond))) }
  for (const name of baselines) {
    columns[`${name}/s`] = rounded(median(of(name).map(perSecond)))
    columns[`ratio to ${name}`] = rounded(ratioTo(name), 2)
  }
  const milliseconds = of('ours').flatMap(({ requestMilliseconds }) => requestMilliseconds)
  columns['p50 ms'] = finite(percentile(milliseconds, 0.5), 2)
  columns['p99 ms'] = finite(percentile(milliseconds, 0.99), 2)
  for (const name of ['ours', ...baselines]) {
    const prefix = name === 'ours' ? '' : `${name} `
    columns[`${prefix}Node us`] = microseconds(name, 'nodeSeconds')
    columns[`${prefix}Postgres us`] = microseconds(name, 'postgresSeconds')
  }
  return { ...columns, 'load us': microseconds('ours', 'cpuSeconds') }
}

const finite = (value: number, decimals: number): number | null =>
  Number.isFinite(value) ? rounded(value, decimals) : null
