import { randomBytes } from 'node:crypto'
import { mkdir, open, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { Command } from 'commander'
import type pg from 'pg'
import { audit, operator } from '../postgres/audit.ts'
import { type AnyTransaction, findTenantIds, inTenant } from '../postgres/database.ts'
import { type Position, type Taken, type TakeOld, takeAudit } from '../postgres/old-rows.ts'
import { print, printJson, printTable, UsageError } from './command-line.ts'
import type { WithPool } from './operator-commands.ts'

/** Maps the names of `--only` to the kinds of rows that are archived besides the audit. */
type Archivable = Readonly<Record<string, TakeOld>>

interface ArchiveRequest {
  days: number
  folder: string
  dryRun: boolean
}

type Archived = {
  tenant: string
  table: string
  rows: number
  files: number
}

/** Sets the least age in days: requests, webhooks and repeated events refer to younger rows. */
const minDays = 31

/**
 * Adds the `archive` command. `withPool` connects as the role that owns the tables: the service's role may not delete
 * its own audit.
 */
export const addArchive = (program: Command, withPool: WithPool, archivable: Archivable) =>
  program
    .command('archive')
    .description('move old, finished rows from the database to files')
    .requiredOption('--older-than <days>', `the least age of a row, ${minDays} or more`)
    .requiredOption('--to <folder>', 'where the files go: <folder>/<tenant>/<table>-<time>.jsonl.gz')
    .addOption(
      program.createOption('--only <kind>', 'archive nothing else').choices([...Object.keys(archivable), 'audit']),
    )
    .option('--dry-run', 'print the same; write and delete nothing', false)
    .option('--json', 'print JSON', false)
    .action(async ({ olderThan, to: folder, only, dryRun, json }) => {
      const days = /^\d{1,5}$/.test(olderThan) ? Number(olderThan) : 0
      if (days < minDays)
        throw new UsageError(`--older-than must be a whole number of days, ${minDays} or more, not ${olderThan}`)
      const kinds = Object.entries({ ...archivable, audit: takeAudit }).flatMap(([name, take]) =>
        !only || only === name ? [take] : [],
      )
      const archived = await withPool(pool => archive(pool, kinds, { days, folder, dryRun }))
      if (json) return printJson({ dry_run: dryRun, archived })
      printTable(archived, 'No finished rows are that old.')
      if (dryRun) print('Nothing was written or deleted: this was a dry run.')
    })

export const archive = async (
  pool: pg.Pool,
  kinds: readonly TakeOld[],
  request: ArchiveRequest,
): Promise<Archived[]> => {
  const archived: Archived[] = []
  for (const tenant of await findTenantIds(pool))
    for (const take of kinds) archived.push(...(await archiveKind(pool, tenant, take, request)))
  return archived
}

const archiveKind = async (pool: pg.Pool, tenant: string, take: TakeOld, request: ArchiveRequest) => {
  const archived = new Map<string, Archived>()
  for (let after: Position | undefined = []; after; ) {
    const { rows: taken, next }: Taken = await archivePortion(pool, tenant, take, after, request)
    for (const [table, { length }] of Object.entries(taken)) {
      const { rows = 0, files = 0 } = archived.get(table) ?? {}
      if (length > 0) archived.set(table, { tenant, table, rows: rows + length, files: files + 1 })
    }
    after = next
  }
  return archived.values()
}

/** Writes the files before the deletion commits: after a crash in between, a row may be in two files. */
const archivePortion = (
  pool: pg.Pool,
  tenant: string,
  take: TakeOld,
  after: Position,
  { days, folder, dryRun }: ArchiveRequest,
) => {
  const action = async (tx: AnyTransaction) => {
    const taken = await take(tx, tenant, days, after)
    for (const [table, rows] of dryRun ? [] : Object.entries(taken.rows)) {
      if (rows.length === 0) continue
      const name = await writeFile(join(folder, tenant), table, rows)
      await audit(tx, tenant, operator(), 'archive.written', name)
    }
    return taken
  }
  return inTenant(pool, tenant, action, { keeps: () => !dryRun })
}

const compress = promisify(gzip)

/** Returns the file's name once the file is on disk. Rows hold personal data: only the owner may read the file. */
const writeFile = async (folder: string, table: string, rows: readonly string[]): Promise<string> => {
  const time = new Date().toISOString().replace(/[:.]/g, '-')
  const name = `${table}-${time}-${randomBytes(4).toString('hex')}.jsonl.gz`
  const partial = join(folder, `${name}.partial`)
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    await using file = await open(partial, 'wx', 0o600)
    await file.writeFile(await compress(`${rows.join('\n')}\n`))
    await file.sync()
    await rename(partial, join(folder, name))
    for (const changed of [folder, dirname(folder)]) await syncFolder(changed)
    return name
  } catch (error) {
    await rm(partial, { force: true }).catch(() => {})
    throw new UsageError(
      `cannot write to ${folder}; all rows deleted so far are in its files: ${(error as Error).message}`,
    )
  }
}

const syncFolder = async (path: string): Promise<void> => {
  await using folder = await open(path)
  await folder.sync()
}
