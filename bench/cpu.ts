import { readdir, readFile } from 'node:fs/promises'
import type pg from 'pg'
import type { Tools } from './bench.ts'
import type { LoadWork } from './load.ts'
import type { Costed, Measure, Measurement } from './repeat.ts'
import { sum } from './statistics.ts'
import type { Side } from './versions.ts'

interface Measured {
  url?: string
  pid?: number | undefined
  superuser?: pg.Client | undefined
}

/**
 * Adds the CPU of the service at `url`, or of the measuring process without a `url`, and the CPU of the Postgres behind
 * `superuser`; NaN without one.
 */
export const measureCost = async (
  run: () => Promise<Measurement>,
  { url, pid, superuser }: Measured,
): Promise<Costed> => {
  const read = async () => [
    url === undefined ? Number.NaN : await readServiceCpuSeconds(url, pid),
    superuser ? await readPostgresCpuSeconds(superuser) : Number.NaN,
  ]
  const [node = 0, postgres = 0] = await read()
  const measured = await run()
  const [nodeAfter = 0, postgresAfter = 0] = await read()
  const nodeSeconds = url === undefined ? measured.cpuSeconds : nodeAfter - node
  return { ...measured, nodeSeconds, postgresSeconds: postgresAfter - postgres }
}

/** Reads the metric of the service only where there is no /proc: a service with more metrics takes longer over them. */
const readServiceCpuSeconds = async (url: string, pid: number | undefined): Promise<number> => {
  const threads = await readdir(`/proc/${pid}/task`).catch(() => [])
  const texts = threads.map(id => readFile(`/proc/${pid}/task/${id}/schedstat`, 'utf8').catch(() => '0'))
  const nanoseconds = sum((await Promise.all(texts)).map(text => Number(text.split(' ')[0])))
  return nanoseconds > 0 ? nanoseconds / 1e9 : readMetric(url, 'process_cpu_seconds_total')
}

const readMetric = async (url: string, name: string): Promise<number> => {
  const text = await (await fetch(`${url}/metrics`)).text()
  const value = new RegExp(`^${name} (\\S+)`, 'm').exec(text)?.[1]
  if (value === undefined) throw new Error(`${url}/metrics has no ${name}`)
  return Number(value)
}

/** Equals the value that `getconf CLK_TCK` prints on every Linux that Node runs on. */
const ticksPerSecond = 100

/** Returns the CPU seconds of all processes of a local Postgres since it started. NaN where there is no /proc. */
const readPostgresCpuSeconds = async (superuser: pg.Client): Promise<number> => {
  const { rows } = await superuser.query<{ pid: number }>('select pid from pg_stat_activity')
  const processes = await Promise.all(rows.map(({ pid }) => readStat(pid)))
  const [running] = processes.flatMap(({ parent }) => parent ?? [])
  if (running === undefined) return Number.NaN
  const postmaster = await readStat(running)
  const ticks = sum(processes.map(({ own }) => own)) + postmaster.own + postmaster.ofEndedChildren
  return ticks / ticksPerSecond
}

/** Returns the CPU ticks of a process and of its ended children; zeros if the process has ended. */
const readStat = async (pid: number): Promise<{ parent?: number; own: number; ofEndedChildren: number }> => {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined)
  if (stat === undefined) return { own: 0, ofEndedChildren: 0 }
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const ticks = (first: number): number => Number(fields[first]) + Number(fields[first + 1])
  return { parent: Number(fields[1]), own: ticks(11), ofEndedChildren: ticks(13) }
}

/**
 * Measures requests over HTTP with the CPU of the service that handles them, or a statement with the CPU of the process
 * that sends it. Both include the CPU of their Postgres, if there is one.
 */
export const measureLoad =
  (load: Tools['load'], side: Partial<Side>, work: LoadWork, connections: number): Measure =>
  seconds => {
    const { url = '', pid, databaseUrl = '', superuser } = side
    return work.kind === 'statement'
      ? measureCost(() => load({ url: databaseUrl, work, connections, seconds }), { superuser })
      : measureCost(() => load({ url, work, connections, seconds }), { url, pid, superuser })
  }
