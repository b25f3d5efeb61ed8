import { root } from '../dev/settings.ts'
import { startBareFastify } from './bare-fastify.ts'
import type { LoadTask, LoadWork } from './load.ts'
import { startTaskProcess } from './processes.ts'
import type { Measure, Measurement } from './repeat.ts'
import { log } from './service.ts'
import { checkOut, prepareBareOrders, type Side, startSide, startSimulator } from './versions.ts'

export interface BenchOptions {
  rounds: number
  /** Sets the length of one measurement. */
  seconds: number
  /** Lists the batch sizes; `connections` lists the numbers of connections. undefined: the benchmark's defaults. */
  batches: number[] | undefined
  connections: number[] | undefined
  /** Two versions are compared. */
  isCompared: boolean
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
  baselines: (side: Side) => Promise<Record<string, Measure>>
}

/** Holds the metrics by column name, with the name of what was measured. null: this machine cannot measure it. */
export type TableRow = Record<string, number | string | null>

interface BedOptions {
  /** Names the commit to compare with, if there is one. */
  commit: string | undefined
  /** Names the folder for a CPU profile of the service. */
  profileFolder: string | undefined
}

/** Starts the process that generates the load. Each work is sent to it once. */
const startLoad = (cleanUps: AsyncDisposableStack) => {
  const run = startTaskProcess<LoadTask, Measurement>('load.ts', cleanUps)
  const ids = new WeakMap<LoadWork, number>()
  let count = 0
  return ({ work, ...task }: Omit<LoadTask, 'workId'> & { work: LoadWork }): Promise<Measurement> => {
    const workId = ids.get(work)
    if (workId !== undefined) return run({ ...task, workId })
    ids.set(work, count)
    return run({ ...task, workId: count++, work })
  }
}

/** Starts what every measurement needs. The services start when they are first measured. */
export const startBed = async ({ commit, profileFolder }: BedOptions, cleanUps: AsyncDisposableStack) => {
  const folder = commit === undefined ? root : await checkOut(commit, cleanUps)
  const apiUrl = await startSimulator(cleanUps)
  const startFrom = (folder: string, profiles: string | undefined) =>
    once((service: Cell['service']): Promise<Side> => {
      log(`Starting ${service} ...`)
      return startSide({ service, folder, apiUrl, profileFolder: profiles }, cleanUps)
    })
  const tools = {
    /** Sends requests, or runs statements, from a process of its own. */
    load: startLoad(cleanUps),
    /** Returns the address of a bare Fastify. */
    bareFastify: once(() => startBareFastify(cleanUps)),
    /** Returns a database of orders for bare statements. */
    bareOrders: once(() => prepareBareOrders(cleanUps)),
    /** Names the address of the simulator. */
    apiUrl,
  }
  const startTheirs = startFrom(folder, profileFolder && `${profileFolder}-then`)
  return { tools, startOurs: startFrom(root, profileFolder), startTheirs }
}

/** Holds the programs beside the services. The bare ones start when first used; the run's clean-ups stop them all. */
export type Tools = Awaited<ReturnType<typeof startBed>>['tools']

/** Calls `start` once for each argument. */
const once = <Given extends string[], Result>(start: (...given: Given) => Result) => {
  const started = new Map<string | undefined, Result>()
  return (...given: Given): Result => {
    const known = started.get(given[0]) ?? start(...given)
    started.set(given[0], known)
    return known
  }
}
