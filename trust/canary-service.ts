import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { runCommand } from '../dev/run-command.ts'
import { root } from '../dev/settings.ts'
import type { Stack } from '../test/stack.ts'
import type { TrustOptions } from './promise.ts'
import { createSender, type Headers } from './sender.ts'

/** Keeps every error response of a running service, and all output of its `apply` commands, for the search. */
export const observe = async (t: TrustOptions, stack: Stack, name: 'orders' | 'notifier') => {
  const service = stack[name]
  const request = createSender(service.url)
  const superuser = new pg.Client({ connectionString: stack.databases[name].superuserUrl })
  superuser.on('error', () => {})
  await superuser.connect()
  t.teardown(() => superuser.end())
  /** Holds the head and body of each error response. */
  const errorResponses: string[] = []
  const printed: string[] = []
  /** Counts the responses with each status. */
  const statuses = new Map<number, number>()
  const own: Record<string, string> = { 'x-tenant': 'demo' }

  /** Sends a request as the holder of the newest token. Returns the body of the response. */
  const send = async (method: string, path: string, body?: unknown, headers: Headers = {}): Promise<string> => {
    const payload = body === undefined || typeof body === 'string' ? body : JSON.stringify(body)
    const response = await request({ method, path, headers: { ...own, ...headers }, body: payload })
    const { status, text } = response
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
    if (status >= 400) errorResponses.push(JSON.stringify(response.headers), text)
    return text
  }

  /** Runs an operator's command with a file on its standard input. Returns its output. */
  const command = async (words: string[], input = '', variables: Record<string, string> = {}): Promise<string> => {
    const file = join(root, 'services', name, 'admin.ts')
    const { stdout, stderr } = await runCommand(file, { ...service.environment, ...variables }, words, input)
    if (words[0] === 'apply') printed.push(stdout, stderr)
    return stdout
  }

  const createToken = async (...holder: string[]): Promise<string> => {
    const { token } = JSON.parse(await command(['token', 'create', '--tenant', 'demo', '--json', ...holder]))
    own.authorization = `Bearer ${token}`
    return token
  }

  /** While `action` runs, ends each connection that waits for the table: the first one may be the relay's. */
  const killDuring = async (table: string, action: () => Promise<unknown>): Promise<void> => {
    await superuser.query(`begin; lock table ${table} in access exclusive mode`)
    let isOver = false
    const running = action().finally(() => {
      isOver = true
    })
    const ending = `select pg_terminate_backend(pid) from pg_locks where relation = '${table}'::regclass
      and not granted`
    for (let tries = 0; tries < 500 && !isOver; tries++) {
      await superuser.query(ending)
      await delay(20)
    }
    await superuser.query('rollback')
    await running
  }

  /** Makes Postgres refuse rows against `condition`, with their values in the error, while `action` runs. */
  const refuseDuring = async (table: string, condition: string, action: () => Promise<unknown>): Promise<void> => {
    await superuser.query(`alter table ${table} add constraint failing check (${condition}) not valid`)
    await action()
    await superuser.query(`alter table ${table} drop constraint failing`)
  }
  return {
    name,
    service,
    superuser,
    errorResponses,
    printed,
    statuses,
    send,
    command,
    createToken,
    killDuring,
    refuseDuring,
  }
}

export type Observed = Awaited<ReturnType<typeof observe>>
