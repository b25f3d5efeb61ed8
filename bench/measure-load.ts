import type pg from 'pg'
import type { Measure } from './compare.ts'
import { postgresCpuSeconds, sumOfCpuSeconds } from './cpu.ts'
import type { LoadTask } from './load.ts'
import type { RunTask } from './processes.ts'
import type { Measurement } from './repeat.ts'

export type Load = RunTask<LoadTask, Measurement>

/** Where calls go: an address, and the addresses of the processes behind it. */
export interface Target {
  url: string
  processes: string[]
}

export interface LoadSetting {
  load: Load
  target: Target
  /** Of the Postgres that works for it, if one does. */
  superuser?: pg.Client
  task: Omit<LoadTask, 'url' | 'seconds' | 'callsPerSecond'>
}

/** Calls over HTTP, with the CPU of the processes that answer them. */
export const measureLoad =
  ({ load, target, superuser, task }: LoadSetting): Measure =>
  async (seconds, callsPerSecond) => {
    const postgresCpu = async () => (superuser ? postgresCpuSeconds(superuser) : Number.NaN)
    const pace = callsPerSecond === undefined ? {} : { callsPerSecond }
    const before = await sumOfCpuSeconds(target.processes)
    const postgresBefore = await postgresCpu()
    const measured = await load({ ...task, url: target.url, seconds, ...pace })
    const postgresSeconds = (await postgresCpu()) - postgresBefore
    return { ...measured, nodeSeconds: (await sumOfCpuSeconds(target.processes)) - before, postgresSeconds }
  }

export const only = (url: string): Target => ({ url, processes: [url] })
