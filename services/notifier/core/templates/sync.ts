import { type Actor, audit } from '@courier/shared/postgres/audit.ts'
import { createClock } from '@courier/shared/postgres/clock.ts'
import { inTenant, query } from '@courier/shared/postgres/database.ts'
import { sql } from 'kysely'
import type pg from 'pg'
import type { Tx } from '../database/tables.ts'
import { classify, nameScope } from '../messaging-api/classify.ts'
import type { Failed, Received } from '../messaging-api/responses.ts'
import { type ListedTemplate, readTemplate } from './catalogue.ts'

export type SyncResult =
  /** `skipped` counts entries of the list that are not valid templates, or repeat one. */
  | ({ kind: 'synced'; skipped: number } & Awaited<ReturnType<typeof replaceCatalogue>>)
  /** The channel is unknown or incomplete, or the API refused to list its templates. */
  | { kind: 'refused'; reason: string }
  /** The response is missing or invalid. */
  | { kind: 'failed'; reason: string }

/** Means an invalid cursor: the sync reads the first page again (docs/contributors/messaging-api.md#error-table). */
const badCursor = 131059

/** Replaces the catalogue of an account with what the API lists now; a list that breaks off changes nothing. */
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
  if (listed.kind !== 'received') return toFailure(listed)
  const read = listed.value.map(readTemplate).filter(template => template !== undefined)
  const templates = [...new Map(read.map(template => [`${template.name} ${template.language}`, template])).values()]
  const counts = await inTenant(pool, tenant, async (tx: Tx) => {
    if (by) await audit(tx, tenant, by, 'templates.synced', wabaId)
    return replaceCatalogue(tx, tenant, wabaId, templates, readAt)
  })
  return { kind: 'synced', ...counts, skipped: listed.value.length - templates.length }
}

const toFailure = (failed: Failed): SyncResult => {
  const couldNot = 'The templates could not be read:'
  if (failed.kind !== 'refused') return { kind: 'failed', reason: `${couldNot} ${failed.reason}` }
  if (failed.code === null) return { kind: 'failed', reason: `${couldNot} HTTP ${failed.status}` }
  const meaning = nameScope(classify(failed), 'management')
  return { kind: 'refused', reason: `The messaging API refused to list the templates: ${failed.code}, ${meaning}` }
}

/**
 * Replaces a catalogue with the list of `readAt`; keeps later reports of webhooks, and what changed templates said.
 * Approval ends an earlier hold.
 */
const replaceCatalogue = async (
  tx: Tx,
  tenant: string,
  wabaId: string,
  templates: readonly ListedTemplate[],
  readAt: Date,
) => {
  await lockCatalogue(tx, tenant, wabaId)
  const rows = await query<{ is_new: boolean; is_changed: boolean }>(tx)`
    with stored as (
      insert into templates as t (tenant_id, waba_id, name, language, template_id, status, status_at, category,
        parameter_format, components)
      select ${tenant}, ${wabaId}, name, language, "templateId", status, ${readAt}, category, "parameterFormat",
        components
      from jsonb_to_recordset(${toStorableJson(templates)}::jsonb) as given (name text, language text,
        "templateId" text, status text, category text, "parameterFormat" text, components jsonb)
      order by name collate "C", language collate "C"
      on conflict (tenant_id, waba_id, name, language) do update set
        template_id = excluded.template_id,
        status = case when t.status_at > excluded.status_at then t.status else excluded.status end,
        status_at = greatest(t.status_at, excluded.status_at),
        category = case when t.category_reported_at > excluded.status_at then t.category else excluded.category end,
        parameter_format = excluded.parameter_format,
        components = excluded.components,
        held_at = case when excluded.status = 'APPROVED' and t.held_at <= ${readAt} then null else t.held_at end,
        held_code = case when excluded.status = 'APPROVED' and t.held_at <= ${readAt} then null else t.held_code end,
        synced_at = excluded.synced_at
      returning new.name, new.language, old.parameter_format, old.components, old.name is null as is_new,
        (old.parameter_format, old.components) is distinct from (new.parameter_format, new.components) as is_rewritten,
        (old.template_id, old.status, old.category, old.held_at) is distinct from
        (new.template_id, new.status, new.category, new.held_at) as is_changed
    ), kept as (
      insert into former_templates (tenant_id, waba_id, name, language, until, parameter_format, components)
      select ${tenant}, ${wabaId}, name, language, ${readAt}, parameter_format, components from stored
      where is_rewritten and not is_new on conflict do nothing
    )
    select is_new, is_changed or is_rewritten as is_changed from stored
  `
  const removed = await sql`
    with removed as (
      delete from templates where tenant_id = ${tenant} and waba_id = ${wabaId} and synced_at <> now()
        and status_at <= ${readAt} returning *
    ), kept as (
      insert into former_templates (tenant_id, waba_id, name, language, until, parameter_format, components)
      select tenant_id, waba_id, name, language, ${readAt}, parameter_format, components from removed
      on conflict do nothing
    )
    select from removed`.execute(tx)
  const added = rows.filter(row => row.is_new).length
  const changed = rows.filter(row => row.is_changed).length - added
  return { templates: rows.length, added, changed, removed: removed.rows.length }
}

/** Locks the catalogue, so that one sync of an account runs at a time, and its rows, in the order of the webhooks. */
const lockCatalogue = async (tx: Tx, tenant: string, wabaId: string): Promise<void> => {
  const account = JSON.stringify(['templates', tenant, wabaId])
  await sql`select pg_advisory_xact_lock(hashtextextended(${account}, 0))`.execute(tx)
  await sql`
    select from templates where tenant_id = ${tenant} and waba_id = ${wabaId}
    order by name, language for update`.execute(tx)
}

/** Returns JSON without the characters that jsonb rejects: null characters and lone surrogates. */
const toStorableJson = (value: unknown): string =>
  JSON.stringify(value).replace(/\\(?:\\|u0000|ud[89a-f][0-9a-f]{2})/g, character =>
    character === '\\\\' ? character : '\\ufffd',
  )
