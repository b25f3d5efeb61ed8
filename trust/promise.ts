import type { Teardown } from '../dev/test-database.ts'

/** Describes a promise of the services and its test. Each promise has its own file, which bears its name. */
export interface TrustPromise {
  /** Is a sentence in docs/promises.md. */
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
  /** true: the test takes seconds, as `npm test -- --all` runs it. */
  short: boolean
  /** Seeds all random choices. */
  seed: number
  /** Sets the length of a run of `chaos`, if requested. */
  minutes?: number | undefined
  /** Logs the progress. */
  report: (progress: string) => void
  /** Collects each violation of the promise; a kept promise has none. */
  broken: Broken
}

/** Seeds every run unless another seed is given, so that a failure can be reproduced. */
export const seed = 20_261_121

/** Writes the measured values into one line. */
export const describe = (measured: Measured): string =>
  Object.entries(measured)
    .map(pair => pair.join(' '))
    .join(', ')

/** Limits the violations that are shown. */
export const shownErrors = 20

/** Collects violations of a promise: counts all, and keeps the first ones. */
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
