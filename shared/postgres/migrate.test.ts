import { execFileSync } from 'node:child_process'
import { globSync, readdirSync } from 'node:fs'
import { chown } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import t from 'tap'
import { findFreePort } from '../../dev/ports.ts'
import { makeFolder } from '../../dev/test-database.ts'
import { migrate } from './migrate.ts'

/** Debian installs each version of PostgreSQL beside the others, with a user named postgres. */
const [old] = process.getuid?.() === 0 ? globSync('/usr/lib/postgresql/1[4-7]/bin/initdb') : []

t.test(
  'refuses a Postgres older than 18 and names the version found',
  { skip: !old && 'no older PostgreSQL is installed, or the test does not run as root' },
  async t => {
    const [uid, gid] = ['-u', '-g'].map(flag => Number(execFileSync('id', [flag, 'postgres']))) as [number, number]
    const folder = makeFolder(t)
    const run = (name: string, ...args: string[]): unknown =>
      execFileSync(join(dirname(old ?? ''), name), ['-D', folder, ...args], { uid, gid, cwd: '/', stdio: 'ignore' })
    await chown(folder, uid, gid)
    run('initdb', '--no-sync', '--username=postgres', '--auth=trust', '--no-locale')
    const port = await findFreePort()
    run('pg_ctl', 'start', '-w', '-o', `-p ${port} -h 127.0.0.1 -c unix_socket_directories=''`)
    t.teardown(() => run('pg_ctl', 'stop', '-m', 'immediate'))
    await t.rejects(migrate(`postgres://postgres@127.0.0.1:${port}/postgres`, folder, 'postgres'), {
      name: 'UnsupportedPostgres',
      message: /^Postgres 1[4-7]\.\d+ .*is too old: Courier needs 18 or later\./,
    })
  },
)

for (const service of ['orders', 'notifier'])
  t.test(`the migrations of ${service} are numbered from its baseline without gaps or duplicates`, t => {
    const files = readdirSync(join(import.meta.dirname, '../../services', service, 'core/database/migrations'))
    const numbers = files.map(file => Number.parseInt(file, 10)).sort((a, b) => a - b)
    t.strictSame(
      numbers,
      numbers.map((_, index) => Number(numbers[0]) + index),
    )
    t.end()
  })
