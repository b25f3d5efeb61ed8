/** A benchmark: starts what it needs, gives each thing it started to `cleanUps`, and measures. */
export interface Bench {
  summary: string
  run: (options: BenchOptions, cleanUps: AsyncDisposableStack) => Promise<TableRow[]>
}

export interface BenchOptions {
  rounds: number
  /** Of one measurement. */
  seconds: number
  /** undefined: the bench's own. */
  batches: number[] | undefined
  connections: number[] | undefined
  /** Where a CPU profile of the service goes. */
  profileFolder: string | undefined
}

/** Column name to figure; null where the machine cannot tell. */
export type TableRow = Record<string, number | null>

export const tell = (progress: string): void => {
  process.stderr.write(`${progress}\n`)
}
