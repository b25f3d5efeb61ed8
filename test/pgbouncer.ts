import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import type { Test } from 'tap'
import { findFreePort } from '../dev/ports.ts'
import { makeFolder, type TestDatabase } from '../dev/test-database.ts'
import { waitUntil } from './courier.ts'

const program = process.env.PGBOUNCER ?? 'pgbouncer'
const version = /PgBouncer (\d+)\.(\d+)/.exec(spawnSync(program, ['--version'], { encoding: 'utf8' }).stdout ?? '')
/** Says why a test is skipped: before 1.21, prepared statements do not work in transaction mode. */
export const whyNoPgBouncer =
  Number(version?.[1]) > 1 || Number(version?.[2]) >= 21
    ? false
    : 'needs PgBouncer 1.21 or later: name one in PGBOUNCER'

/** Follows docs/operators/scaling.md#pgbouncer, with two server connections for each role and database. */
const settings = `
pool_mode = transaction
default_pool_size = 2
max_prepared_statements = 200
ignore_startup_parameters = statement_timeout,idle_in_transaction_session_timeout
server_login_retry = 1`

/** Starts PgBouncer in front of these databases. Returns a function that turns an address into one through it. */
export const startPgBouncer = async (t: Test, databases: readonly TestDatabase[]) => {
  const folder = makeFolder(t)
  const port = await findFreePort()
  const readName = (url: string): string => new URL(url).pathname.slice(1)
  const entries = databases.map(({ url }) => `${readName(url)} = host=127.0.0.1 port=${new URL(url).port}`)
  const users = databases.flatMap(({ url, ownerUrl }) => [url, ownerUrl]).map(url => new URL(url))
  const list = [...new Set(users.map(({ username, password }) => `"${username}" "${password}"`))]
  await writeFile(join(folder, 'users.txt'), list.join('\n'), { mode: 0o644 })
  const lines = [
    '[databases]',
    ...entries,
    '[pgbouncer]',
    `listen_addr = 127.0.0.1\nlisten_port = ${port}\nunix_socket_dir =`,
    `auth_type = plain\nauth_file = ${join(folder, 'users.txt')}`,
    settings,
  ]
  await writeFile(join(folder, 'pgbouncer.ini'), lines.join('\n'))
  // PgBouncer refuses to run as root.
  const asUser = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {}
  spawnSync('chmod', ['-R', 'a+rX', folder])
  const child = spawn(program, [join(folder, 'pgbouncer.ini')], { stdio: 'ignore', ...asUser })
  t.teardown(async () => {
    child.kill('SIGKILL')
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  })
  const reroute = (url: string): string => Object.assign(new URL(url), { host: `127.0.0.1:${port}` }).href
  const [first] = databases
  await waitUntil('PgBouncer accepts connections', () => canConnect(reroute(first?.url ?? '')), Boolean)
  return reroute
}

const canConnect = async (url: string): Promise<boolean> => {
  const client = new pg.Client(url)
  try {
    await client.connect()
    await client.query('select 1')
    return true
  } catch {
    return false
  } finally {
    await client.end().catch(() => {})
  }
}
