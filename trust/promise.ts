import type { Teardown } from '../dev/test-database.ts'

/** A promise of the services, with its test. Each has one file of its name. */
export interface TrustPromise {
  /** A sentence of docs/promises.md. */
  promise: string
  limit: string
  /**
   * Needs the Postgres of TEST_POSTGRES_URL, and removes everything that it creates. Returns the measured values, in
   * the order of the table.
   */
  run: (options: TrustOptions) => Promise<Measured>
}

export type Measured = Record<string, number | string>

export interface TrustOptions extends Teardown {
  /** The form that `npm test -- --all` runs: the same in seconds. */
  short: boolean
  /** Seeds all random choices. */
  seed: number
  /** The length of a run of `chaos`, where requested. */
  minutes?: number | undefined
  /** Logs the progress. */
  report: (progress: string) => void
  /** Collects each violation of the promise; none when it was kept. */
  broken: Broken
}

/** The seed of every run, so that a failure is found again. */
export const seed = 20_261_121

/** Writes the measured values into one line. */
export const describe = (measured: Measured): string =>
  Object.entries(measured)
    .map(pair => pair.join(' '))
    .join(', ')

/** The maximum of violations that are shown. */
export const shownErrors = 20

/** Collects violations of a promise; counts all, keeps the first ones. */
export class Broken {
  readonly sentences: string[] = []
  count = 0

  add(sentence: string): void {
    this.count++
    if (this.sentences.length < shownErrors) this.sentences.push(sentence)
  }

  require(isKept: boolean, sentence: string): void {
    if (!isKept) this.add(sentence)
  }
}
