import { setTimeout as delay } from 'node:timers/promises'
import type { ServiceProcess } from '../../dev/service-process.ts'
import type { TcpProxy, Trouble } from '../../dev/tcp-proxy.ts'
import type { Trouble as ApiTrouble } from '../../simulator/trouble/trouble.ts'
import type { Bed } from './bed.ts'
import { type Exits, watchExits } from './exits.ts'
import type { Fault } from './plan.ts'

/** Ends the fault. */
type Heal = () => unknown

const hurtProcess = async (process: ServiceProcess, kind: Fault['kind'], exits: Exits): Promise<Heal> => {
  const signal = (name: NodeJS.Signals): void => {
    // It may have ended: a later fault starts it again.
    if (process.pid !== undefined && process.isRunning) globalThis.process.kill(process.pid, name)
  }
  if (kind === 'kill') await exits.kill(process)
  if (kind === 'restart') await exits.terminate(process)
  // A stop that lasts longer than planned is not judged with a pause in it.
  if (kind === 'pause' && !exits.isStopping(process)) signal('SIGSTOP')
  if (kind === 'clock') signal('SIGWINCH')
  return kind === 'pause' ? () => signal('SIGCONT') : () => exits.start(process)
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

const apiTroubles: Readonly<Record<string, ApiTrouble>> = {
  busy: { kind: 'error', code: 131016 },
  too_many: { kind: 'error', code: 130429 },
  undeliverable: { kind: 'error', code: 131026 },
  token_refused: { kind: 'error', code: 190 },
  lost: { kind: 'lost', accepted: true },
  cut_off: { kind: 'lost', accepted: false },
  half: { kind: 'half', accepted: true },
  html: { kind: 'html', accepted: true },
}

const hurt = async (bed: Bed, fault: Fault, exits: Exits): Promise<Heal> => {
  if (fault.where in bed.processes)
    return hurtProcess(bed.processes[fault.where as keyof Bed['processes']], fault.kind, exits)
  if (fault.where in bed.links) return hurtLink(bed.links[fault.where as keyof Bed['links']], fault.kind)
  if (fault.where === 'API') {
    await bed.courier.control('/scripts', { call: 'messages', times: 3, trouble: apiTroubles[fault.kind] })
    return () => bed.courier.control('/scripts', undefined, 'DELETE')
  }
  const server = bed.servers[fault.where as keyof Bed['servers']]
  await server.kill()
  return server.start
}

export interface Happened {
  readonly at: number
  readonly text: string
}

/** Does what the plan says, at its times. `stop` ends it early, without mending what is broken. */
export const runFaults = (bed: Bed, plan: readonly Fault[]) => {
  const log: Happened[] = []
  const watched = watchExits(bed.processes, text => log.push({ at: Date.now(), text }))
  const end = new AbortController()
  const wait = (milliseconds: number) => delay(milliseconds, undefined, { signal: end.signal })
  const note = (fault: Fault, what: string) =>
    log.push({ at: Date.now(), text: `** ${fault.where}: ${fault.kind} ${what}` })
  const start = performance.now()
  const play = async (fault: Fault): Promise<void> => {
    await wait(Math.max(0, fault.at + start - performance.now()))
    note(fault, fault.lasts > 0 ? `for ${fault.lasts} ms` : '')
    const heal = await hurt(bed, fault, watched)
    await wait(fault.lasts)
    await heal()
    note(fault, 'is over')
  }
  const playing = Promise.allSettled(plan.map(play))
  const done = async (): Promise<void> => {
    const failed = (await playing).find(result => result.status === 'rejected')
    if (failed) throw failed.reason
  }
  const stop = async (): Promise<void> => {
    end.abort()
    await playing
  }
  return { log, exits: watched.exits, done, stop }
}
