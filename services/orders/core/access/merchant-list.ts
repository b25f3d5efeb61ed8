import { cursorFields, listCursor, PageOf } from '@courier/shared/lists/cursor.ts'
import { id, listQuery, text } from '@courier/shared/lists/filters.ts'
import { readInTenant } from '@courier/shared/postgres/database.ts'
import { component, orNull } from '@courier/shared/schemas.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from '@sinclair/typebox'
import type pg from 'pg'

const listedDays = 30
const maxCounted = 10_000

const ListedMerchant = component('ListedMerchant', {
  id: Type.Integer(),
  name: Type.String(),
  email: Type.String(),
  businesses: Type.Array(
    Type.Object({
      id: Type.Integer(),
      name: Type.String(),
      is_default: Type.Boolean(),
      is_active: Type.Boolean(),
    }),
  ),
  rate_card: orNull(Type.String(), { description: 'null: its orders are refused.' }),
  is_active: Type.Boolean(),
  recent_orders: Type.Integer({
    description: `Orders created in the last ${listedDays} days; ${maxCounted} means ${maxCounted} or more.`,
  }),
})
type ListedMerchant = Static<typeof ListedMerchant>

const Query = listQuery(cursorFields, { id: id('The id.'), name: text('Part of the name, in any letter case.') })
const cursors = listCursor(/^[1-9]\d{0,17}$/)

export const merchantListRoutes: FastifyPluginAsyncTypebox<{ pool: pg.Pool }> = async (app, { pool }) => {
  const schema = {
    operationId: 'listMerchants',
    summary: 'List the merchants, by id',
    querystring: Query.schema,
    response: { 200: PageOf(ListedMerchant, 'Merchants') },
  }
  app.get('/merchant', { schema }, async ({ staff: { tenant }, query: given }) => {
    const { id = null, name = null } = Query.read(given)
    const { after, limit } = cursors.read(given)
    const values = [tenant, after[0] ?? '0', name, limit + 1, id]
    const query = { name: 'list_merchants', text: merchantsSql, values }
    const rows = await readInTenant<ListedMerchant>(pool, tenant, query)
    return cursors.toPage(rows, limit, row => [String(row.id)])
  })
}

const merchantsSql = `
  select m.merchant_id::float8 as id, m.name, m.email, m.rate_card, m.is_active, (
    select coalesce(json_agg(json_build_object('id', business_id, 'name', name, 'is_default', is_default,
      'is_active', is_active) order by business_id), '[]')
    from businesses where tenant_id = $1 and merchant_id = m.merchant_id
  ) as businesses, (
    select count(*)::integer from (
      select from orders where tenant_id = $1 and merchant_id = m.merchant_id
        and created_at >= now() - make_interval(days => ${listedDays}) limit ${maxCounted}
    ) recent
  ) as recent_orders
  from (
    select merchant_id, name, email, rate_card, is_active from merchants
    where tenant_id = $1 and merchant_id > $2::bigint and ($3::text is null or strpos(
      lower(normalize(name, NFC) collate "pg_c_utf8"), lower(normalize($3, NFC) collate "pg_c_utf8")) > 0)
      and ($5::bigint is null or merchant_id = $5::bigint)
    order by merchant_id limit $4
  ) m order by m.merchant_id`
