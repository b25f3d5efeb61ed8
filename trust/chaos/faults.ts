import { setTimeout as delay } from 'node:timers/promises'
import type { ServiceProcess } from '../../dev/service-process.ts'
import type { TcpProxy, Trouble } from '../../dev/tcp-proxy.ts'
import type { Bed } from './bed.ts'
import { type Exits, watchExits } from './exits.ts'
import { apiTroubles, type Fault, type Lane } from './plan.ts'

/** Ends the fault. */
type Heal = () => unknown

const hurtProcess = async (process: ServiceProcess, { kind, isAwaited }: Fault, exits: Exits): Promise<Heal> => {
  const signal = (name: NodeJS.Signals): void => {
    // The process may have ended: a later fault starts it again.
    if (process.pid !== undefined && process.isRunning) globalThis.process.kill(process.pid, name)
  }
  if (kind === 'kill') await exits.kill(process)
  if (kind === 'restart') await exits.terminate(process)
  // A pause would make a stop last longer, so a process that is stopping is not paused.
  if (kind === 'pause' && !exits.isStopping(process)) signal('SIGSTOP')
  if (kind === 'clock') signal('SIGWINCH')
  if (kind === 'pause') return () => signal('SIGCONT')
  return () => {
    exits.start(process)
    return isAwaited && process.ready()
  }
}

const hurtLink = async (link: TcpProxy, kind: Fault['kind']): Promise<Heal> => {
  if (kind === 'silence') link.silence()
  else if (kind === 'cut') await link.cut()
  else link.trouble = kind === 'slow' ? { kind, milliseconds: 200 } : ({ kind } as Trouble)
  return kind === 'cut'
    ? link.restore
    : () => {
        link.trouble = undefined
      }
}

const hurt = async (bed: Bed, fault: Fault, exits: Exits): Promise<Heal> => {
  const { where, kind } = fault
  const process = bed.processes[where]
  if (process) return hurtProcess(process, fault, exits)
  if (where in bed.links) return hurtLink(bed.links[where as keyof Bed['links']], kind)
  if (where === 'endpoints') {
    for (const { disturb } of bed.endpoints) disturb()
    return () => bed.endpoints.map(({ calm }) => calm())
  }
  if (fault.where === 'API') {
    await bed.courier.control('/scripts', { call: 'messages', times: 3, trouble: apiTroubles[fault.kind] })
    return () => bed.courier.control('/scripts', undefined, 'DELETE')
  }
  const server = bed.servers[where as keyof Bed['servers']]
  if (!server) throw new Error(`the bed has no ${where}`)
  await server.kill()
  return server.start
}

export interface Happened {
  readonly at: number
  readonly text: string
}

/** Applies the plan's faults at their times. `stop` ends the run early, without repair. */
export const runFaults = (bed: Bed, plan: readonly Lane[]) => {
  const log: Happened[] = []
  const watched = watchExits(bed.processes, text => log.push({ at: Date.now(), text }))
  const end = new AbortController()
  const wait = (milliseconds: number) => delay(milliseconds, undefined, { signal: end.signal })
  const note = ({ where, kind }: Fault, what: string) =>
    log.push({ at: Date.now(), text: `** ${where}: ${kind} ${what}` })
  let count = 0
  const play = async (fault: Fault): Promise<void> => {
    await wait(fault.at)
    count++
    note(fault, fault.lasts > 0 ? `for ${Math.round(fault.lasts)} ms` : '')
    const heal = await hurt(bed, fault, watched)
    await wait(fault.lasts)
    await heal()
    note(fault, 'is over')
  }
  const playLane = async (lane: Lane): Promise<void> => {
    for (const fault of lane) await play(fault)
  }
  const playing = Promise.allSettled(plan.map(playLane))
  const done = async (): Promise<void> => {
    const failed = (await playing).find(result => result.status === 'rejected')
    if (failed) throw failed.reason
  }
  const stop = async (): Promise<void> => {
    end.abort()
    await playing
  }
  return { log, exits: watched.exits, count: () => count, done, stop }
}
