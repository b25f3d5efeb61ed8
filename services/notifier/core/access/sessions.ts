import type { StaffRole } from '@courier/shared/contract/staff-roles.ts'
import { maxTokensPerRequest } from '@courier/shared/contract/staff-tokens.ts'
import { httpError } from '@courier/shared/errors/errors.ts'
import { atMost } from '@courier/shared/lru-limit.ts'
import { findTenantIds } from '@courier/shared/postgres/database.ts'
import { batchRequests } from '@courier/shared/postgres/request-batcher.ts'
import { type FindTokenHolder, rememberCallers } from '@courier/shared/postgres/token-holders.ts'
import { findLiveTokens, hashToken, type LiveToken, mayBeToken } from '@courier/shared/postgres/tokens.ts'
import { sql } from 'kysely'
import { LRUCache } from 'lru-cache'
import type pg from 'pg'
import type { Logger } from 'pino'
import type { Tx } from '../database/tables.ts'
import type { OrdersClient, StaffTokenHolder, WantedToken } from '../orders-client/orders-client.ts'

interface StaffToken {
  readonly tokenId: string
  readonly staffName: string
  readonly roles: readonly StaffRole[]
}

const defaults = {
  /** A token counts as confirmed for this long from the start of its look-up. */
  confirmedMilliseconds: 3_000,
  /** A token is admitted for this long after that look-up while orders does not respond. */
  unconfirmedMilliseconds: 60_000,
  /** For this long after a look-up without a response, admitted tokens do not wait for the next look-up. */
  pauseMilliseconds: 4_000,
  /** Reads milliseconds of a monotonic clock. */
  now: (): number => performance.now(),
}
export type SessionLimits = Readonly<typeof defaults>

interface SessionOptions {
  readonly pool: pg.Pool
  readonly orders: Pick<OrdersClient, 'findStaff'>
  readonly logger: Logger
  readonly sessions?: Partial<SessionLimits> | undefined
}

interface Session {
  readonly staff: StaffToken
  readonly confirmedAt: number
  /** Is a time of our monotonic clock: the clock of orders may differ. */
  readonly endsAt: number
}

type Found = StaffToken | undefined | 'unconfirmed'

const toKey = ({ tenant, hash }: WantedToken): string => `${hash} ${tenant}`

/**
 * Creates a cache of staff tokens of orders, with a grace period: docs/staff/staff.md#when-orders-is-unavailable. Keeps
 * running look-ups apart from it: the cache's own `fetch` would hold those of forged tokens, which then evict sessions.
 */
const createSessions = ({ pool, orders, logger, sessions: limits }: SessionOptions) => {
  const { confirmedMilliseconds, unconfirmedMilliseconds, pauseMilliseconds, now } = { ...defaults, ...limits }
  const sessions = new LRUCache<string, Session>(atMost(10_000))
  const running = new Map<string, Promise<Found>>()
  /** Holds the end of each tenant's pause: one tenant's slow look-ups delay no revocation of another's tokens. */
  const pauses = new Map<string, number>()

  const findLive = (milliseconds: number, token: WantedToken): StaffToken | undefined => {
    const session = sessions.get(toKey(token))
    if (!session || now() >= Math.min(session.endsAt, session.confirmedAt + milliseconds)) return undefined
    return session.staff
  }

  const store = (token: WantedToken, start: number, ordersNow: number, holder: StaffTokenHolder | null): Found => {
    if (!holder) {
      sessions.delete(toKey(token))
      return undefined
    }
    const { token_id: tokenId, name: staffName, roles, expires_at } = holder
    const endsAt = expires_at ? start + Date.parse(expires_at) - ordersNow : Number.POSITIVE_INFINITY
    const staff = { tokenId, staffName, roles }
    sessions.set(toKey(token), { staff, confirmedAt: start, endsAt })
    return staff
  }

  const pause = (tenants: ReadonlySet<string>, reason: string): void => {
    if (pauses.size === 0) logger.warn({ reason }, 'staff_tokens.unconfirmed: orders does not respond')
    for (const tenant of tenants) pauses.set(tenant, now() + pauseMilliseconds)
  }

  const unpause = (tenants: ReadonlySet<string>): void => {
    if (pauses.size === 0) return
    for (const [tenant, until] of pauses) if (tenants.has(tenant) || until <= now()) pauses.delete(tenant)
    if (pauses.size === 0) logger.info('staff_tokens.confirmed_again')
  }

  const lookUp = async (tokens: readonly WantedToken[]): Promise<Found[]> => {
    const start = now()
    const tenants = new Set(tokens.map(({ tenant }) => tenant))
    const result = await orders.findStaff(tokens)
    if (result.kind === 'unavailable') {
      pause(tenants, result.reason)
      return tokens.map(() => 'unconfirmed')
    }
    unpause(tenants)
    return tokens.map((token, index) => store(token, start, result.now, result.holders[index] ?? null))
  }

  const requestHolders = batchRequests<WantedToken, Found>({
    run: async (_lane, wanted) => {
      const known = new Set(await findTenantIds(pool))
      const tokens = wanted.filter(({ tenant }) => known.has(tenant))
      const found = tokens.length > 0 ? await lookUp(tokens) : []
      return wanted.map(token => (known.has(token.tenant) ? found.shift() : undefined))
    },
    take: () => maxTokensPerRequest,
    lanes: () => 1,
  })

  /** Shares a request between the look-ups of one tenant, or during a flood between those of all tenants. */
  const requestHolderOnce = (token: WantedToken, flood: boolean): Promise<Found> => {
    const key = toKey(token)
    const pending =
      running.get(key) ?? requestHolders(flood ? '' : token.tenant, token).finally(() => running.delete(key))
    running.set(key, pending)
    return pending
  }

  return {
    /** Returns the holder of a token that was confirmed a moment ago. */
    findConfirmed: (token: WantedToken): StaffToken | undefined => findLive(confirmedMilliseconds, token),
    find: async (token: WantedToken, flood: boolean): Promise<Found> => {
      const admitted = findLive(unconfirmedMilliseconds, token)
      if (admitted && now() < (pauses.get(token.tenant) ?? 0)) {
        requestHolderOnce(token, false).catch(() => {})
        return admitted
      }
      const found = await requestHolderOnce(token, flood && !admitted)
      if (found !== 'unconfirmed') return found
      return findLive(unconfirmedMilliseconds, token) ?? (flood ? undefined : found)
    },
  }
}

/**
 * Creates the function that finds the holders of tokens made here or by orders, cached for a few seconds. It returns
 * undefined for an unknown, expired or revoked token. While orders does not respond, it throws 503 for a token that
 * only orders can know and has not confirmed in the last minute; during a flood it returns undefined for such a token.
 */
export const createStaffReader = ({ pool, ...options }: SessionOptions): FindTokenHolder<StaffToken> => {
  const findLocal = rememberCallers(pool, findStaff)
  const sessions = createSessions({ pool, ...options })
  const find = async (tenant: string, token: string, flood = false): Promise<StaffToken | undefined> => {
    const session = { tenant, hash: hashToken(token).toString('hex') }
    const local = sessions.findConfirmed(session) ?? (await findLocal(tenant, token, flood))
    if (local || !mayBeToken(token)) return local
    const found = await sessions.find(session, flood)
    if (found === 'unconfirmed') throw httpError('unavailable', unconfirmed, { retryAfterSeconds: 2 })
    return found
  }
  return Object.assign(find, { forget: findLocal.forget })
}

const unconfirmed =
  'Your login cannot be checked at the moment: the orders service does not respond. Nothing was changed; repeat the request.'

const findStaff = (tx: Tx, tenant: string, hashes: readonly Buffer[]) =>
  findLiveTokens<StaffToken & LiveToken>(tx, tenant, hashes, { columns: sql`array['admin'] as roles` })
