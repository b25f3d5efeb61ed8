import { type SpawnOptions, spawn } from 'node:child_process'
import { createHash, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { chown, cp, mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { refuseTakenPort } from './ports.ts'
import { embeddedPassword } from './settings.ts'
import { giveUpSeconds } from './steps.ts'

/**
 * Runs a program in a process group of its own, since the signal that stops our group would interrupt it. Returns its
 * output.
 */
const run = async (program: string, args: string[], options: SpawnOptions = {}): Promise<string> => {
  const child = spawn(program, args, { ...options, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = once(child, 'close')
  const [output, errors] = await Promise.all([child.stdout, child.stderr].map(stream => (stream ? text(stream) : '')))
  const [status] = await ended
  if (status !== 0) throw new Error(`${program} failed: ${errors || output}`)
  return output ?? ''
}

interface EmbeddedPostgres {
  /** Connects the superuser to the database postgres. */
  url: string
  stop: () => Promise<void>
  /** Kills all its processes with SIGKILL, to simulate a crash. `startPostgres` with the same options restarts it. */
  kill: () => Promise<void>
  /** Stops it and deletes its data. */
  remove: () => Promise<void>
}

interface EmbeddedOptions {
  /** Holds the cluster and its log. For root, `moveOut` may choose another folder. */
  folder: string
  port: number
  /** Holds the `-c` settings. */
  settings?: Record<string, string>
}

/** Identifies the user that Postgres runs as, since Postgres refuses to run as root. */
interface Account {
  uid: number
  gid: number
}

/**
 * Starts the PostgreSQL that came with the packages, and makes its cluster the first time. Takes over a server that a
 * crash left running, and recovers data that a crash left behind. Throws an Error that says what to do.
 */
export const startPostgres = async ({ folder, port, settings = {} }: EmbeddedOptions): Promise<EmbeddedPostgres> => {
  const account = process.getuid?.() === 0 ? await findAccount() : undefined
  const programs = await findPrograms()
  const closed = account && (await findClosed(programs, folder))
  const home = closed ? await moveOut(programs, folder, closed) : { programs, folder }
  await mkdir(home.folder, { recursive: true })
  if (account) await chown(home.folder, account.uid, account.gid)
  const cluster = join(home.folder, 'cluster')
  const as = { ...account, cwd: '/' }
  const control = (...args: string[]) => run(join(home.programs, 'bin/pg_ctl'), ['-D', cluster, ...args], as)

  await initialise(home.programs, cluster, account)
  const runningPort = await control('status').then(
    () => readPort(cluster),
    () => undefined,
  )
  if (runningPort !== undefined && runningPort !== port) await control('stop', '-m', 'fast', '-w')
  if (runningPort !== port) {
    await refuseTakenPort(port, '127.0.0.1', 'EMBEDDED_POSTGRES_PORT')
    const flags = { port, listen_addresses: '127.0.0.1', unix_socket_directories: '', ...settings }
    const options = Object.entries(flags).map(([name, value]) => `-c ${name}='${value}'`)
    const log = join(home.folder, 'postgres.log')
    await control('start', '-w', '-t', String(giveUpSeconds), '-l', log, '-o', options.join(' ')).catch(async () => {
      throw new Error(`Postgres did not start; its log is ${log}:\n${await tail(log)}`)
    })
  }
  const stop = async (): Promise<void> => {
    await control('stop', '-m', 'fast', '-w').catch(() => {})
  }
  const remove = async (): Promise<void> => {
    await stop()
    await rm(home.folder, { recursive: true, force: true })
  }
  const url = `postgres://postgres:${embeddedPassword}@127.0.0.1:${port}/postgres`
  return { url, stop, kill: () => killPostgres(cluster), remove }
}

const killPostgres = async (cluster: string): Promise<void> => {
  const first = Number((await readPidFile(cluster))[0])
  // A number of zero or below would signal whole groups of processes.
  if (!(first > 1)) throw new Error(`Postgres does not run in ${cluster}`)
  const all = (await run('ps', ['-eo', 'pid=,ppid='])).split('\n').map(line => line.trim().split(/\s+/).map(Number))
  const pids = [first, ...all.flatMap(([pid, parent]) => (pid !== undefined && parent === first ? [pid] : []))]
  const signal = (pid: number, name: 'SIGKILL' | 0): boolean => {
    try {
      return process.kill(pid, name)
    } catch {
      return false
    }
  }
  for (const pid of pids) signal(pid, 'SIGKILL')
  for (let tries = 0; tries < 400 && pids.some(pid => signal(pid, 0)); tries++) await delay(25)
}

const findPrograms = async (): Promise<string> => {
  const system = process.platform === 'win32' ? 'windows' : process.platform
  const { postgres } = await import(`@embedded-postgres/${system}-${process.arch}`)
  return dirname(dirname(postgres))
}

const findAccount = async (): Promise<Account> => {
  const ids = async (): Promise<Account> => ({
    uid: Number(await run('id', ['-u', 'postgres'])),
    gid: Number(await run('id', ['-g', 'postgres'])),
  })
  return ids().catch(async () => {
    await run('useradd', ['--system', '--user-group', '--no-create-home', 'postgres'])
    return ids()
  })
}

/** Finds the first folder that other users may not enter, among the paths and the folders above them. */
const findClosed = async (...paths: string[]): Promise<string | undefined> => {
  for (const path of paths)
    for (let folder = path; folder !== dirname(folder); folder = dirname(folder)) {
      const mode = (await stat(folder).catch(() => undefined))?.mode
      if (mode !== undefined && (mode & 0o001) === 0) return folder
    }
  return undefined
}

/**
 * Handles a folder such as /root, which the user `postgres` cannot enter: puts the data and a copy of the programs
 * elsewhere.
 */
const moveOut = async (programs: string, folder: string, closed: string) => {
  const elsewhere = (path: string): string =>
    join('/var/tmp', `courier-${createHash('sha256').update(path).digest('hex').slice(0, 12)}`)
  const { mtimeMs } = await stat(join(programs, 'bin/postgres'))
  const copy = elsewhere(`${programs} ${mtimeMs}`)
  if (!(await stat(copy).catch(() => undefined))) {
    await cp(programs, `${copy}.new`, { recursive: true, verbatimSymlinks: true })
    await rename(`${copy}.new`, copy)
  }
  process.stderr.write(
    `The user postgres, which runs Postgres for root, cannot enter ${closed}:
the data of ${folder} is in ${elsewhere(folder)}.
To have it in the folder itself, let others enter (chmod o+x ${closed}), or start as an ordinary user.\n`,
  )
  return { programs: copy, folder: elsewhere(folder) }
}

/** Runs initdb in a folder that is renamed when complete, so that a crash leaves no half-made cluster. */
const initialise = async (programs: string, cluster: string, account: Account | undefined): Promise<void> => {
  if (await stat(join(cluster, 'PG_VERSION')).catch(() => undefined)) return
  const fresh = `${cluster}.new`
  const passwordFile = join(dirname(cluster), `password-${randomUUID()}`)
  await rm(fresh, { recursive: true, force: true })
  try {
    await writeFile(passwordFile, embeddedPassword, { mode: 0o600 })
    if (account) await chown(passwordFile, account.uid, account.gid)
    const options = ['--username=postgres', `--pwfile=${passwordFile}`, '--auth=scram-sha-256']
    const locale = ['--encoding=UTF8', '--locale-provider=builtin', '--locale=C.UTF-8']
    await run(join(programs, 'bin/initdb'), ['-D', fresh, '--no-sync', ...options, ...locale], { ...account, cwd: '/' })
    await rename(fresh, cluster)
  } finally {
    await rm(passwordFile, { force: true })
  }
}

const readPort = async (cluster: string): Promise<number> => Number((await readPidFile(cluster))[3])

const readPidFile = async (cluster: string): Promise<string[]> =>
  (await readFile(join(cluster, 'postmaster.pid'), 'utf8')).split('\n')

const tail = async (path: string): Promise<string> => {
  const text = await readFile(path, 'utf8').catch(() => '')
  return text.trim().split('\n').slice(-10).join('\n')
}
