import { atMost } from '@courier/shared/lru-limit.ts'
import { inAllTenants } from '@courier/shared/postgres/all-tenants.ts'
import { LRUCache } from 'lru-cache'
import type pg from 'pg'
import type { Logger } from 'pino'
import type { Tx } from '../database/tables.ts'
import type { Fact } from './envelope.ts'
import type { Channel } from './verify.ts'

type Signal = 'signed' | 'status' | 'inbound' | 'standby' | 'owned'

/** A number's signals of one kind are written at most this often by a process. */
const notedMilliseconds = 30_000

/**
 * Creates the function that stores when a webhook was last signed for a number, and had a status or a message of a
 * customer. Call it once the facts are committed: its own failure is logged, and loses only these times.
 */
export const createSignals = (pool: pg.Pool, logger: Logger) => {
  const noted = new LRUCache<string, true>({ ...atMost(10_000), ttl: notedMilliseconds })
  return async (signers: readonly Channel[], facts: readonly Fact[]): Promise<void> => {
    const due = signers.flatMap(channel => {
      const kinds = listSignals(channel, facts).filter(kind => !noted.has(toKey(channel, kind)))
      return kinds.length > 0 ? [{ ...channel, kinds }] : []
    })
    if (due.length === 0) return
    for (const channel of due) for (const kind of channel.kinds) noted.set(toKey(channel, kind), true)
    await inAllTenants(pool, (tx: Tx) => tx.client.query(storeSignalsSql, toArrays(due))).catch(err =>
      logger.warn({ err }, 'webhook.signals_not_stored'),
    )
  }
}

const toKey = ({ tenant, phoneNumberId }: Channel, kind: Signal): string => `${kind} ${tenant} ${phoneNumberId}`

const listSignals = ({ phoneNumberId }: Channel, facts: readonly Fact[]): Signal[] => {
  const concerning = facts.filter(fact => 'phoneNumberId' in fact && fact.phoneNumberId === phoneNumberId)
  const has = (kind: Exclude<Signal, 'signed'>): boolean => concerning.some(fact => shows[kind](fact))
  return ['signed', ...(['status', 'inbound', 'standby', 'owned'] as const).filter(has)]
}

const shows = {
  status: ({ kind }: Fact) => kind === 'status',
  inbound: ({ kind }: Fact) => kind === 'inbound',
  /** Another responder answers. */
  standby: (fact: Fact) => ('isStandby' in fact ? fact.isStandby === true : 'owner' in fact && fact.owner === 'other'),
  owned: (fact: Fact) => ('isStandby' in fact ? fact.isStandby === false : 'owner' in fact && fact.owner === 'ours'),
}

const toArrays = (due: readonly (Channel & { kinds: Signal[] })[]) => {
  const sorted = [...due].sort((a, b) => (toKey(a, 'signed') < toKey(b, 'signed') ? -1 : 1))
  const has = (kind: Signal) => sorted.map(({ kinds }) => kinds.includes(kind))
  return [
    sorted.map(({ tenant }) => tenant),
    sorted.map(({ phoneNumberId }) => phoneNumberId),
    has('status'),
    has('inbound'),
    has('standby'),
    has('owned'),
  ]
}

const storeSignalsSql = `
  insert into channel_signals as known (tenant_id, phone_number_id, signed_at, status_at, inbound_at, standby_first_at,
    standby_at, owned_at)
  select tenant, number, now(), case when has_status then now() end, case when has_inbound then now() end,
    case when is_standby then now() end, case when is_standby then now() end, case when is_owned then now() end
  from unnest($1::text[], $2::text[], $3::boolean[], $4::boolean[], $5::boolean[], $6::boolean[])
    as d (tenant, number, has_status, has_inbound, is_standby, is_owned)
  on conflict (tenant_id, phone_number_id) do update set signed_at = excluded.signed_at,
    status_at = coalesce(excluded.status_at, known.status_at),
    inbound_at = coalesce(excluded.inbound_at, known.inbound_at),
    standby_first_at = coalesce(known.standby_first_at, excluded.standby_first_at),
    standby_at = coalesce(excluded.standby_at, known.standby_at),
    owned_at = coalesce(excluded.owned_at, known.owned_at)`
