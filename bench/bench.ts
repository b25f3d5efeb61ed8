/** A benchmark: starts what it needs, gives each thing it started to `cleanUps`, and measures. */
export interface Bench {
  summary: string
  run: (options: BenchOptions, cleanUps: AsyncDisposableStack) => Promise<TableRow[]>
}

export interface BenchOptions {
  rounds: number
  /** How long one measurement takes. */
  seconds: number
  /** The number of rounds; undefined: the bench's own. */
  batches: number[] | undefined
  connections: number[] | undefined
  /** How many million orders `growth` fills in. */
  millions: number
  /** The folder for a CPU profile of the service. */
  profileFolder: string | undefined
}

/** The metrics by column name, or the name of what was measured; null where the machine cannot tell. */
export type TableRow = Record<string, number | string | null>

export const tell = (progress: string): void => {
  process.stderr.write(`${progress}\n`)
}
