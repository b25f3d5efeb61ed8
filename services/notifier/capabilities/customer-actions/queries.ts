import type { ActionOutcome } from '@courier/shared/contract/customer-actions.ts'
import { query } from '@courier/shared/postgres/database.ts'
import { sql } from 'kysely'
import type { Person } from '../../core/conversations/conversation.ts'
import type { OnMoved } from '../../core/conversations/identities.ts'
import { identifyRecipients } from '../../core/conversations/phone-number.ts'
import { prepared, type Tx } from '../../core/database/tables.ts'
import type { ActionButton } from './button-token.ts'

export interface Press extends Person, ActionButton {
  readonly at: Date
  readonly inboundId: string
}

const toJson = (presses: readonly Press[]): string => {
  const rows = identifyRecipients(presses)
  return JSON.stringify(rows.map((row, place) => ({ ...row, id: `${row.messageId} ${row.index}`, place })))
}

/**
 * Stores each press once, the earliest first; returns how many are new. The people's conversations must be locked.
 * Leaves known rows alone: a transaction that locks one may wait for a conversation.
 */
export const insertPresses = async (tx: Tx, presses: readonly Press[]): Promise<number> => {
  if (presses.length === 0) return 0
  const rows = await query(tx)`
    insert into customer_actions (tenant_id, action_id, kind, message_id, phone_number_id, recipient, waybill_number,
      action, inbound_id, happened_at)
    select tenant, id, 'press', "messageId", "phoneNumberId", recipient, waybill, action, "inboundId", at
    from (
      select distinct on (tenant, id) *
      from jsonb_to_recordset(${toJson(presses)}::jsonb) as given (tenant text, id text, "messageId" text,
        "phoneNumberId" text, recipient text, waybill text, action text, "inboundId" text, at timestamptz,
          place integer)
      order by tenant, id, at, place
    ) given
    where not exists (select from customer_actions a where a.tenant_id = given.tenant and a.action_id = given.id)
    order by at, place
    on conflict do nothing
    returning 1`
  return rows.length
}

/** Gives people who press `change_address` again another hour to write an address for the parcel of the last press. */
export const renewPresses = async (tx: Tx, presses: readonly Press[]): Promise<void> => {
  const renewed = presses.filter(({ action }) => action === 'change_address')
  if (renewed.length === 0) return
  await sql`
    update customer_actions a set happened_at = given.at, asked_at = greatest(a.asked_at, given.at)
    from (
      select tenant, id, max(at) as at
      from jsonb_to_recordset(${toJson(renewed)}::jsonb) as given (tenant text, id text, at timestamptz)
      group by tenant, id
    ) given
    where a.tenant_id = given.tenant and a.action_id = given.id and a.outcome = 'asked'
      and a.happened_at < given.at`.execute(tx)
}

/** Moves the presses and addresses of people, which decide what their next text means. */
export const moveAsked: OnMoved = async (tx, moves) => {
  for (const { tenant, from, to } of moves)
    await query(tx)`update customer_actions set recipient = ${to}
      where tenant_id = ${tenant} and recipient = ${from} and action = 'change_address'`
}

export interface Written extends Person {
  readonly text: string
  readonly at: Date
  readonly inboundId: string
  /** Names the message that will ask the person to confirm the address. */
  readonly questionId: string
}

/** A text may be an address for this long after orders asked for one, and may then be confirmed for as long. */
export const addressMinutes = 60

/** Words for the timeline why we refuse an address: it is not delivered. */
const refusals = {
  too_long: 'The address has more than 500 characters.',
  confirmed_late: 'It was confirmed more than an hour after it was written.',
}

export interface Address extends Person {
  readonly questionId: string
  readonly waybill: string
  /** Repeats the language of the message whose button was pressed. */
  readonly language: string | null
  /** The question may have been sent before the database was restored. */
  readonly isInDoubt: boolean
  readonly isLong: boolean
}

/**
 * Stores the texts that people wrote after their newest `change_address` press that was not refused, until an hour
 * after orders asked for the address. Stores each as unconfirmed or, if it is too long, to be refused. Returns the new
 * ones. The people's conversations must be locked.
 */
export const insertAddresses = async (tx: Tx, written: readonly Written[], maxLength: number): Promise<Address[]> => {
  if (written.length === 0) return []
  const given = identifyRecipients(written).map(each => ({ ...each, isLong: each.text.length > maxLength }))
  const rows = await query<Address>(tx)`
    with given as (
      select distinct on (given.tenant, given."phoneNumberId", given."inboundId") given.*,
        press.waybill_number as waybill, press.message_id as pressed
      from jsonb_to_recordset(${JSON.stringify(given)}::jsonb) as given (tenant text,
        "phoneNumberId" text, recipient text, "inboundId" text, "questionId" text, "isLong" boolean, at timestamptz)
      cross join lateral (
        select p.* from customer_actions p
        where p.tenant_id = given.tenant and p.phone_number_id = given."phoneNumberId" and p.recipient = given.recipient
          and p.action = 'change_address' and p.kind = 'press' and coalesce(p.outcome, 'asked') = 'asked'
          and given.at between p.happened_at
            and coalesce(p.asked_at, p.happened_at) + make_interval(mins => ${addressMinutes}::integer)
        order by p.happened_at desc, p.position desc
        limit 1
      ) press
      where not exists (
        select from customer_actions a
        where a.tenant_id = given.tenant and a.phone_number_id = given."phoneNumberId" and a.recipient = given.recipient
          and a.action = 'change_address' and a.inbound_id = given."inboundId")
    ), stored as (
      insert into customer_actions (tenant_id, action_id, kind, message_id, phone_number_id, recipient, waybill_number,
        action, inbound_id, outcome, reason, detail, happened_at)
      select tenant, "questionId" || ' 0 address', 'address', case when "isLong" then pressed else "questionId" end,
        "phoneNumberId", recipient, waybill, 'change_address', "inboundId",
        case when not "isLong" then 'unconfirmed' end, case when "isLong" then 'too_long' end,
        case when "isLong" then ${refusals.too_long} end, at
      from given order by at
      returning action_id
    )
    select given.tenant, "phoneNumberId", given.recipient, "questionId", waybill, "isLong",
      m.template -> 'language' ->> 'code' as language, coalesce(at < t.in_doubt_before, false) as "isInDoubt"
    from given join stored on action_id = "questionId" || ' 0 address' join tenants t on t.tenant_id = tenant
      left join messages m on m.tenant_id = tenant and m.message_id = pressed`
  return rows
}

/** Queues confirmed addresses for orders unless a later one is confirmed. The people's conversations must be locked. */
export const confirmAddresses = async (tx: Tx, presses: readonly Press[]): Promise<number> => {
  if (presses.length === 0) return 0
  const rows = await query(tx)`
    update customer_actions a set outcome = null, due_at = now(), created_at = now(), happened_at = given.at,
      address = i.text, (reason, detail) = (
        select 'confirmed_late', ${refusals.confirmed_late}
        where given.at > a.created_at + make_interval(mins => ${addressMinutes}::integer))
    from jsonb_to_recordset(${toJson(presses)}::jsonb) as given (tenant text, id text, at timestamptz),
      inbound_messages i
    where a.tenant_id = given.tenant and a.action_id = given.id || ' address' and a.outcome = 'unconfirmed'
      and i.tenant_id = a.tenant_id and i.phone_number_id = a.phone_number_id and i.inbound_id = a.inbound_id
      and not exists (
        select from customer_actions later
        where later.tenant_id = a.tenant_id and later.phone_number_id = a.phone_number_id
          and later.recipient = a.recipient
          and later.action = 'change_address' and later.kind = 'address' and later.waybill_number = a.waybill_number
          and later.position > a.position and later.outcome is distinct from 'unconfirmed' and later.reason is null)
    returning 1`
  return rows.length
}

export interface WaitingAction extends Person {
  readonly id: string
  readonly waybill: string
  readonly action: string
  readonly address: string | null
  /** Says why we refuse it, regardless of orders; `detail` words it. */
  readonly reason: keyof typeof refusals | null
  readonly detail: string | null
  readonly happenedAt: Date
}

/** Claims due actions, only the oldest of each waybill. No other process can claim them until the claim ends. */
export const claimActions = (tx: Tx, count: number, claimSeconds: number): Promise<WaitingAction[]> =>
  prepared<WaitingAction>(tx, 'claim_actions')`
    with due as (
      select a.tenant_id, a.action_id from customer_actions a
      where a.outcome is null and a.due_at <= now() and not exists (
        select from customer_actions earlier
        where earlier.tenant_id = a.tenant_id and earlier.waybill_number = a.waybill_number and earlier.outcome is null
          and earlier.position < a.position)
      order by a.due_at
      limit ${count}
      for update of a skip locked
    )
    update customer_actions a set due_at = now() + make_interval(secs => ${claimSeconds}), attempts = a.attempts + 1
    from due where a.tenant_id = due.tenant_id and a.action_id = due.action_id
    returning a.tenant_id as tenant, a.action_id as id, a.phone_number_id as "phoneNumberId", a.recipient,
      a.waybill_number as waybill, a.action, a.address, a.reason, a.detail, a.happened_at as "happenedAt"`

const keptDays = 3
const longestBackoffSeconds = 120

/** Postpones actions, longer after each failure, or expires them. Returns the ids of the expired ones. */
export const postponeActions = async (tx: Tx, tenant: string, ids: readonly string[]): Promise<string[]> => {
  const rows = await query<{ id: string; outcome: string | null }>(tx)`
    update customer_actions a set
      due_at = now() + make_interval(secs => least(${longestBackoffSeconds}, power(2, least(a.attempts, 10) - 1))),
      outcome = case when a.created_at < now() - make_interval(days => ${keptDays}) then 'expired' end,
      address = case when a.created_at >= now() - make_interval(days => ${keptDays}) then a.address end
    where tenant_id = ${tenant} and action_id = any(${ids}::text[]) and outcome is null
    returning action_id as id, outcome`
  return rows.flatMap(({ id, outcome }) => (outcome === null ? [] : id))
}

export interface ActionResult {
  readonly id: string
  readonly outcome: string
  readonly detail: string | null
}

/** Stores the results from orders and deletes addresses. Returns the ids of the actions that had no outcome yet. */
export const storeResults = async (tx: Tx, tenant: string, results: readonly ActionResult[]): Promise<Set<string>> => {
  const given = results.map(({ id, outcome, detail }) => ({ id, outcome, detail }))
  const rows = await query<{ id: string }>(tx)`
    update customer_actions a set outcome = given.outcome, detail = given.detail, address = null,
      asked_at = case when given.outcome = 'asked' then now() end
    from jsonb_to_recordset(${JSON.stringify(given)}::jsonb) as given (id text, outcome text, detail text)
    where a.tenant_id = ${tenant} and a.action_id = given.id and a.outcome is null
    returning a.action_id as id`
  return new Set(rows.map(({ id }) => id))
}

/**
 * Finds the numbers on which the newest of these requests about these waybills were pressed, by the given ids. Counts a
 * press whose outcome has not arrived yet.
 */
export const findPressedNumbers = async (
  tx: Tx,
  tenant: string,
  wanted: readonly { readonly id: string; readonly waybill: string; readonly action: string }[],
): Promise<Map<string, string>> => {
  if (wanted.length === 0) return new Map()
  const rows = await query<{ id: string; number: string }>(tx)`
    select given.id, press.phone_number_id as number
    from jsonb_to_recordset(${JSON.stringify(wanted)}::jsonb) as given (id text, waybill text, action text)
    cross join lateral (
      select a.phone_number_id from customer_actions a
      where a.tenant_id = ${tenant} and a.waybill_number = given.waybill and a.action = given.action
        and coalesce(a.outcome, 'requested') = 'requested'
      order by a.position desc limit 1
    ) press`
  return new Map(rows.map(({ id, number }) => [id, number]))
}

export interface ActionView {
  readonly message_id: string
  readonly action: string
  readonly outcome: ActionOutcome | 'unconfirmed' | 'expired' | null
  readonly detail: string | null
  readonly at: Date
}

export const findActions = (tx: Tx, tenant: string, waybill: string, limit: number): Promise<ActionView[]> =>
  query<ActionView>(tx)`
    select message_id, action, outcome, detail, happened_at as at from customer_actions
    where tenant_id = ${tenant} and waybill_number = ${waybill} order by position desc limit ${limit}`
