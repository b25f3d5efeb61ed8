import type { FloorTask } from './floor.ts'
import type { LoadTask } from './load.ts'
import type { RunTask } from './processes.ts'
import type { Measure, Measurement } from './repeat.ts'
import type { Side } from './versions.ts'

export interface BenchOptions {
  rounds: number
  /** The length of one measurement. */
  seconds: number
  /** Batch sizes and numbers of connections; undefined for the defaults of the bench. */
  batches: number[] | undefined
  connections: number[] | undefined
}

/** The programs beside the services. The bare ones start when first used; the clean-ups of the run stop them all. */
export interface Tools {
  /** Sends requests from a process of its own. */
  load: RunTask<LoadTask, Measurement>
  /** Runs bare statements in a process of its own. */
  floor: RunTask<FloorTask, Measurement>
  /** The address of a bare Fastify. */
  bareFastify: () => Promise<string>
  /** Another orders service, into whose own database bare statements write. */
  bareOrders: () => Promise<Side>
  /** The address of the simulator. */
  apiUrl: string
}

/** A kind of work of a service, measured on its own. */
export interface Cell {
  name: string
  service: 'orders' | 'notifier'
  unit: string
  /** The number of units, such as orders, that one request counts for. */
  unitsPerRequest: number
  measure: (side: Side) => Promise<Measure>
  /** The baselines: the least that the same work, or a part of it, can take. */
  floors: (side: Side) => Promise<Record<string, Measure>>
}

/** The metrics by column name, with the name of what was measured; null where the machine cannot tell. */
export type TableRow = Record<string, number | string | null>
