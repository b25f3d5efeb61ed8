import type { FloorTask } from './floor.ts'
import type { LoadTask } from './load.ts'
import type { RunTask } from './processes.ts'
import type { Measure, Measurement } from './repeat.ts'
import type { Side } from './versions.ts'

export interface BenchOptions {
  rounds: number
  /** Sets the length of one measurement. */
  seconds: number
  /** Holds the batch sizes, as `connections` holds the numbers of connections. undefined: the defaults of the bench. */
  batches: number[] | undefined
  connections: number[] | undefined
}

/** Holds the programs beside the services. The bare ones start when first used; the clean-ups of the run stop all. */
export interface Tools {
  /** Sends requests from a process of its own. */
  load: RunTask<LoadTask, Measurement>
  /** Runs bare statements in a process of its own. */
  floor: RunTask<FloorTask, Measurement>
  /** Returns the address of a bare Fastify. */
  bareFastify: () => Promise<string>
  /** Returns another orders service, into whose own database bare statements write. */
  bareOrders: () => Promise<Side>
  /** Names the address of the simulator. */
  apiUrl: string
}

/** Describes a kind of work of a service, which is measured on its own. */
export interface Cell {
  name: string
  service: 'orders' | 'notifier'
  unit: string
  /** Counts the units, such as orders, in one request. */
  unitsPerRequest: number
  measure: (side: Side) => Promise<Measure>
  /** Returns the baselines: the least that the same work, or a part of it, can take. */
  floors: (side: Side) => Promise<Record<string, Measure>>
}

/** Holds the metrics by column name, with the name of what was measured. null: this machine cannot measure it. */
export type TableRow = Record<string, number | string | null>
