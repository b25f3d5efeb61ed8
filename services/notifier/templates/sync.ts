import { type Actor, audit } from '@courier/shared/postgres/audit.ts'
import { createClock } from '@courier/shared/postgres/clock.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import type pg from 'pg'
import type { Tx } from '../database/tables.ts'
import { type ListedTemplate, readTemplate } from './catalogue.ts'
import { type CatalogueCounts, replaceCatalogue } from './replace-catalogue.ts'

/** Reads one page of an account's catalogue, at most `pageSize` templates; never rejects. */
export type ReadPage = (after?: string) => Promise<CataloguePage>

export type CataloguePage =
  | { kind: 'page'; templates: unknown[]; after?: string | undefined }
  /** The API responded with an error code. */
  | { kind: 'refused'; code: number; details: string }
  /** No response, or an invalid one. */
  | { kind: 'failed'; reason: string }

export type Synced =
  /** `skipped`: entries of the list that are no templates as we know them. */
  | ({ kind: 'synced'; skipped: number } & CatalogueCounts)
  | Exclude<CataloguePage, { kind: 'page' }>
  /** The channel's account is not known. */
  | { kind: 'no_account' }

/** The result of syncing a channel that the caller named; without one of the default. */
export type SyncResult = Synced | { kind: 'unknown_channel'; reason: string }

export const pageSize = 200
const maxPages = 100

/** The list's cursor has become invalid: it is read again from its first page (docs/contributors/messaging-api.md#error-table). */
const badCursor = 131059

/**
 * Replaces the catalogue of a channel's account by what the API lists now: all pages first, then one transaction. A list
 * that cannot be read to its end changes nothing.
 */
export const syncTemplates = async (
  pool: pg.Pool,
  tenant: string,
  { wabaId }: { readonly wabaId: string | null },
  readPage: ReadPage,
  by?: Actor,
): Promise<Synced> => {
  if (wabaId === null) return { kind: 'no_account' }
  const readAt = await createClock(pool)()
  const first = await readPages(readPage)
  const result = first.kind === 'refused' && first.code === badCursor ? await readPages(readPage) : first
  if (result.kind !== 'read') return result
  const listed = result.entries.map(readTemplate).filter(template => template !== undefined)
  const templates = [...new Map(listed.map(template => [keyOf(template), template])).values()]
  const counts = await inTenant(pool, tenant, async (tx: Tx) => {
    if (by) await audit(tx, tenant, by, 'templates.synced', wabaId)
    return replaceCatalogue(tx, tenant, wabaId, templates, readAt)
  })
  return { kind: 'synced', ...counts, skipped: result.entries.length - templates.length }
}

const keyOf = ({ name, language }: ListedTemplate): string => `${name} ${language}`

type Pages = { kind: 'read'; entries: unknown[] } | Exclude<CataloguePage, { kind: 'page' }>

const readPages = async (readPage: ReadPage): Promise<Pages> => {
  const entries: unknown[] = []
  const seen = new Set<string>()
  let after: string | undefined
  for (let pages = 0; pages < maxPages; pages++) {
    const page = await readPage(after)
    if (page.kind !== 'page') return page
    entries.push(...page.templates)
    if (page.after === undefined) return { kind: 'read', entries }
    if (seen.has(page.after)) return { kind: 'failed', reason: 'The list of templates leads back to an earlier page.' }
    seen.add(page.after)
    after = page.after
  }
  return { kind: 'failed', reason: `The list of templates has more than ${maxPages} pages.` }
}
