import { query } from '@courier/shared/postgres/database.ts'
import { sql } from 'kysely'
import type { Tx } from '../database/tables.ts'
import type { MessageTemplate } from '../messaging-api/message-template.ts'
import type { CatalogueTemplate } from './catalogue.ts'
import type { CategoryReport } from './category-changes.ts'
import { type Rendered, render } from './render.ts'

/** Finds the templates of these names, in every language; undefined if the account's catalogue is empty. */
export const findTemplates = async (tx: Tx, tenant: string, wabaId: string, names: readonly string[]) => {
  // One statement sees a catalogue that a sync stores meanwhile whole or not at all.
  // applyAnnounced of category-changes.ts moves the time of the report to that of the change.
  const rows = await query<CatalogueTemplate>(tx)`
    select name, language, status, category, parameter_format as "parameterFormat", components, held_at as "heldAt",
      held_code as "heldCode", budget_paused_at as "budgetPausedAt", category_at as "announcedAt",
      case when category_at > category_reported_at then category_to end as "announcedCategory"
    from (select from templates where tenant_id = ${tenant} and waba_id = ${wabaId} limit 1) as any_of_account
    left join templates on tenant_id = ${tenant} and waba_id = ${wabaId} and name = any(${names}::text[])`
  return rows.length > 0 ? rows.filter(({ name }) => name !== null) : undefined
}

export const toTemplateKey = ({ name, language }: Pick<MessageTemplate, 'name' | 'language'>): string =>
  `${name} ${language.code}`

/** Returns the keys of the marketing templates with these names in the number's account. */
export const findMarketingTemplates = async (
  tx: Tx,
  { tenant, phoneNumberId }: { readonly tenant: string; readonly phoneNumberId: string },
  names: readonly string[],
): Promise<Set<string>> => {
  if (names.length === 0) return new Set()
  const rows = await query<{ key: string }>(tx)`
    select t.name || ' ' || t.language as key from templates t join channels c using (tenant_id, waba_id)
    where tenant_id = ${tenant} and c.phone_number_id = ${phoneNumberId} and t.name = any(${names}::text[])
      and t.category = 'MARKETING'`
  return new Set(rows.map(({ key }) => key))
}

interface SentTemplate extends Pick<CatalogueTemplate, 'components' | 'parameterFormat'> {
  readonly id: string
  readonly template: MessageTemplate
}

/**
 * Renders the messages with these ids as their recipients read them: by what the template said when the message was
 * accepted, or says now if it has not left. Leaves out messages whose template the catalogue never had.
 */
export const renderMessages = async (
  tx: Tx,
  tenant: string,
  ids: readonly string[],
): Promise<Map<string, Rendered>> => {
  const rows = await query<SentTemplate>(tx)`
    select m.message_id as id, coalesce(m.sent_content, m.template) as template,
      coalesce(f.components, t.components) as components,
      coalesce(f.parameter_format, t.parameter_format) as "parameterFormat"
    from messages m join channels c using (tenant_id, phone_number_id)
    left join templates t on t.tenant_id = m.tenant_id and t.waba_id = c.waba_id and t.name = m.template ->> 'name'
      and t.language = m.template #>> '{language,code}'
    left join lateral (
      select coalesce(max(happened_at) filter (where e.status = 'accepted'),
        min(happened_at) filter (where e.status in ('sent', 'delivered', 'read')),
        case when m.status not in ('queued', 'held', 'sending') then m.status_at end, 'infinity') as at
      from message_events e where e.tenant_id = m.tenant_id and e.message_id = m.message_id
    ) leaving on true
    left join lateral (
      select components, parameter_format from former_templates
      where tenant_id = m.tenant_id and waba_id = c.waba_id and name = m.template ->> 'name'
        and language = m.template #>> '{language,code}' and until > leaving.at
      order by until limit 1
    ) f on true
    where m.tenant_id = ${tenant} and m.message_id = any(${ids}::text[])
      and coalesce(f.components, t.components) is not null`
  return new Map(rows.map(({ id, template, ...said }) => [id, render(said, template)]))
}

/** Holds a template until a sync or a webhook shows it as approved. */
export const holdTemplate = (
  tx: Tx,
  { tenant, phoneNumberId }: { readonly tenant: string; readonly phoneNumberId: string },
  { name, language, code }: { readonly name: string; readonly language: string; readonly code: number },
) =>
  sql`
    update templates set held_at = now(), held_code = ${code}
    where tenant_id = ${tenant} and name = ${name} and language = ${language}
      and waba_id = (select waba_id from channels where tenant_id = ${tenant} and phone_number_id = ${phoneNumberId})
  `.execute(tx)

interface TemplateReport extends Pick<CategoryReport, 'tenant' | 'wabaId' | 'name' | 'language'> {
  readonly status: string
  readonly templateId?: string | undefined
  readonly at: Date
}

/** Stores the newest report of each template, unless the stored status is newer. Returns how many changed. */
export const reportTemplates = async (tx: Tx, reports: readonly TemplateReport[]): Promise<number> => {
  const sorted = [...reports].sort((a, b) => a.at.getTime() - b.at.getTime())
  const newest = new Map(
    sorted.map(report => [JSON.stringify([report.tenant, report.wabaId, report.name, report.language]), report]),
  )
  const rows = [...newest.values()]
  // A report lacks the components of a new or changed template: the list has them.
  await sql`
    update channels c set catalogue_due_at = now() from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb)
      as given (tenant text, "wabaId" text, status text)
    where c.tenant_id = given.tenant and c.waba_id = given."wabaId" and given.status = 'APPROVED'
      and c.catalogue_due_at > now()`.execute(tx)
  const { numAffectedRows } = await sql`
    with reported as (
      select tenant as tenant_id, "wabaId" as waba_id, name, language, status, "templateId" as template_id, at
      from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as given
        (tenant text, "wabaId" text, name text, language text, status text, "templateId" text, at timestamptz)
    ), locked as (
      select t.tenant_id, t.waba_id, t.name, t.language from templates t
      join reported using (tenant_id, waba_id, name, language)
      order by t.tenant_id, t.waba_id, t.name, t.language
      for update of t
    )
    update templates t set
      status = r.status,
      status_at = r.at,
      template_id = coalesce(r.template_id, t.template_id),
      held_at = case when r.status = 'APPROVED' and t.held_at < r.at + interval '1 second' then null else t.held_at end,
      held_code = case when r.status = 'APPROVED'
        and t.held_at < r.at + interval '1 second' then null else t.held_code end
    from locked join reported r using (tenant_id, waba_id, name, language)
    where (t.tenant_id, t.waba_id, t.name, t.language)
        = (locked.tenant_id, locked.waba_id, locked.name, locked.language)
      and (t.status_at is null or date_trunc('second', t.status_at) <= r.at)`.execute(tx)
  return Number(numAffectedRows ?? 0)
}
