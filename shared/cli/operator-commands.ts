import { setTimeout as sleep } from 'node:timers/promises'
import type { Command } from 'commander'
import type pg from 'pg'
import { listAudit } from '../postgres/audit.ts'
import { createPool } from '../postgres/database.ts'
import { isOnOtherHistory } from '../postgres/history-state.ts'
import { findProcessId } from '../postgres/pg-internals.ts'
import { print, printJson, printTable, readTime, UsageError } from './command-line.ts'
import { requireTenant, revokeTokenById } from './token-commands.ts'

/** Runs a command with a pool of its own. */
export type WithPool = <Result>(action: (pool: pg.Pool) => Promise<Result>) => Promise<Result>

/** Applying a large tenant file takes longer than the statements of a request may; its others wait for it. */
const statementSeconds = 600

export const openPool =
  (name: string, url: () => string): WithPool =>
  async action => {
    const pool = createPool({ url: url(), name, connections: 2, statementSeconds, queueSeconds: statementSeconds })
    try {
      return await action(pool)
    } finally {
      await pool.end()
    }
  }

/** Adds the command `migrate`. The function `migrate` returns the names of the applied files. */
export const addMigrate = (program: Command, migrate: () => Promise<string[]>) =>
  program
    .command('migrate')
    .description('bring the database up to date')
    .option('--json', 'print JSON', false)
    .action(async ({ json }) => {
      const applied = await migrate()
      if (json) printJson({ applied })
      else print(applied.join('\n') || 'The database is up to date.')
    })

interface TokenCommands<Request> {
  readonly description: string
  /** Lists the options that name the holder of a token, with their descriptions. */
  readonly holders: Readonly<Record<string, string>>
  readonly create: (pool: pg.Pool, request: Request) => Promise<{ id: string; token: string }>
  readonly list: (pool: pg.Pool, tenant?: string) => Promise<Parameters<typeof printTable>[0]>
}

export const addTokenCommands = <Request>(
  program: Command,
  withPool: WithPool,
  { description, holders, ...commands }: TokenCommands<Request>,
): void => {
  const token = program.command('token').description(description)
  const create = token
    .command('create')
    .description('create a token; it is shown only once')
    .requiredOption('--tenant <id>', 'the tenant')
  for (const [option, holder] of Object.entries(holders)) create.option(option, holder)
  create
    .option('--expires <iso>', 'when it expires, such as 2027-01-31T00:00:00Z')
    .option('--json', 'print JSON', false)
    .action(async ({ json, ...request }) => {
      const created = await withPool(pool => commands.create(pool, request))
      if (json) printJson(created)
      else print(`${created.id}\n${created.token}\nKeep it now: it is not shown again.`)
    })

  token
    .command('list')
    .description('list all tokens, without their secrets')
    .option('--tenant <id>', 'only tokens of this tenant')
    .option('--json', 'print JSON', false)
    .action(async ({ tenant, json }) => {
      const tokens = await withPool(pool => commands.list(pool, tenant))
      if (json) printJson(tokens)
      else printTable(tokens, `There are no tokens. Make one: ${program.name()} token create --help`)
    })

  token
    .command('revoke')
    .description('end a token; within 5 seconds it is refused')
    .argument('<id>', 'the token id, as `token list` shows it')
    .option('--json', 'print JSON', false)
    .action(async (id, { json }) => {
      const tenant = await withPool(pool => revokeTokenById(pool, id))
      if (json) printJson({ id, tenant, revoked: true })
      else print(`${id} of tenant ${tenant} is revoked.`)
    })
}

/** Returns the time that an option gives. Throws UsageError for anything but a past time. */
export const readPastTime = (option: string, text: string): Date => {
  const time = readTime(text)
  if (!time || time.getTime() > Date.now())
    throw new UsageError(`${option} must be a past time such as 2026-01-31T09:00:00Z, not ${text}`)
  return time
}

/** A running service uses a connection each second; a pooler keeps those of a stopped one open. */
const quietSeconds = 5

/** Lists the connections, except those that the pooler of this command's own connection keeps without use. */
const connectionsSql = `
  select client_addr is not distinct from inet_client_addr() and $2 as "isPooler", state,
    concat(coalesce(host(client_addr), 'a local socket'), ' port ', client_port) as client
  from pg_stat_activity
  where datname = current_database() and application_name = $1 and pid <> pg_backend_pid()
    and not ($2 and client_addr is not distinct from inet_client_addr() and state = 'idle'
      and state_change < clock_timestamp() - make_interval(secs => ${quietSeconds}))`

/**
 * Throws UsageError while a process of `service` is connected to the database, unless the services wait for `restored`
 * after a failover. Waits until a pooler's connections are quiet.
 */
export const requireStopped = async (pool: pg.Pool, service: string): Promise<void> => {
  if (await isOnOtherHistory(pool)) return
  const client = await pool.connect()
  try {
    const [{ pid }] = (await client.query('select pg_backend_pid() as pid')).rows
    const isPooled = pid !== findProcessId(client)
    for (let seconds = 0; ; seconds++) {
      const { rows } = await client.query(connectionsSql, [service, isPooled])
      if (rows.length === 0) return
      if (seconds > quietSeconds || rows.some(({ isPooler, state }) => !isPooler || state !== 'idle'))
        throw new UsageError(`${service} runs on this database: stop all its processes first (${listClients(rows)})`)
      await sleep(1_000)
    }
  } finally {
    client.release()
  }
}

const listClients = (rows: readonly { client: string; state: string; isPooler: boolean }[]): string =>
  rows.map(({ client, state, isPooler }) => `${isPooler ? 'the pooler' : 'a client'} at ${client}: ${state}`).join('; ')

export const addAudit = (program: Command, withPool: WithPool) =>
  program
    .command('audit')
    .description('list who did what, newest first')
    .requiredOption('--tenant <id>', 'the tenant')
    .option('--since <iso>', 'only entries since this time, such as 2026-01-31T00:00:00Z')
    .option('--limit <number>', 'the most entries to list', '100')
    .option('--json', 'print JSON', false)
    .action((request: AuditRequest) => withPool(pool => printAudit(pool, request)))

interface AuditRequest {
  tenant: string
  /** ISO 8601. */
  since?: string
  limit: string
  json: boolean
}

const maxEntries = 10_000

const printAudit = async (pool: pg.Pool, { tenant, since, limit, json }: AuditRequest): Promise<void> => {
  const count = /^\d{1,5}$/.test(limit) ? Number(limit) : 0
  if (count < 1 || count > maxEntries) throw new UsageError(`--limit must be a whole number, 1 to ${maxEntries}`)
  const from = since === undefined ? null : readTime(since)
  if (from === undefined) throw new UsageError(`--since must be a time such as 2026-01-31T00:00:00Z, not ${since}`)
  await requireTenant(pool, tenant)
  const entries = await listAudit(pool, { tenant, since: from, limit: count })
  if (json) printJson(entries)
  else
    printTable(
      entries.map(entry => ({ ...entry, details: entry.details?.join('; ') ?? null })),
      'There are no entries.',
    )
}
