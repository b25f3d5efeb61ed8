import type { Teardown } from '../dev/test-database.ts'

/** A promise that the services make, with what shows whether they keep it. One file each, under its name. */
export interface TrustPromise {
  /** A sentence of docs/promises.md. */
  promise: string
  limit: string
  /** Needs the Postgres of TEST_POSTGRES_URL, and removes what it makes. Returns what was measured, in the order of the table. */
  run: (options: TrustOptions) => Promise<Measured>
}

export type Measured = Record<string, number | string>

export interface TrustOptions extends Teardown {
  /** The form that runs with `npm test -- --all`: the same in seconds. */
  short: boolean
  /** Seeds everything that is left to chance. */
  seed: number
  /** How long a run of `chaos` lasts, where that was asked for. */
  minutes?: number | undefined
  /** Logs the progress. */
  report: (progress: string) => void
  /** Takes each way in which the promise was broken; none when it was kept. */
  broken: Broken
}

/** Every run has this seed: it finds again what it found once. */
export const seed = 20_261_121

/** Writes the measured values into one line. */
export const describe = (measured: Measured): string =>
  Object.entries(measured)
    .map(pair => pair.join(' '))
    .join(', ')

/** At most so many ways in which a promise was broken are shown. */
export const shownErrors = 20

/** Collects the ways in which a promise is broken; all are counted, the first ones kept. */
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
