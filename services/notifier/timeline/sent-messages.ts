import { isTenantId, requireService } from '@courier/shared/access/authenticate.ts'
import { type SentMessage, SentMessages } from '@courier/shared/contract/sent-messages.ts'
import { isBadText } from '@courier/shared/errors/field-errors.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from '@sinclair/typebox'
import type pg from 'pg'
import { query, type Tx } from '../database/tables.ts'

const maxMessages = 100

/** Serves what became of the messages about a parcel to orders, for its merchant. */
export const sentMessageRoutes: FastifyPluginAsyncTypebox<{ pool: pg.Pool; serviceToken: string }> = async (
  app,
  { pool, serviceToken },
) => {
  app.addHook('onRequest', requireService(serviceToken))
  app.get(
    '/internal/messages/:tenant/:waybill',
    {
      schema: {
        tags: ['timeline'],
        operationId: 'listSentMessages',
        summary: 'The statuses of the messages about a parcel, for its merchant',
        description: `The newest ${maxMessages}, newest first. With SERVICE_TOKEN.`,
        security: [{ service: [] }],
        params: Type.Object({ tenant: Type.String(), waybill: Type.String() }),
        response: { 200: SentMessages },
      },
    },
    async ({ params: { tenant, waybill } }) => ({
      data:
        isTenantId.test(tenant) && !isBadText(waybill)
          ? await inTenant(pool, tenant, (tx: Tx) => findSentMessages(tx, tenant, waybill))
          : [],
    }),
  )
}

const findSentMessages = async (tx: Tx, tenant: string, waybill: string): Promise<Static<typeof SentMessage>[]> => {
  const rows = await query<{ template: string | null; status: string; at: Date }>(tx)`
    select template ->> 'name' as template, status, coalesce((
      select max(happened_at) from message_events e
      where e.tenant_id = m.tenant_id and e.message_id = m.message_id and e.status = m.status), created_at) as at
    from messages m where tenant_id = ${tenant} and waybill_number = ${waybill}
    order by message_id desc limit ${maxMessages}`
  return rows.map(({ at, ...message }) => ({ ...message, at: at.toISOString() }))
}
