// Follows docs/operators/without-docker.md on a new cluster: the roles, the secrets' files, the commands, the units.
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { findFreePort } from '../dev/ports.ts'
import { startPostgres } from '../dev/postgres.ts'
import { launch } from '../dev/service-process.ts'
import { embeddedPassword, root } from '../dev/settings.ts'
import { makeFolder } from '../dev/test-database.ts'

const { ORDERS_DATABASE_URL: _, NOTIFIER_DATABASE_URL: __, ...environment } = process.env
const run = (t: Test, program: string, words: string[], more: NodeJS.ProcessEnv = {}): string => {
  const { status, stdout, stderr } = spawnSync(program, words, {
    cwd: root,
    encoding: 'utf8',
    env: { ...environment, ...more },
  })
  t.equal(status, 0, `${program} ${words.join(' ')}\n${status === 0 ? '' : stdout + stderr}`)
  return stdout
}

const psqlVersion = Number(/ (\d+)/.exec(spawnSync('psql', ['--version'], { encoding: 'utf8' }).stdout ?? '')?.[1])

/** Returns the settings that a unit gives its process, with its credentials in `secrets`. */
const readUnit = (service: string, secrets: string): Record<string, string> => {
  const unit = readFileSync(join(root, `ops/systemd/courier-${service}@.service`), 'utf8')
  const words = [...unit.matchAll(/^Environment=(.*)$/gm)].flatMap(([, line = '']) => line.split(' '))
  const pairs = words.map(word => [word.split('=')[0], word.slice(word.indexOf('=') + 1).replace('%d', secrets)])
  return Object.fromEntries(pairs.filter(([name]) => name !== 'NODE_COMPILE_CACHE'))
}

t.test(
  'bare Debian leads to ready services, and to commands with the settings of the units',
  { skip: psqlVersion >= 15 ? false : 'needs psql 15 or later' },
  async t => {
    const folder = makeFolder(t)
    const port = await findFreePort()
    const postgres = await startPostgres({ folder: join(folder, 'postgres'), port, settings: { fsync: 'off' } })
    t.teardown(postgres.remove)
    const [env, secrets] = [join(folder, '.env'), join(folder, 'secrets')]
    run(t, process.execPath, ['dev/secrets.ts', env])
    const passwords = Object.fromEntries(
      [...readFileSync(env, 'utf8').matchAll(/^(\w+_PASSWORD)=(.+)$/gm)].map(([, name = '', value]) => [name, value]),
    )
    const at = { POSTGRES_HOST: '127.0.0.1', POSTGRES_PORT: String(port) }
    const connection = { PGHOST: '127.0.0.1', PGPORT: String(port), PGUSER: 'postgres', PGPASSWORD: embeddedPassword }
    const roles = ['-v', 'ON_ERROR_STOP=1', '-d', 'postgres', '-f', 'ops/postgres/roles.sql']
    run(t, 'psql', roles, { ...connection, ...passwords })
    run(t, 'sh', ['ops/secret-files.sh', env, secrets], { ...at, POOLER_HOST: 'localhost' })
    t.match(readFileSync(join(secrets, 'orders_database_url'), 'utf8'), `@localhost:${port}/orders`)
    t.match(readFileSync(join(secrets, 'orders_migrate_database_url'), 'utf8'), `@127.0.0.1:${port}/orders`)

    for (const service of ['orders', 'notifier'] as const) {
      const settings = { ...readUnit(service, secrets), [`${service.toUpperCase()}_PORT`]: '0' }
      const running = launch(t, `services/${service}/main.ts`, settings)
      const url = await running.listening()
      t.same(await (await fetch(`${url}/health/ready`)).json(), { status: 'ok' }, service)
      running.child.kill('SIGTERM')
      t.equal(await running.ended, 0)
    }

    // Prefers a setting of the environment, then that of the file, then the secret's file.
    const command = { COURIER_ENV: folder, COMPOSE_PROJECT_NAME: 'courier-test-without-containers' }
    writeFileSync(join(folder, 'orders.env'), 'ORDERS_DATABASE_URL=nonsense\n')
    const refused = spawnSync('npm', ['run', '-s', 'orders', '--', 'token', 'list', '--json'], {
      cwd: root,
      encoding: 'utf8',
      env: { ...environment, ...command },
    })
    t.match(refused.stderr, /ORDERS_DATABASE_URL must/)
    const more = { ...command, ORDERS_DATABASE_URL: readFileSync(join(secrets, 'orders_database_url'), 'utf8').trim() }
    run(t, 'npm', ['run', '-s', 'orders', '--', 'apply', 'examples/lanka-tenant.json'], more)
    t.same(JSON.parse(run(t, 'npm', ['run', '-s', 'orders', '--', 'token', 'list', '--json'], more)), [])
    const unknown = { ...environment, COURIER_ENV: join(folder, 'nowhere') }
    const failed = spawnSync('npm', ['run', '-s', 'orders', '--', 'token', 'list'], { cwd: root, env: unknown })
    t.match(String(failed.stderr), `orders: cannot read ${join(folder, 'nowhere', 'secrets')}: ENOENT`)
  },
)
