import { CommitInDoubt, inTenant, isUnavailable } from '@courier/shared/database.ts'
import type pg from 'pg'
import type { Tx } from '../database/tables.ts'
import type { NewBatch } from './batch-rows.ts'
import { insertAll } from './insert-batch.ts'

export interface BatchWriter {
  /**
   * Writes a batch that was checked against that version of the tenant's catalogue; true: it is committed. False: nothing
   * was written, because the version is another one by now, a waybill or the key exists, or a batch that shared the
   * statement could not be written. Throws when Postgres is away or its answer was lost.
   */
  write(tenant: string, version: string, batch: NewBatch): Promise<boolean>
}

/** Larger batches gain nothing from company. */
const smallOrders = 100
/** What one statement carries of small batches. */
const groupOrders = 1_000
/**
 * A statement may be held up by another's lock: so many batches do not wait for it, nor any for so long. At most `lanes`
 * statements of a tenant's small batches run at once.
 */
const crowd = 16
const patienceMilliseconds = 50
const lanes = 4

interface Waiting {
  readonly version: string
  readonly batch: NewBatch
  readonly settle: (written: boolean) => void
  readonly fail: (error: unknown) => void
}

interface Line {
  readonly waiting: Waiting[]
  running: number
  /** Ends the patience of those that wait. */
  overdue?: NodeJS.Timeout | undefined
}

/** Small batches of a tenant that arrive while others are written share the next statement and its commit. */
export const createBatchWriter = (pool: pg.Pool): BatchWriter => {
  const lines = new Map<string, Line>()

  const writeAll = async (tenant: string, version: string, batches: readonly NewBatch[]): Promise<boolean> => {
    try {
      return await inTenant(
        pool,
        tenant,
        (tx: Tx) => insertAll(tx, tenant, version, batches),
        isWritten => isWritten,
      )
    } catch (error) {
      if (error instanceof CommitInDoubt || isUnavailable(error)) throw error
      // What is wrong is found batch by batch.
      return false
    }
  }

  const run = async (tenant: string, line: Line, group: readonly Waiting[]): Promise<void> => {
    line.running++
    const batches = group.map(({ batch }) => batch)
    try {
      const isWritten = await writeAll(tenant, group[0]?.version ?? '', batches)
      for (const { settle } of group) settle(isWritten)
    } catch (error) {
      for (const { fail } of group) fail(error)
    }
    line.running--
    if (line.waiting.length > 0) start(tenant, line)
    else if (line.running === 0) lines.delete(tenant)
  }

  const start = (tenant: string, line: Line, isOverdue = false): void => {
    const mayRun = () => line.running === 0 || (line.running < lanes && (isOverdue || line.waiting.length >= crowd))
    while (line.waiting.length > 0 && mayRun()) void run(tenant, line, takeGroup(line.waiting))
    clearTimeout(line.overdue)
    if (line.waiting.length > 0) line.overdue = setTimeout(start, patienceMilliseconds, tenant, line, true)
  }

  return {
    write: (tenant, version, batch) => {
      if (batch.waybills.length > smallOrders) return writeAll(tenant, version, [batch])
      const line = lines.get(tenant) ?? { waiting: [], running: 0 }
      lines.set(tenant, line)
      return new Promise((settle, fail) => {
        line.waiting.push({ version, batch, settle, fail })
        // Calls that arrive in one turn of the event loop go together.
        if (line.waiting.length === 1 || line.waiting.length === crowd) setImmediate(start, tenant, line)
      })
    },
  }
}

/** The longest waiting ones, of one version. */
const takeGroup = (waiting: Waiting[]): Waiting[] => {
  let orders = 0
  const end = waiting.findIndex(({ version, batch }) => {
    orders += batch.waybills.length
    return version !== waiting[0]?.version || orders > groupOrders
  })
  return waiting.splice(0, end === -1 ? waiting.length : end)
}
