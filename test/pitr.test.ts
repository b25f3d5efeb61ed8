// Follows docs/operators/backup.md#point-in-time-recovery in compose, with ops/compose/pitr.yml.
import { spawnSync } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { findCompose } from '../dev/compose.ts'
import { root } from '../dev/settings.ts'
import { makeFolder } from '../dev/test-database.ts'

const hasImage = spawnSync('docker', ['image', 'inspect', 'postgres:18']).status === 0
/** Is the user postgres of the image. */
const owner = 999

/** Returns the commands of the page between these words, without their indent. */
const readCommands = (from: string): string => {
  const page = readFileSync(join(root, 'docs/operators/backup.md'), 'utf8')
  const [, commands = ''] = page.slice(page.indexOf(from)).match(/```sh\n(.*?)```/s) ?? []
  return commands.replace(/^ {3}/gm, '')
}

t.test(
  'Postgres in compose recovers to a moment, and keeps what was not archived yet',
  { skip: hasImage && process.getuid?.() === 0 ? false : 'needs a Docker engine with postgres:18, and root' },
  async t => {
    const folder = makeFolder(t)
    chmodSync(folder, 0o755)
    const backup = join(folder, 'backup')
    for (const path of [backup, join(backup, 'wal')]) {
      mkdirSync(path, { mode: 0o700 })
      chownSync(path, owner, owner)
    }
    const env = {
      ...process.env,
      COMPOSE_PROJECT_NAME: `courier-pitr-${process.pid}`,
      COMPOSE_FILE: 'docker-compose.yml:ops/compose/pitr.yml',
      BACKUP_FOLDER: backup,
    }
    const [program, ...first] = findCompose()
    const compose = (...words: string[]) =>
      spawnSync(program, [...first, ...words], { cwd: root, encoding: 'utf8', env })
    const succeed = (...words: string[]): string => {
      const { status, stdout, stderr } = compose(...words)
      t.equal(status, 0, `${words.join(' ')}\n${status === 0 ? '' : stderr}`)
      return stdout.trim()
    }
    const sh = (script: string) => {
      const text = script.replaceAll('docker compose', [program, ...first].join(' '))
      const { status, stderr } = spawnSync('sh', ['-euc', text], { cwd: root, encoding: 'utf8', env })
      t.equal(status, 0, `${text}\n${status === 0 ? '' : stderr}`)
    }
    const inPostgres = (...words: string[]) => succeed('exec', '-T', 'postgres', ...words)
    const query = (statement: string): string => inPostgres('psql', '-U', 'postgres', '-d', 'orders', '-Atc', statement)
    const waitUntil = async (statement: string): Promise<void> => {
      for (let tries = 0; tries < 120; tries++) {
        const { stdout } = compose(
          'exec',
          '-T',
          'postgres',
          'psql',
          '-U',
          'postgres',
          '-d',
          'orders',
          '-Atc',
          statement,
        )
        if (stdout.trim() === 't') return
        await delay(250)
      }
      t.fail(`never true: ${statement}`)
    }
    t.teardown(() => compose('down', '-v', '--remove-orphans'))
    succeed('up', '-d', 'postgres')
    // Over TCP: Postgres accepts no such connection while it makes the databases.
    for (let tries = 0; tries < 120; tries++) {
      if (compose('exec', '-T', 'postgres', 'pg_isready', '-h', '127.0.0.1', '-U', 'postgres').status === 0) break
      await delay(250)
    }

    query('create table notes (note text)')
    const hasTool = / 18\./.test(compose('exec', '-T', 'postgres', 'pg_basebackup', '--version').stdout)
    if (hasTool) {
      inPostgres('psql', '-U', 'postgres', '-c', 'create role courier_backup login bypassrls replication')
      sh(readCommands('Every day take'))
    } else {
      // An image without the program: the same by hand.
      const copy = '\\! cp -a $PGDATA /backup/base && rm -rf /backup/base/postmaster.pid /backup/base/pg_wal/0*'
      const steps = ["select pg_backup_start('base', true)", copy, 'select labelfile from pg_backup_stop()']
      const label = inPostgres('psql', '-U', 'postgres', '-AtX', ...steps.flatMap(step => ['-c', step]))
      writeFileSync(join(backup, 'base/backup_label'), `${label.slice(label.indexOf('START WAL'))}\n`)
    }
    query("insert into notes values ('kept')")
    const moment = query('select now()')
    await delay(1_100)
    query("insert into notes values ('after the moment')")
    t.equal(query('select failed_count = 0 and archived_count > 0 from pg_stat_archiver'), 't', 'the archiver works')
    t.notSame(query('select pg_walfile_name(pg_current_wal_lsn()) = last_archived_wal from pg_stat_archiver'), 't')

    const recover = readCommands('To recover')
    t.match(recover, '2027-01-31 09:00:00+00')
    // An orderly stop would archive the last segment.
    succeed('kill', 'postgres')
    sh(recover.replace('2027-01-31 09:00:00+00', moment))
    await waitUntil('select not pg_is_in_recovery()')
    t.equal(query('select string_agg(note, $$,$$) from notes'), 'kept')
    query("insert into notes values ('goes on')")
  },
)
