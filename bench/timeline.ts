import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { print } from '@courier/shared/cli/command-line.ts'
import type pg from 'pg'
import { root } from '../dev/settings.ts'
import { cellsOf, warmUpSeconds } from './against.ts'
import { type BenchOptions, tell } from './bench.ts'
import type { Load } from './cpu.ts'
import { sum } from './figures.ts'
import { startSimulator } from './notifier-ground.ts'
import { startTaskProcess } from './processes.ts'
import { startVersion } from './versions.ts'

/** The processes of a measurement. */
interface Watched {
  readonly service: number
  readonly postgres: readonly number[]
  /** What makes the load, and the simulator. */
  readonly others: readonly number[]
}

/** What threads and processes had done until now: CPU in ns, calls that write. */
export interface Sample {
  readonly at: number
  readonly loop: number
  /** Ready to run, without a core. */
  readonly loopWaits: number
  readonly threads: number
  readonly postgres: readonly number[]
  readonly others: number
  readonly writes: number
}

/** One second of each cell, in windows: who had the two cores, and whether they were idle. Only on Linux. */
export const printTimelines = async (
  names: readonly string[],
  options: BenchOptions,
  cleanUps: AsyncDisposableStack,
): Promise<void> => {
  tell('Starting the services ...')
  const apiUrl = await startSimulator(cleanUps)
  const version = await startVersion(root, apiUrl, cleanUps)
  const load: Load = startTaskProcess('load.ts', cleanUps)
  for (const cell of cellsOf(names, options, apiUrl, load)) {
    const side = cell.isOfNotifier ? version.notifier : version.orders
    const measure = await cell.measure(version)
    await measure(warmUpSeconds)
    const watched = await findProcesses(side.pid, side.superuser)
    const samples: Sample[] = []
    const end = new AbortController()
    const sampling = takeSamples(watched, samples, end.signal)
    await measure(options.seconds)
    end.abort()
    await sampling
    print(`\n${cell.name}\n${drawTimeline(samples)}`)
  }
}

const findProcesses = async (service: number, superuser: pg.Client): Promise<Watched> => {
  const { rows } = await superuser.query<{ pid: number }>('select pid from pg_stat_activity')
  const postgres = rows.map(({ pid }) => pid)
  const parents = new Set(postgres.map(parentOf))
  const children = readdirSync('/proc').filter(name => /^\d+$/.test(name) && parentOf(Number(name)) === process.pid)
  const others = children.map(Number).filter(pid => pid !== service && !parents.has(pid))
  return { service, postgres, others }
}

const parentOf = (pid: number): number => Number(/^\d+ \(.*\) \S (\d+)/s.exec(read(`/proc/${pid}/stat`))?.[1])

/** Empty when it has ended. */
const read = (path: string): string => {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

const windowMilliseconds = 20
const mostWindows = 50

const takeSamples = async (watched: Watched, samples: Sample[], signal: AbortSignal): Promise<void> => {
  while (!signal.aborted) {
    samples.push(takeSample(watched))
    await delay(windowMilliseconds)
  }
}

const takeSample = ({ service, postgres, others }: Watched): Sample => {
  const [[loop = 0, loopWaits = 0] = [], ...threads] = readThreads(service)
  return {
    at: performance.now(),
    loop,
    loopWaits,
    threads: sum(threads.map(([cpu = 0]) => cpu)),
    postgres: postgres.map(pid => sum(readThreads(pid).map(([cpu = 0]) => cpu))),
    others: sum(others.flatMap(pid => readThreads(pid).map(([cpu = 0]) => cpu))),
    writes: Number(/^syscw: (\d+)/m.exec(read(`/proc/${service}/io`))?.[1] ?? 0),
  }
}

/** CPU and waiting for a core of each thread in ns; the first is the event loop's. */
const readThreads = (pid: number): number[][] =>
  threadsOf(pid).map(thread => read(`/proc/${pid}/task/${thread}/schedstat`).split(' ').map(Number))

/** None when it has ended. */
const threadsOf = (pid: number): string[] => {
  try {
    return readdirSync(`/proc/${pid}/task`)
  } catch {
    return []
  }
}

/** A line for each of them: a mark for each window, and the mean. */
export const drawTimeline = (samples: readonly Sample[]): string => {
  const windows = samples.slice(1).map((sample, index) => sharesOf(samples[index] as Sample, sample))
  const shown = busiest(windows)
  const line = (name: string, shareOf: (window: Shares) => number, most: number): string => {
    const values = shown.map(shareOf)
    return `${name.padEnd(28)}${values.map(value => mark(value / most)).join('')} ${(sum(values) / values.length).toFixed(2)}`
  }
  return [
    line('event loop, of a core', ({ loop }) => loop, 1),
    line('event loop without a core', ({ loopWaits }) => loopWaits, 1),
    line("Node's other threads", ({ threads }) => threads, 1),
    line('Postgres, of two cores', ({ postgres }) => postgres, 2),
    line('busy connections of Postgres', ({ busy }) => busy, 16),
    line('load, of a core', ({ others }) => others, 1),
    line('neither, of two cores', ({ idle }) => idle, 2),
    line('socket writes per ms', ({ writes }) => writes, 50),
  ].join('\n')
}

/** Those in a row with the most work: before and after them tables are emptied. */
const busiest = (windows: readonly Shares[]): readonly Shares[] => {
  const starts = Array.from({ length: Math.max(1, windows.length - mostWindows + 1) }, (_, start) => start)
  const workFrom = (start: number): number => sum(windows.slice(start, start + mostWindows).map(({ writes }) => writes))
  const start = starts.reduce((best, start) => (workFrom(start) > workFrom(best) ? start : best))
  return windows.slice(start, start + mostWindows)
}

type Shares = Record<'loop' | 'loopWaits' | 'threads' | 'postgres' | 'busy' | 'others' | 'idle' | 'writes', number>

/** A connection that took less of a core did nothing but wait. */
const busyShare = 0.02

const sharesOf = (before: Sample, after: Sample): Shares => {
  const ns = (after.at - before.at) * 1e6
  const connections = after.postgres.map((cpu, index) => (cpu - (before.postgres[index] ?? cpu)) / ns)
  const [loop, threads] = [(after.loop - before.loop) / ns, (after.threads - before.threads) / ns]
  const [postgres, others] = [sum(connections), (after.others - before.others) / ns]
  return {
    loop,
    loopWaits: (after.loopWaits - before.loopWaits) / ns,
    threads,
    postgres,
    busy: connections.filter(share => share > busyShare).length,
    others,
    idle: Math.max(0, 2 - loop - threads - postgres - others),
    writes: (after.writes - before.writes) / (ns / 1e6),
  }
}

const marks = ' ▁▂▃▄▅▆▇█'

const mark = (share: number): string => marks[Math.min(8, Math.max(0, Math.ceil(share * 8)))] ?? ' '
