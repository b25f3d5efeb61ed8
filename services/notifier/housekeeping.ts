import {
  createHousekeeping,
  type DeleteExpired,
  deleteOldKeys,
  deleteWhere,
} from '@courier/shared/postgres/housekeeping.ts'
import type pg from 'pg'
import type { Logger } from 'pino'

/** Deletes rows that are past their time, and conversations in which nobody wrote or opted out or in. */
export const createNotifierHousekeeping = (pool: pg.Pool, logger: Logger, more: readonly DeleteExpired[] = []) =>
  createHousekeeping(pool, logger, [
    deleteOldKeys,
    deleteFrom('recipients', "next_send_at < now() - interval '1 hour'"),
    deleteFrom('conversations', emptySql),
    deleteFrom('identities', forgottenSql),
    deleteFrom('events', "taken_at < now() - interval '30 days'"),
    deleteFrom('inbound_messages', "happened_at < now() - interval '90 days'"),
    ...more,
  ])

const emptySql = `last_inbound_at is null and opted_out_at is null and opted_in_at is null
  and marketing_out_at is null and marketing_in_at is null
  and coalesce(moved_at < now() - interval '30 days', true)`

/** A pair is kept as long as what it leads to: an opt-out counts for the number and the user id. */
const forgottenSql = `seen_at < now() - interval '90 days' and not exists (
  select from conversations c where c.tenant_id = identities.tenant_id and c.recipient = identities.recipient
    and c.phone_number_id in (select phone_number_id from channels where channels.tenant_id = identities.tenant_id))`

/** Deletes expired rows; those that the queue has locked wait for the next run. */
const deleteFrom = (table: string, condition: string) => deleteWhere(table, condition, 'for update skip locked')
