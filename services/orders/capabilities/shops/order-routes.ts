import {
  IdempotentHeaders,
  keyRefused,
  markReplayed,
  readIdempotencyKey,
  refusesKeys,
} from '@courier/shared/edge/idempotency.ts'
import { acceptJson } from '@courier/shared/edge/json-body.ts'
import { httpError, invalid } from '@courier/shared/errors/errors.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import { component, oneOf, orNull } from '@courier/shared/schemas.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from '@sinclair/typebox'
import type { Merchant } from '../../core/access/merchant.ts'
import { type BookingDependencies, quoteOrders } from '../../core/booking/book.ts'
import { Created, createdMessage, GeneralData, OrderData } from '../../core/booking/schema.ts'
import type { MissingRate } from '../../core/catalogue/price-parcels.ts'
import type { Tx } from '../../core/database/tables.ts'
import { bookShopOrders, maxOrders, readBatch, type ShopBooked, type ShopBooking } from './book.ts'
import { orderColumns, type StoredOrder } from './queries.ts'
import type { Said } from './shop-order.ts'

export interface ShopOrderOptions extends BookingDependencies {
  readonly onBooked: (tenant: string, orders: number) => void
  readonly onRefused: (merchant: Merchant, missing: readonly MissingRate[]) => void
}

const states = ['waiting', 'stays', 'put_away', 'booked', 'changed'] as const
const maxListed = 1_000

const Differences = Type.Array(
  Type.Object({ field: Type.String(), booked: orNull(Type.String()), now: orNull(Type.String()) }),
  { description: 'What the shop says now and said when the order was booked.' },
)
const ShopOrderRow = component('ShopOrderRow', {
  shop_id: Type.String(),
  shop_order_id: Type.String(),
  state: Type.String({ examples: ['waiting'] }),
  values: Type.Record(Type.String(), Type.String(), { description: 'The fields of a parcel, as the shop says them.' }),
  marks: Type.Array(Type.Object({ field: Type.String(), code: Type.String() }, { additionalProperties: true }), {
    description: 'Doubts; those with `ask` wait for a person.',
  }),
  stays: orNull(Type.String({ examples: ['cancelled'] }), { description: 'Why the order is no parcel now.' }),
  waybill_number: orNull(Type.String()),
  differences: Differences,
  received_at: Type.String(),
})
const Reference = Type.Object({
  shop_id: Type.String({ maxLength: 40, pattern: '^[\\w-]+$' }),
  shop_order_id: Type.String({ maxLength: 40, pattern: '^[\\w-]+$' }),
})
const Settle = Type.Object({
  orders: Type.Array(Reference, { minItems: 1, maxItems: maxOrders }),
  as: oneOf(['put_away', 'waiting', 'seen'] as const),
})

const seenAt = { description: 'The received_at of the row: an order that the shop changed since is refused.' }
const ShopBatch = Type.Object(
  {
    general_data: GeneralData,
    order_data: Type.Array(
      Type.Object(
        { ...OrderData.properties, ...Reference.properties, seen_at: Type.String(seenAt) },
        { title: 'ShopParcel' },
      ),
      { minItems: 1, maxItems: maxOrders },
    ),
  },
  { title: 'ShopBatch' },
)

const isOfState = {
  waiting: `state = 'waiting'`,
  stays: `state = 'stays'`,
  put_away: `state = 'put_away'`,
  booked: `state = 'booked'`,
  changed: 'is_changed',
}

/** Lists what shops sent, books it, and puts it away. */
export const shopOrderRoutes: FastifyPluginAsyncTypebox<ShopOrderOptions> = async (app, options) => {
  const { pool } = options
  acceptJson(app)
  const listing = {
    operationId: 'listShopOrders',
    summary: 'List orders that your shops sent',
    description: `The oldest ${maxListed} of the state; booked ones the newest.`,
    querystring: Type.Object({ state: Type.Optional(oneOf(states)) }),
    response: { 200: Type.Object({ data: Type.Array(ShopOrderRow) }) },
  }
  app.get('/shop-order', { serializerCompiler: () => JSON.stringify, schema: listing }, async ({ merchant, query }) => {
    const { state = 'waiting' } = query
    const listSql = `select ${orderColumns} from shop_orders o where tenant_id = $1 and merchant_id = $2
      and ${isOfState[state]} order by o.received_at ${state === 'booked' ? 'desc' : ''}, order_id limit ${maxListed}`
    const values = [merchant.tenant, merchant.merchantId]
    const rows = await inTenant(pool, merchant.tenant, (tx: Tx) => tx.rows<StoredOrder & object>(listSql, values))
    return { data: rows.map(view) }
  })

  const booking = {
    operationId: 'bookShopOrders',
    summary: 'Book orders that your shops sent',
    description: 'Works like the bulk request. Each order names the order of the shop, which is booked once.',
    headers: IdempotentHeaders,
    body: ShopBatch,
    response: { 200: Created },
  }
  await app.register(async bookings => {
    bookings.setValidatorCompiler(() => () => true)
    bookings.post('/shop-order/book', { bodyLimit: 4_194_304, schema: booking }, async (request, reply) => {
      const { merchant } = request
      const read = readBatch(request.body, request.rawBody)
      if (read.kind === 'malformed') throw httpError('malformed_request', read.message)
      if (read.kind === 'refused') {
        const quoted = await quoteOrders(options, { ...merchant, ...read })
        throw quoted.kind === 'refused'
          ? invalid(quoted.errors, { suggestions: quoted.suggestions })
          : invalid(read.errors)
      }
      const body = readReferences(request.body)
      const key = readIdempotencyKey(request, 'shops')?.key
      const booked = await bookShopOrders(options, { ...merchant, body, key })
      if (booked.kind === 'booked' && !booked.replayed) options.onBooked(merchant.tenant, booked.waybills.length)
      if (booked.kind === 'booked') markReplayed(reply, booked.replayed)
      if (booked.kind === 'refused') options.onRefused(merchant, booked.missingRates)
      return respond(booked)
    })
  })

  const settling = {
    operationId: 'settleShopOrders',
    summary: 'Put orders of your shops away, take them back, or say that a change is seen',
    body: Settle,
    response: { 200: Type.Object({ message: Type.String(), data: Type.Object({ orders: Type.Integer() }) }) },
  }
  app.post(
    '/shop-order/settle',
    { ...refusesKeys, bodyLimit: 131_072, schema: settling },
    async ({ merchant, body }) => {
      const [shops, ids] = [body.orders.map(each => each.shop_id), body.orders.map(each => each.shop_order_id)]
      const { rowCount } = await inTenant(pool, merchant.tenant, (tx: Tx) =>
        tx.client.query(settleSql[body.as], [merchant.tenant, merchant.merchantId, shops, ids]),
      )
      return { message: 'Orders Updated Successfully', data: { orders: rowCount ?? 0 } }
    },
  )
}

const ofOrdersSql = `from unnest($3::text[], $4::text[]) as each (shop, id)
  where o.tenant_id = $1 and o.merchant_id = $2 and o.shop_id = each.shop and o.order_id = each.id`
const settleSql = {
  put_away: `update shop_orders o set state = 'put_away' ${ofOrdersSql} and o.state in ('waiting', 'stays')`,
  waiting: `update shop_orders o set state = 'waiting' ${ofOrdersSql} and o.state in ('put_away', 'stays')`,
  seen: `update shop_orders o set is_changed = false, booked_as = said ${ofOrdersSql} and o.state = 'booked'`,
}

const view = ({ said, booked_as, order_id, is_changed, ...row }: StoredOrder): Static<typeof ShopOrderRow> => ({
  ...row,
  shop_order_id: order_id,
  values: said.values,
  marks: [...said.marks],
  stays: said.stays ?? null,
  differences: is_changed && booked_as ? compare(booked_as.values, said.values) : [],
})

const compare = (booked: Said['values'], now: Said['values']) =>
  [...new Set([...Object.keys(booked), ...Object.keys(now)])]
    .filter(field => booked[field] !== now[field])
    .map(field => ({ field, booked: booked[field] ?? null, now: now[field] ?? null }))

/** Reads which orders of shops a batch names. Its shape is right but for these. */
const readReferences = (body: unknown): ShopBooking['body'] => {
  const { order_data, ...general } = body as ShopBooking['body']
  const errors: Record<string, string[]> = {}
  for (const [index, order] of order_data.entries())
    for (const name of ['shop_id', 'shop_order_id', 'seen_at'] as const)
      if (typeof order[name] !== 'string' || !/^[\w:.-]{1,40}$/.test(order[name]))
        errors[`order_data.${index}.${name}`] = [`The ${name.replaceAll('_', ' ')} field is required.`]
  if (Object.keys(errors).length > 0) throw invalid(errors)
  return { ...general, order_data }
}

const respond = (booked: ShopBooked): Static<typeof Created> => {
  switch (booked.kind) {
    case 'booked':
      return {
        message: createdMessage,
        data: [...booked.waybills],
        ...(Object.keys(booked.warnings).length > 0 && { warnings: booked.warnings }),
      }
    case 'claimed':
      throw invalid(booked.errors)
    case 'refused':
      throw invalid(booked.errors, { suggestions: booked.suggestions })
    case 'running':
    case 'other_body':
      throw keyRefused(booked.kind, 'batch')
    case 'busy':
      throw httpError('unavailable', 'The catalogue kept changing. Nothing was booked; repeat the request.', {
        retryAfterSeconds: 1,
      })
  }
}
