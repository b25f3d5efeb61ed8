import { isTenantId } from '@courier/shared/access/authenticate.ts'
import { FoundRoom } from '@courier/shared/contract/sending-room.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type pg from 'pg'
import { findNumber } from '../../core/conversations/queries.ts'
import type { Tx } from '../../core/database/tables.ts'
import { findRules } from '../../core/events/queries.ts'
import { findLimits } from './portfolio.ts'

export const roomRoutes: FastifyPluginAsyncTypebox<{ readonly pool: pg.Pool }> = async (app, { pool }) => {
  const ReadSendingRoom = {
    tags: ['events'],
    operationId: 'readSendingRoom',
    summary: 'Read how many messages about new orders may leave today',
    description: 'The number that sends them has this room in the limit of its portfolio. Requires SERVICE_TOKEN.',
    security: [{ service: [] }],
    params: Type.Object({ tenant: Type.String() }),
    response: { 200: FoundRoom },
  }
  app.get('/internal/sending-room/:tenant', { schema: ReadSendingRoom }, async ({ params: { tenant } }) => {
    return { data: isTenantId.test(tenant) ? await findRoom(pool, tenant) : null }
  })
}

/** Finds the room of the number that sends messages about new orders; null: it has no known limit. */
const findRoom = async (pool: pg.Pool, tenant: string) => {
  const number = await inTenant(pool, tenant, async (tx: Tx) => {
    const rule = (await findRules(tx, tenant)).find(({ event }) => event === 'order.created')
    return findNumber(tx, tenant, rule?.phone_number_id ?? undefined)
  })
  const found = number === undefined ? undefined : (await findLimits(pool, tenant)).get(number)
  if (!found) return null
  const { limit, waiting } = found
  return { may_leave_today: Math.max(0, limit.left - waiting), opens_at: limit.opens_at?.toISOString() ?? null }
}
