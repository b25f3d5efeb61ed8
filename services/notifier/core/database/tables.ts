import type { AuditTable } from '@courier/shared/postgres/audit.ts'
import type { TenantTransaction } from '@courier/shared/postgres/database.ts'
import type { ColumnType, Generated, Selectable } from 'kysely'
import type { Component } from '../messaging-api/message-template.ts'

/** Lists the statuses of a message in the order of its life: first those in the queue, then the others. */
export const inQueue = ['queued', 'held', 'sending'] as const
export const outQueue = ['unknown', 'accepted', 'sent', 'delivered', 'read', 'failed', 'cancelled', 'expired'] as const
export const messageStatuses = [...inQueue, ...outQueue] as const
export type MessageStatus = (typeof messageStatuses)[number]

/** Types the tables whose queries Kysely builds from parts; the migrations describe them. Whole queries are SQL. */
export interface Tables {
  audit: AuditTable
  tenants: {
    tenant_id: string
    country: string
    stop_words: string[]
    start_words: string[]
    resends_unknown: boolean
    in_doubt_before: Generated<Date | null>
    opt_out_exempt: 'parcel_under_way' | null
    send_between: [string, string] | null
    time_zone: string | null
    currency: string | null
  }
  channels: {
    tenant_id: string
    phone_number_id: string
    name: string
    plan: 'free' | 'paid'
    is_default: boolean
    waba_id: string | null
    verify_token_hash: Buffer
    state: Generated<'active' | 'paused'>
    paused_reason: string | null
    paused_code: number | null
    registered_at: Date | null
    checked_at: Date | null
    proven_at: Date | null
    proof_due_at: Generated<Date>
    proof_tries: Generated<number>
    rate: number
    budget: Generated<number>
    budget_at: Generated<Date>
    slowed_rate: number | null
    slowed_at: Date | null
    not_before: Date | null
    catalogue_due_at: Generated<Date>
    portfolio_id: string | null
    proven_waba_id: string | null
    portfolio_due_at: Generated<Date>
  }
  rules: {
    tenant_id: string
    position: number
    event: string
    text: string | null
    template: string
    language: string
    header: string[]
    body: string[]
    components: ColumnType<Component[], string | undefined, string>
    phone_number_id: string | null
    holds_until_open: boolean
    send_between: [string, string] | null
    supersedes: string[]
    expires_after_hours: number | null
    pauses_on_category_change: Generated<boolean>
    paused_reason: string | null
    within_minutes: number | null
  }
}

export type ChannelRow = Selectable<Tables['channels']>

/** Runs in one tenant or in all tenants. */
export type Tx = TenantTransaction<Tables>

/** Runs a statement that each connection prepares once, under that name; returns the rows. */
export const prepared =
  <Row>(tx: Tx, name: string) =>
  (parts: TemplateStringsArray, ...values: unknown[]): Promise<Row[]> => {
    const text = parts.reduce((before, part, index) => `${before}$${index}${part}`)
    return tx.rows<Row>({ name, text, values })
  }

/** Returns the values of rows by column, as `unnest` takes them; undefined becomes null. */
export const toColumns = <Row extends object>(rows: readonly Row[], ...names: (keyof Row)[]): unknown[][] =>
  names.map(name => rows.map(row => row[name] ?? null))
