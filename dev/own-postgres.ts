import { execFile } from 'node:child_process'
import { appendFile, chmod, chown, mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { createDatabaseWithRoles, onServer } from './databases.ts'
import { findFreePort } from './ports.ts'
import { startPostgres } from './postgres.ts'
import { embeddedPassword } from './settings.ts'
import { makeFolder, type Teardown } from './test-database.ts'

const run = promisify(execFile)

/**
 * Copies a running cluster as pg_basebackup does, a program that the embedded Postgres lacks. Returns the cluster's
 * folder.
 */
const copyCluster = (url: string, copy: string): Promise<string> =>
  onServer(url, async client => {
    const { rows } = await client.query('show data_directory')
    const cluster: string = rows[0].data_directory
    const { uid, gid } = await stat(cluster)
    const copyAll = async (from: string, to: string, isWanted: (name: string) => boolean) =>
      run('cp', ['-a', ...(await readdir(from)).filter(isWanted).map(name => join(from, name)), to])
    await client.query(`select pg_backup_start('copy', fast => true)`)
    await copyAll(cluster, copy, name => !['pg_wal', 'postmaster.pid', 'postmaster.opts'].includes(name))
    const stopped = await client.query('select labelfile from pg_backup_stop(wait_for_archive => false)')
    const [label, wal] = [join(copy, 'backup_label'), join(copy, 'pg_wal')]
    await writeFile(label, stopped.rows[0].labelfile)
    await mkdir(wal, { mode: 0o700 })
    for (const path of [label, wal]) await chown(path, uid, gid)
    await copyAll(join(cluster, 'pg_wal'), wal, name => /^[\dA-F]{24}$|\.history$/.test(name))
    return cluster
  })

/** Describes a server that can be killed. */
export interface Server {
  readonly port: number
  /** Ends the server as a power cut would. */
  kill: () => Promise<void>
  /** Adds a standby that streams from this server. */
  addStandby: () => Promise<Standby>
}

/** Describes a server that can be promoted, and then takes standbys of its own. */
export interface Standby extends Server {
  /** Receives nothing more from the primary, as behind a network that lags. */
  disconnect: () => Promise<unknown>
  promote: () => Promise<unknown>
}

const startStandby = async (t: Teardown, primary: string, settings: Record<string, string>): Promise<Standby> => {
  const folder = makeFolder(t)
  await chmod(folder, 0o755)
  const cluster = join(folder, 'cluster')
  await mkdir(cluster, { mode: 0o700 })
  const { uid, gid } = await stat(await copyCluster(primary, cluster))
  const source = `host=127.0.0.1 port=${new URL(primary).port} user=postgres password=${embeddedPassword}`
  await appendFile(join(cluster, 'postgresql.auto.conf'), `primary_conninfo = '${source}'\n`)
  await writeFile(join(cluster, 'standby.signal'), '')
  for (const path of [folder, cluster, join(cluster, 'standby.signal')]) await chown(path, uid, gid)
  const port = await findFreePort()
  const starting = startPostgres({ folder, port, settings })
  t.teardown(async () => (await starting.catch(() => undefined))?.remove())
  const { url, kill } = await starting
  return {
    port,
    kill,
    addStandby: () => startStandby(t, url, settings),
    disconnect: () =>
      onServer(url, async client => {
        await client.query(`alter system set primary_conninfo = ''`)
        await client.query('select pg_reload_conf()')
        while ((await client.query('select from pg_stat_wal_receiver')).rowCount) await delay(20)
      }),
    promote: () => onServer(url, client => client.query('select pg_promote()')),
  }
}

/**
 * Starts a Postgres with fsync, as in production, and with the roles and an empty database of a service. `teardown`
 * removes it.
 */
export const startOwnPostgres = async (t: Teardown, name: string, settings: Record<string, string> = {}) => {
  const folder = makeFolder(t)
  await chmod(folder, 0o755)
  const options = { folder, port: await findFreePort(), settings }
  let starting = startPostgres(options)
  t.teardown(async () => (await starting.catch(() => undefined))?.remove())
  await createDatabaseWithRoles((await starting).url, name)
  const start = async (): Promise<void> => {
    starting = startPostgres(options)
    await starting
  }
  return {
    /** Returns the database's address for a role, such as `<name>_owner` or postgres. */
    buildAddress: (role: string): string => `postgres://${role}:${embeddedPassword}@127.0.0.1:${options.port}/${name}`,
    port: options.port,
    kill: async () => (await starting).kill(),
    start,
    addStandby: async (): Promise<Standby> => startStandby(t, (await starting).url, settings),
    /**
     * Takes a physical backup. Returns a function that ends Postgres as a power cut would, and starts it from the
     * backup.
     */
    backUp: async (): Promise<() => Promise<void>> => {
      const copy = await mkdtemp(join(folder, 'copy-'))
      const cluster = await copyCluster((await starting).url, copy)
      return async () => {
        await (await starting).kill()
        for (const name of await readdir(cluster)) await rm(join(cluster, name), { recursive: true })
        await run('cp', ['-a', ...(await readdir(copy)).map(name => join(copy, name)), cluster])
        await start()
      }
    },
  }
}
