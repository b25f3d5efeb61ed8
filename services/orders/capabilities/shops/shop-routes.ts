import { randomBytes } from 'node:crypto'
import { refusesKeys } from '@courier/shared/edge/idempotency.ts'
import { acceptJson } from '@courier/shared/edge/json-body.ts'
import { refuseUnknownFields } from '@courier/shared/edge/validator.ts'
import { errorResponses, invalid, notFound } from '@courier/shared/errors/errors.ts'
import { selectedInvalid } from '@courier/shared/errors/field-errors.ts'
import { type Action, audit } from '@courier/shared/postgres/audit.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import { component, oneOf, orNull } from '@courier/shared/schemas.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from '@sinclair/typebox'
import type { FastifyRequest } from 'fastify'
import { refuseRoles } from '../../core/access/merchant.ts'
import { isoTime } from '../../core/database/iso-time.ts'
import type { Tx } from '../../core/database/tables.ts'
import { kinds, previousDays, type ShopRef, sealSecret } from './queries.ts'
import { expectKeys, isShopId, type ReceivingOptions } from './receive.ts'

const maxShops = 20
const id = (description: string) => Type.Integer({ minimum: 1, maximum: 2_147_483_647, description })

const fields = {
  name: Type.String({ maxLength: 100, pattern: '\\S' }),
  merchant_business_id: id('The business that sends the orders.'),
  origin_city_id: id('The city where the parcels start.'),
  weight: orNull(Type.Number({ exclusiveMinimum: 0, maximum: 1_000 }), {
    description: 'Kilograms of a parcel whose weight the shop does not say; null: a person is asked.',
  }),
  auto_book: orNull(oneOf(['key_1', 'key_2'] as const), {
    description:
      'Books orders without an error and without a warning as drafts (key_1) or confirmed (key_2); null: each waits.',
  }),
}
const Secret = Type.String({ minLength: 8, maxLength: 255, pattern: '^[\\x21-\\x7e]+$' })
const NewShop = Type.Object(
  { ...fields, kind: oneOf(kinds), weight: Type.Optional(fields.weight), auto_book: Type.Optional(fields.auto_book) },
  {
    title: 'NewShop',
    examples: [{ kind: 'woocommerce', name: 'Shoes', merchant_business_id: 7290, origin_city_id: 1500 }],
  },
)
const ShopChange = Type.Partial(Type.Object(fields), {
  title: 'ShopChange',
  minProperties: 1,
  examples: [{ auto_book: 'key_2' }],
})
const NewShopSecret = Type.Object(
  { secret: Type.Optional({ ...Secret, description: 'What Shopify shows; absent: one is made.' }) },
  { title: 'NewShopSecret' },
)
const nullable = orNull(Type.String())
const Shop = component('Shop', {
  id: Type.String(),
  kind: Type.String({ examples: ['woocommerce'] }),
  ...fields,
  url: Type.String({ description: 'Paste it into the settings of the shop.' }),
  has_secret: Type.Boolean(),
  pinged_at: { ...nullable, description: 'When the shop tried the address.' },
  received_at: { ...nullable, description: 'When the last delivery came.' },
  refused_at: { ...nullable, description: 'When something came last that the secret did not sign.' },
  writes_back: Type.Boolean({ description: 'Tracking numbers and statuses go back to the shop.' }),
  waiting: Type.Integer({ description: 'Orders that wait for a person.' }),
})
const ShopDelivery = component('ShopDelivery', {
  topic: Type.String(),
  shop_order_id: nullable,
  outcome: Type.String({ description: 'stored, older than what is known, or no_order.' }),
  received_at: Type.String(),
})
export const ByShop = Type.Object({ shop_id: Type.String({ maxLength: 40 }) })
type ByShopRequest = FastifyRequest<{ Params: Static<typeof ByShop> }>

const times = ['pinged_at', 'received_at', 'refused_at'].map(name => `${isoTime(name)} as ${name}`).join(', ')
const shopsSql = `
  select shop_id as id, kind, name, business_id as merchant_business_id, origin_city_id, weight::float8 as weight,
    auto_book, key_id is not null as has_secret, ${times}, endpoint_id is not null as writes_back,
    (select count(*)::int from shop_orders o
      where o.tenant_id = $1 and o.merchant_id = $2 and o.state = 'waiting' and o.shop_id = shops.shop_id) as waiting
  from shops where tenant_id = $1 and merchant_id = $2`

/** Returns the shop in the path. A text that is not an id matches no shop. */
export const readShop = ({ merchant, params }: ByShopRequest): ShopRef => {
  if (!isShopId.test(params.shop_id)) throw notFound('shop')
  return { tenant: merchant.tenant, merchantId: merchant.merchantId, id: params.shop_id }
}

/** Acts on the shop in the path and audits it in one transaction. */
export const actOnShop = async <Result>(
  { pool }: ReceivingOptions,
  request: ByShopRequest,
  verb: Extract<Action, `shop.${string}`>,
  action: (tx: Tx, ref: ShopRef) => Promise<Result>,
): Promise<Result> => {
  const ref = readShop(request)
  return inTenant(pool, ref.tenant, async (tx: Tx) => {
    const foundSql = 'select from shops where tenant_id = $1 and merchant_id = $2 and shop_id = $3 for update'
    if ((await tx.rows(foundSql, [ref.tenant, ref.merchantId, ref.id])).length === 0) throw notFound('shop')
    const result = await action(tx, ref)
    await audit(tx, ref.tenant, request.merchant.actor, verb, ref.id)
    return result
  })
}

/** Lets a merchant connect its shops (docs/merchants/shops.md). */
export const shopRoutes: FastifyPluginAsyncTypebox<ReceivingOptions> = async (app, options) => {
  const { pool } = options
  acceptJson(app)
  refuseUnknownFields(app)
  const find = async (tx: Tx, { merchant, publicUrl }: FastifyRequest, id: string | null = null) => {
    const { tenant, merchantId } = merchant
    const sql = `${shopsSql} and ($3::text is null or shop_id = $3) order by created_at, shop_id`
    const rows = await tx.rows<Omit<Static<typeof Shop>, 'url'> & object>(sql, [tenant, merchantId, id])
    return rows.map(row => ({ ...row, url: `${publicUrl}/webhooks/shops/${tenant}/${row.id}` }))
  }
  const one = Type.Object({ message: Type.String(), data: Shop })

  const listing = {
    operationId: 'listShops',
    summary: 'List your shops',
    response: { 200: Type.Object({ data: Type.Array(Shop) }) },
  }
  app.get('/shop', { schema: listing }, async request => ({
    data: await inTenant(pool, request.merchant.tenant, (tx: Tx) => find(tx, request as FastifyRequest)),
  }))
  refuseRoles(app, 'clerk')

  const adding = {
    operationId: 'addShop',
    summary: 'Connect a shop',
    description: 'Returns the address for the settings of the shop. Give or make its secret next.',
    body: NewShop,
    response: { 201: one },
  }
  app.post('/shop', { ...refusesKeys, schema: adding }, async (request, reply) => {
    const { merchant, body } = request
    expectKeys(options)
    await checkChoice(options, request as FastifyRequest, body)
    const shopId = randomBytes(16).toString('base64url')
    const data = await inTenant(pool, merchant.tenant, async (tx: Tx) => {
      const insertSql = `
        insert into shops (tenant_id, shop_id, merchant_id, business_id, kind, name, origin_city_id, weight, auto_book)
        select $1, $2, $3, $4, $5, $6, $7, $8, $9
        where (select count(*) from shops where tenant_id = $1 and merchant_id = $3) < ${maxShops} returning shop_id`
      const { merchant_business_id: business, kind, name, origin_city_id: origin, weight, auto_book } = body
      const values = [merchant.tenant, shopId, merchant.merchantId, business, kind, name, origin, weight, auto_book]
      const added = await tx.rows(insertSql, values)
      if (added.length === 0) throw invalid({ name: [`There are already ${maxShops} shops: remove one.`] })
      await audit(tx, merchant.tenant, merchant.actor, 'shop.connected', shopId)
      return (await find(tx, request as FastifyRequest, shopId))[0] as Static<typeof Shop>
    })
    reply.code(201)
    return { message: 'Shop Created Successfully', data }
  })

  const changing = {
    operationId: 'changeShop',
    summary: 'Change a shop',
    params: ByShop,
    body: ShopChange,
    response: { 200: one, ...errorResponses(404) },
  }
  app.patch('/shop/:shop_id', { schema: changing }, async request => {
    await checkChoice(options, request as FastifyRequest, request.body)
    const data = await actOnShop(options, request, 'shop.changed', async (tx, { tenant, id }) => {
      const { body } = request
      const columns = { ...body, business_id: body.merchant_business_id, merchant_business_id: undefined }
      const given = Object.entries(columns).filter(([, value]) => value !== undefined)
      const sets = given.map(([name], index) => `${name} = $${index + 3}`).join(', ')
      const values = [tenant, id, ...given.map(([, value]) => value)]
      await tx.client.query(`update shops set ${sets} where tenant_id = $1 and shop_id = $2`, values)
      // Orders that came before wait for a person, as they did.
      if (body.auto_book !== undefined)
        await tx.client.query(
          `update shop_orders set is_new = false where tenant_id = $1 and shop_id = $2 and is_new`,
          [tenant, id],
        )
      return (await find(tx, request as FastifyRequest, id))[0] as Static<typeof Shop>
    })
    return { message: 'Shop Updated Successfully', data }
  })

  const securing = {
    operationId: 'setShopSecret',
    summary: "Set or make a shop's secret",
    description: `The one before it is accepted for ${previousDays} more days. A secret that is made is shown once.`,
    params: ByShop,
    body: NewShopSecret,
    response: { 200: Type.Object({ data: Type.Object({ secret: nullable }) }), ...errorResponses(404) },
  }
  app.post('/shop/:shop_id/secret', { ...refusesKeys, schema: securing }, async request => {
    const { secret: given } = request.body
    const secret = given ?? randomBytes(24).toString('base64url')
    await actOnShop(options, request, 'shop.secret_changed', async (tx, { tenant, id }) => {
      const { keyId, sealed } = sealSecret(expectKeys(options), tenant, id, secret)
      await tx.client.query(
        `update shops set previous_key_id = key_id, previous_secret = sealed_secret,
          previous_until = now() + interval '${previousDays} days', key_id = $3, sealed_secret = $4, refused_at = null
        where tenant_id = $1 and shop_id = $2`,
        [tenant, id, keyId, sealed],
      )
    })
    return { data: { secret: given === undefined ? secret : null } }
  })

  const listingDeliveries = {
    operationId: 'listShopDeliveries',
    summary: 'List what a shop sent',
    description: 'The newest 100.',
    params: ByShop,
    response: { 200: Type.Object({ data: Type.Array(ShopDelivery) }), ...errorResponses(404) },
  }
  app.get('/shop/:shop_id/deliveries', { schema: listingDeliveries }, async request => {
    const { tenant, merchantId, id } = readShop(request)
    const deliveriesSql = `
      select topic, order_id as shop_order_id, outcome, ${isoTime('received_at')} as received_at from shop_deliveries d
      where tenant_id = $1 and shop_id = $2
        and exists (select from shops where tenant_id = $1 and shop_id = $2 and merchant_id = $3)
      order by d.received_at desc limit 100`
    return { data: await inTenant(pool, tenant, (tx: Tx) => tx.rows(deliveriesSql, [tenant, id, merchantId])) }
  })
}

/** Refuses a business or a city that the merchant cannot choose. */
const checkChoice = async (
  { catalogues }: ReceivingOptions,
  { merchant }: FastifyRequest,
  body: { merchant_business_id?: number; origin_city_id?: number },
) => {
  const { merchantOfBusiness, cities } = await catalogues.fresh(merchant.tenant)
  const { merchant_business_id: business, origin_city_id: city } = body
  const errors: Record<string, string[]> = {}
  if (business !== undefined && merchantOfBusiness.get(String(business)) !== merchant.merchantId)
    errors.merchant_business_id = [selectedInvalid('merchant_business_id')]
  if (city !== undefined && !cities.find({ cityId: String(city) }).city)
    errors.origin_city_id = [selectedInvalid('origin_city_id')]
  if (Object.keys(errors).length > 0) throw invalid(errors)
}
