import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import type { ServiceProcess } from '../dev/service-process.ts'
import { root } from '../dev/settings.ts'
import { superuserAddress, type TestDatabase } from '../dev/test-database.ts'
import type { TrustOptions } from './promise.ts'

/** A running service whose every answer and command is kept for the search. */
export class Stage {
  readonly service: ServiceProcess
  readonly superuser: pg.Client
  /** What was answered with an error, head and body. */
  readonly errorResponses: string[] = []
  /** What commands printed about files. */
  readonly printed: string[] = []
  /** How many calls were answered with each status. */
  readonly statuses = new Map<number, number>()

  constructor(service: ServiceProcess, superuser: pg.Client) {
    this.service = service
    this.superuser = superuser
  }

  async call(
    method: string,
    path: string,
    headers: Record<string, string>,
    body?: unknown,
  ): Promise<{ status: number; text: string }> {
    const payload = body === undefined || typeof body === 'string' ? body : JSON.stringify(body)
    const answer = await fetch(this.service.url + path, {
      method,
      headers: { ...(payload !== undefined && { 'content-type': 'application/json' }), ...headers },
      ...(payload !== undefined && { body: payload }),
    })
    const { status } = answer
    const text = await answer.text()
    this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1)
    if (status >= 400) this.errorResponses.push(JSON.stringify([...answer.headers]), text)
    return { status, text }
  }

  /** Runs an operator's command with a file on its standard input. Returns what it printed. */
  async command(admin: string, words: string[], input = ''): Promise<string> {
    const env = { ...this.service.environment, PATH: process.env.PATH ?? '' }
    const child = spawn(process.execPath, [join(root, admin), ...words], { env })
    child.stdin.end(input)
    const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')])
    if (words[0] === 'apply') this.printed.push(output, errors)
    return output
  }

  async createToken(admin: string, ...holder: string[]): Promise<string> {
    const words = ['token', 'create', '--tenant', 'demo', '--json', ...holder]
    return JSON.parse(await this.command(admin, words)).token
  }

  /** Has Postgres end the connection that waits for the table while `action` runs. */
  async killDuring<Result>(table: string, action: () => Promise<Result>): Promise<Result> {
    await this.superuser.query(`begin; lock table ${table} in access exclusive mode`)
    const running = action()
    const waiting = `select pid from pg_locks where relation = '${table}'::regclass and not granted`
    for (let tries = 0; tries < 100; tries++) {
      const { rows } = await this.superuser.query(waiting)
      for (const { pid } of rows) await this.superuser.query('select pg_terminate_backend($1)', [pid])
      if (rows.length > 0) break
      await delay(20)
    }
    await this.superuser.query('rollback')
    return running
  }

  /** Has Postgres refuse every new row, with the row's values in its `detail` or message, while `action` runs. */
  async refuseDuring(table: string, condition: string, action: () => Promise<unknown>): Promise<void> {
    await this.superuser.query(`alter table ${table} add constraint failing check (${condition}) not valid`)
    await action()
    await this.superuser.query(`alter table ${table} drop constraint failing`)
  }
}

export const openStage = async (t: TrustOptions, service: ServiceProcess, database: TestDatabase): Promise<Stage> => {
  const superuser = new pg.Client({ connectionString: superuserAddress(database) })
  superuser.on('error', () => {})
  await superuser.connect()
  t.teardown(() => superuser.end())
  return new Stage(service, superuser)
}
