import type { Person } from '../conversations/conversation.ts'
import { listSpelt } from '../conversations/phone-number.ts'
import { type MessageStatus, prepared, type Tx, toColumns } from '../database/tables.ts'
import { type Report, updateKey } from './settle.ts'

export interface LockedMessage extends Person {
  readonly messageId: string
  readonly status: MessageStatus
  readonly providerMessageId: string | null
  /** Lists the API's ids of its earlier sends. */
  readonly formerIds: readonly string[]
  readonly templateName: string | null
  readonly language: string | null
  readonly traceparent: string | null
  readonly merchant: string | null
}

/** Adds to a report the ids that find its message: ours, else the API's. */
export interface Sighting extends Report {
  readonly tenant: string
  readonly phoneNumberId: string
  readonly messageId: string | undefined
}

/** Locks the reported and held messages at once in their keys' order: concurrent webhooks never deadlock. */
export const lockMessages = async (tx: Tx, sightings: readonly Sighting[], people: readonly Person[]) => {
  const { rows } = await tx.client.query({
    name: people.length > 0 ? 'lock_messages_and_held' : 'lock_messages',
    text: people.length > 0 ? lockSql(`${reportedSql} union ${heldSql}`) : lockSql(reportedSql),
    values: [
      ...toColumns(sightings, 'tenant', 'phoneNumberId', 'messageId', 'providerMessageId'),
      ...(people.length > 0 ? toColumns(listSpelt(people), 'tenant', 'phoneNumberId', 'recipient') : []),
    ],
  })
  return rows as LockedMessage[]
}

/** Planning each time costs a third of the throughput of small webhooks, and next to nothing of larger ones. */
const fewReferences = 100

/**
 * Plans the statements below once for transactions with few references and no people, else by their values: a plan
 * kept from an almost empty table reads all of a grown one until Postgres analyzes it, and the plan for held messages
 * depends on how many there are. The setting travels with the next statement.
 */
export const choosePlanning = ({ client }: Tx, references: number, people: number): void => {
  const mode = people === 0 && references <= fewReferences ? 'force_generic_plan' : 'force_custom_plan'
  client.query(`set local plan_cache_mode = ${mode}`).catch(() => {})
}

const lockSql = (wanted: string): string => `
  with wanted as (${wanted})
  select m.tenant_id as tenant, m.message_id as "messageId", m.phone_number_id as "phoneNumberId", m.status,
    m.provider_message_id as "providerMessageId",
    m.former_ids as "formerIds", m.template ->> 'name' as "templateName",
    m.template -> 'language' ->> 'code' as language, m.traceparent, m.recipient, m.merchant
  from messages m join (select distinct tenant_id, message_id from wanted) wanted using (tenant_id, message_id)
  order by m.tenant_id, m.message_id
  for update of m`

// A lateral join with a limit reads keys first, then their rows, whatever the statistics of the tables.
const reportedSql = `
  select message.* from unnest($1::text[], $2::text[], $3::text[], $4::text[])
    as reported (tenant_id, phone_number_id, message_id, provider_message_id)
  cross join lateral (
    select m.tenant_id, m.message_id from messages m
    where m.tenant_id = reported.tenant_id and m.message_id = reported.message_id
      and m.phone_number_id = reported.phone_number_id
    union all
    select m.tenant_id, m.message_id from messages m
    where m.tenant_id = reported.tenant_id and m.provider_message_id = reported.provider_message_id
      and m.phone_number_id = reported.phone_number_id
    limit 1
  ) message`

const heldSql = `
  select message.* from unnest($5::text[], $6::text[], $7::text[]) as person (tenant_id, phone_number_id, recipient)
  cross join lateral (
    select m.tenant_id, m.message_id from messages m
    where m.tenant_id = person.tenant_id and m.phone_number_id = person.phone_number_id
      and m.recipient = person.recipient and m.status = 'held'
    offset 0
  ) message`

export const toKey = ({ tenant, messageId }: { tenant: string; messageId: string }): string => `${tenant} ${messageId}`

/** Finds the status reports that the timelines of these messages already contain, by message. */
export const findStatusUpdates = async (tx: Tx, messages: readonly LockedMessage[]) => {
  const [tenants, ids] = toColumns(messages, 'tenant', 'messageId')
  const rows = await prepared<{ tenant: string; messageId: string; status: string; at: Date }>(
    tx,
    'find_status_updates',
  )`
    select known.* from unnest(${tenants}::text[], ${ids}::text[]) as given (tenant_id, message_id)
    cross join lateral (
      select e.tenant_id as tenant, e.message_id as "messageId", e.status, e.happened_at as at from message_events e
      where e.tenant_id = given.tenant_id and e.message_id = given.message_id
        and e.status in ('sent', 'delivered', 'read', 'failed')
      offset 0
    ) known`
  const known = new Map<string, Set<string>>()
  for (const row of rows) known.set(toKey(row), (known.get(toKey(row)) ?? new Set()).add(updateKey(row.status, row.at)))
  return known
}

/** Describes the effect of the reports on a message: `steps`, in the order of its life, and the API's id for it. */
export interface Settlement {
  readonly message: LockedMessage
  readonly steps: readonly Report[]
  readonly providerMessageId: string
}

/** Writes settlements of locked messages with their timeline events, in one statement. */
export const writeSettlements = async (tx: Tx, settlements: readonly Settlement[]) => {
  const events = settlements.flatMap(({ message: { tenant, messageId }, steps }) =>
    steps.map(step => ({ ...step, tenant, messageId, detail: wordDetail(step) })),
  )
  const changes = settlements.map(({ message: { tenant, messageId }, steps, providerMessageId }) => ({
    ...steps.at(-1),
    tenant,
    messageId,
    providerMessageId,
  }))
  await tx.client.query({
    name: 'write_settlements',
    text: `
      with logged as (
        insert into message_events (tenant_id, message_id, status, happened_at, detail)
        select * from unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[], $5::text[])
      )
      update messages m set
        status = coalesce(s.status, m.status),
        status_at = case when s.status is null then m.status_at else now() end,
        provider_message_id = coalesce(m.provider_message_id, s.provider_message_id),
        error_code = case when s.status is null then m.error_code else s.error_code end,
        error_meaning = case when s.status is null then m.error_meaning else s.error_meaning end
      from unnest($6::text[], $7::text[], $8::text[], $9::text[], $10::integer[], $11::text[])
        as s (tenant_id, message_id, status, provider_message_id, error_code, error_meaning)
      where m.tenant_id = s.tenant_id and m.message_id = s.message_id`,
    values: [
      ...toColumns(events, 'tenant', 'messageId', 'status', 'at', 'detail'),
      ...toColumns(changes, 'tenant', 'messageId', 'status', 'providerMessageId', 'errorCode', 'errorMeaning'),
    ],
  })
}

const wordDetail = ({ status, errorCode, errorMeaning }: Report): string | null =>
  status === 'failed' ? [errorCode, errorMeaning].filter(part => part !== null).join(': ') : null
