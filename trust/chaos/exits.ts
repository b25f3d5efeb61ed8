import { setTimeout as delay } from 'node:timers/promises'
import type { ServiceProcess } from '../../dev/service-process.ts'
import type { Exit } from './evidence.ts'

const isServing = ({ url }: ServiceProcess): Promise<boolean> =>
  fetch(`${url}/health/live`, { signal: AbortSignal.timeout(2_000) }).then(
    ({ ok }) => ok,
    () => false,
  )

/** Stops and starts processes, and records each of their ends, including unexpected ones. */
export const watchExits = (processes: Readonly<Record<string, ServiceProcess>>, log: (text: string) => void) => {
  const exits: Exit[] = []
  const names = new Map(Object.entries(processes).map(([name, process]) => [process, name]))
  const stopping = new Map<ServiceProcess, Exit['by']>()
  const signalledAt = new Map<ServiceProcess, number>()
  const watch = async (process: ServiceProcess): Promise<void> => {
    const [started, printed] = [performance.now(), process.lines.length]
    const status = await process.ended()
    const lastedSeconds = (performance.now() - started) / 1000
    const by = stopping.get(process) ?? null
    const stoppedSeconds = by === 'SIGTERM' ? (performance.now() - (signalledAt.get(process) ?? 0)) / 1000 : 0
    // The last lines of the process are still to be read.
    await delay(100)
    const name = names.get(process) ?? ''
    const line = process.lines.slice(printed).at(-1) ?? ''
    exits.push({ process: name, lastedSeconds, stoppedSeconds, status, by, line })
    log(`** ${name} ended with ${status}`)
  }
  for (const process of names.keys()) void watch(process)
  return {
    exits,
    isStopping: (process: ServiceProcess): boolean => stopping.has(process),
    kill: async (process: ServiceProcess): Promise<void> => {
      stopping.set(process, 'SIGKILL')
      await process.stop('SIGKILL')
    },
    /** Waits up to 90 s, for a busy machine. A process that does not serve yet does not handle the signal. */
    terminate: async (process: ServiceProcess): Promise<void> => {
      stopping.set(process, (await isServing(process)) ? 'SIGTERM' : 'SIGTERM while it started')
      signalledAt.set(process, performance.now())
      const timer = setTimeout(() => {
        stopping.set(process, 'SIGKILL')
        void process.stop('SIGKILL')
      }, 90_000)
      await process.stop('SIGTERM')
      clearTimeout(timer)
      if (stopping.get(process) === 'SIGKILL') throw new Error(`SIGTERM did not end ${process.url} within 90 s`)
    },
    start: (process: ServiceProcess): void => {
      if (process.isRunning) return
      stopping.delete(process)
      process.start()
      void watch(process)
    },
  }
}

export type Exits = ReturnType<typeof watchExits>
