import { Limit, limitRequests } from '@courier/shared/edge/limits.ts'
import { errorResponses, httpError, invalid } from '@courier/shared/errors/errors.ts'
import { readDigits, readPhone } from '@courier/shared/phone-number.ts'
import { audit } from '@courier/shared/postgres/audit.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import { component, orNull } from '@courier/shared/schemas.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type pg from 'pg'
import { merchantIn } from '../../core/access/merchant.ts'
import type { Catalogues } from '../../core/catalogue/catalogue.ts'
import { isPhoneSql, listStored } from '../../core/database/phone-columns.ts'
import type { Tables } from '../../core/database/tables.ts'
import { deliveredKeys, returnedKeys } from '../../core/statuses/statuses.ts'

/** Fewer finished parcels say nothing, and could give away a single parcel. */
const leastParcels = 3
const requestsPerMinute = 30
const leastDigits = 7
const noPhone = 'be a phone number'
const counted = 'null: fewer than 3 parcels are known.'
const count = orNull(Type.Integer(), { description: counted })

const Recipient = component('Recipient', {
  delivered: count,
  returned: count,
  is_known: Type.Boolean({ description: 'false: fewer than 3 parcels are known.' }),
})

/**
 * Shows how many of the company's parcels a recipient took and how many came back, without a name, if the company
 * allows it.
 */
export const recipientRoutes: FastifyPluginAsyncTypebox<{ pool: pg.Pool; catalogues: Catalogues }> = async (
  app,
  { pool, catalogues },
) => {
  app.addHook('onRequest', limitRequests(new Limit('recipient', requestsPerMinute), merchantIn))
  const schema = {
    operationId: 'getRecipient',
    summary: 'Count the parcels that a recipient took, and those that came back',
    description:
      'Counts the newest 200 parcels of all merchants of the company. Allows 30 requests a minute; audits each.',
    params: Type.Object({
      phone: Type.String({ maxLength: 50, must: noPhone, description: 'The phone number, in any spelling.' }),
    }),
    response: {
      200: Type.Object({ data: Recipient }, { examples: [{ data: { delivered: 1, returned: 3, is_known: true } }] }),
      ...errorResponses(404, 422),
    },
  }
  app.get('/recipient/:phone', { schema }, async ({ merchant: { tenant, actor }, params: { phone } }) => {
    if (readDigits(phone).length < leastDigits) throw invalid({ phone: [`The phone field must ${noPhone}.`] })
    const { country } = await catalogues.current(tenant)
    const stored = listStored(readPhone(phone, country).key, country)
    const found = await inTenant<Tables, Found | undefined>(pool, tenant, async tx => {
      const [counts] = await tx.rows(recipientSql, [tenant, stored, deliveredKeys, returnedKeys])
      if (counts) await audit(tx, tenant, actor, 'recipient.read', 'history')
      return counts
    })
    if (!found) throw httpError('not_found', 'The courier company does not show the history of recipients.')
    const is_known = found.delivered + found.returned >= leastParcels
    return { data: is_known ? { ...found, is_known } : { delivered: null, returned: null, is_known } }
  })
}

type Found = Record<'delivered' | 'returned', number>

const recipientSql = `
  select newest.delivered, newest.returned from tenants cross join lateral (
    select count(*) filter (where status_key = any($3::text[]))::int as delivered,
      count(*) filter (where status_key = any($4::text[]))::int as returned
    from (
      select status_key from orders where tenant_id = $1 and ${isPhoneSql('$2::text[]')}
      order by created_at desc limit 200
    ) parcels
  ) newest
  where tenants.tenant_id = $1 and recipient_history`
