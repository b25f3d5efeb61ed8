import { type Actor, audit } from '@courier/shared/postgres/audit.ts'
import { createClock } from '@courier/shared/postgres/clock.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import type pg from 'pg'
import type { Tx } from '../database/tables.ts'
import { classify, nameScope } from '../messaging-api/classify.ts'
import type { Failed, Received } from '../messaging-api/responses.ts'
import { readTemplate } from './catalogue.ts'
import { type CatalogueCounts, replaceCatalogue } from './replace-catalogue.ts'

export type SyncResult =
  /** `skipped`: entries of the list that are no templates as we know them. */
  | ({ kind: 'synced'; skipped: number } & CatalogueCounts)
  /** The channel is unknown or not complete, or the API refused to list its templates. */
  | { kind: 'refused'; reason: string }
  /** The response is missing or invalid. */
  | { kind: 'failed'; reason: string }

/** An invalid cursor: the list is read from its first page again (docs/contributors/messaging-api.md#error-table). */
const badCursor = 131059

/** Replaces the catalogue of an account by what the API lists now; a list that breaks off changes nothing. */
export const syncTemplates = async (
  pool: pg.Pool,
  tenant: string,
  wabaId: string,
  list: () => Promise<Received<unknown[]> | Failed>,
  by?: Actor,
): Promise<SyncResult> => {
  const readAt = await createClock(pool)()
  const first = await list()
  const listed = first.kind === 'refused' && first.code === badCursor ? await list() : first
  if (listed.kind !== 'received') return failure(listed)
  const read = listed.value.map(readTemplate).filter(template => template !== undefined)
  const templates = [...new Map(read.map(template => [`${template.name} ${template.language}`, template])).values()]
  const counts = await inTenant(pool, tenant, async (tx: Tx) => {
    if (by) await audit(tx, tenant, by, 'templates.synced', wabaId)
    return replaceCatalogue(tx, tenant, wabaId, templates, readAt)
  })
  return { kind: 'synced', ...counts, skipped: listed.value.length - templates.length }
}

const failure = (failed: Failed): SyncResult => {
  const couldNot = 'The templates could not be read:'
  if (failed.kind !== 'refused') return { kind: 'failed', reason: `${couldNot} ${failed.reason}` }
  if (failed.code === null) return { kind: 'failed', reason: `${couldNot} HTTP ${failed.status}` }
  const meaning = nameScope(classify(failed), 'management')
  return { kind: 'refused', reason: `The messaging API refused to list the templates: ${failed.code}, ${meaning}` }
}
