import type { FloorTask } from './floor.ts'
import type { LoadTask } from './load.ts'
import type { RunTask } from './processes.ts'
import type { Measure, Measurement } from './repeat.ts'
import type { Side } from './versions.ts'

export interface BenchOptions {
  rounds: number
  /** How long one measurement takes. */
  seconds: number
  /** Batch sizes and numbers of connections; undefined: the bench's own. */
  batches: number[] | undefined
  connections: number[] | undefined
}

/** The programs beside the services, started when first used, stopped by the clean-ups of the run. */
export interface Tools {
  /** Sends requests from a process of its own. */
  load: RunTask<LoadTask, Measurement>
  /** Runs bare statements in a process of its own. */
  floor: RunTask<FloorTask, Measurement>
  /** The address of a bare Fastify. */
  bareFastify: () => Promise<string>
  /** Orders with a database of its own, into which bare statements write. */
  bareOrders: () => Promise<Side>
  /** The address of the simulator. */
  apiUrl: string
}

/** A kind of work of a service, measured on its own. */
export interface Cell {
  name: string
  service: 'orders' | 'notifier'
  unit: string
  /** The counted units, such as orders, of one request. */
  unitsPerRequest: number
  measure: (side: Side) => Promise<Measure>
  /** The baselines: the least that the same work, or a part of it, can take. */
  floors: (side: Side) => Promise<Record<string, Measure>>
}

/** The metrics by column name, or the name of what was measured; null where the machine cannot tell. */
export type TableRow = Record<string, number | string | null>
