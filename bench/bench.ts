/** A benchmark: starts what it needs, gives each thing it started to `cleanUps`, and measures. */
export interface Bench {
  summary: string
  run: (options: BenchOptions, cleanUps: AsyncDisposableStack) => Promise<TableRow[]>
}

export interface BenchOptions {
  rounds: number
  /** How long one measurement takes. */
  seconds: number
  /** undefined: the bench's own. */
  batches: number[] | undefined
  connections: number[] | undefined
  /** How many million orders `growth` fills in. */
  millions: number
  /** Where a CPU profile of the service goes. */
  profileFolder: string | undefined
}

/** Column name to figure, or to what was measured; null where the machine cannot tell. */
export type TableRow = Record<string, number | string | null>

export const tell = (progress: string): void => {
  process.stderr.write(`${progress}\n`)
}
