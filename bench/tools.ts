import { root } from '../dev/settings.ts'
import { startBareFastify } from './bare-fastify.ts'
import type { Cell, Tools } from './bench.ts'
import { startTaskProcess } from './processes.ts'
import { tell } from './service.ts'
import { checkOut, type Side, startSide, startSimulator } from './versions.ts'

interface BedOptions {
  /** Names the commit to compare with, if there is one. */
  commit: string | undefined
  /** Names the folder for a CPU profile of the service. */
  profileFolder: string | undefined
}

/** Starts what every measurement needs. The services start when they are first measured. */
export const startBed = async ({ commit, profileFolder }: BedOptions, cleanUps: AsyncDisposableStack) => {
  const folder = commit === undefined ? root : await checkOut(commit, cleanUps)
  const apiUrl = await startSimulator(cleanUps)
  const startFrom = (folder: string, profiles: string | undefined) =>
    once((service: Cell['service']): Promise<Side> => {
      tell(`Starting ${service} ...`)
      return startSide({ service, folder, apiUrl, profileFolder: profiles }, cleanUps)
    })
  const startBare = startFrom(root, undefined)
  const tools: Tools = {
    load: startTaskProcess('load.ts', cleanUps),
    floor: startTaskProcess('floor.ts', cleanUps),
    bareFastify: once(() => startBareFastify(cleanUps)),
    bareOrders: () => startBare('orders'),
    apiUrl,
  }
  const startTheirs = startFrom(folder, profileFolder && `${profileFolder}-then`)
  return { tools, startOurs: startFrom(root, profileFolder), startTheirs }
}

/** Calls `start` once for each argument. */
const once = <Given extends string[], Result>(start: (...given: Given) => Result) => {
  const started = new Map<string | undefined, Result>()
  return (...given: Given): Result => {
    const known = started.get(given[0]) ?? start(...given)
    started.set(given[0], known)
    return known
  }
}
