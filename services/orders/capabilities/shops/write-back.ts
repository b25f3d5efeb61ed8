import { randomUUID } from 'node:crypto'
import { refusesKeys } from '@courier/shared/edge/idempotency.ts'
import { acceptJson } from '@courier/shared/edge/json-body.ts'
import { refuseUnknownFields } from '@courier/shared/edge/validator.ts'
import { errorResponses, invalid } from '@courier/shared/errors/errors.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import { orNull } from '@courier/shared/schemas.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { refuseRoles } from '../../core/access/merchant.ts'
import { isoTime } from '../../core/database/iso-time.ts'
import type { Tx } from '../../core/database/tables.ts'
import { createResolve, findUrlProblem, leadsToPrivate, privateProblem } from '../feed/addresses.ts'
import { addEndpoint, deleteEndpoint } from '../feed/endpoint-queries.ts'
import { catchUp } from '../feed/numbering.ts'
import { sealSecret } from '../feed/secrets.ts'
import { expectKeys, type ReceivingOptions } from './receive.ts'
import { actOnShop, ByShop, readShop } from './shop-routes.ts'

const credential = { maxLength: 255, pattern: '^[\\x21-\\x7e]+$' }
const ShopKeys = Type.Object(
  {
    address: Type.String({ maxLength: 255, description: 'Where the shop is, such as https://shop.example.' }),
    key: Type.String({ ...credential, description: "WooCommerce's consumer key, or Shopify's access token." }),
    secret: Type.Optional(Type.String({ ...credential, description: "WooCommerce's consumer secret." })),
    statuses: Type.Record(
      Type.String({ maxLength: 40, pattern: '^key_\\d{1,3}$' }),
      Type.String({ maxLength: 40, pattern: '^[a-z0-9_-]+$' }),
      {
        description: "The shop's status for ours. Shopify knows `fulfilled` alone.",
      },
    ),
  },
  {
    title: 'ShopKeys',
    examples: [{ address: 'https://shop.example', key: 'ck_1', secret: 'cs_1', statuses: { key_13: 'completed' } }],
  },
)
const SentToShop = Type.Object({
  type: Type.String(),
  waybill_number: orNull(Type.String()),
  state: Type.String({ examples: ['delivered'] }),
  attempts: Type.Integer(),
  code: orNull(Type.Integer()),
  error: orNull(Type.String()),
  last_attempt_at: orNull(Type.String()),
})

/** Holds what is sealed for a shop. */
export interface Credentials {
  readonly kind: string
  readonly key: string
  readonly secret?: string | undefined
  readonly statuses: Readonly<Record<string, string>>
}

/** Lets a merchant give keys with which tracking numbers and statuses go back to the shop. */
export const writeBackRoutes: FastifyPluginAsyncTypebox<
  ReceivingOptions & { readonly allowsPrivate: boolean }
> = async (app, options) => {
  const { pool } = options
  const resolve = options.allowsPrivate ? undefined : createResolve()
  refuseRoles(app, 'clerk')
  acceptJson(app)
  refuseUnknownFields(app)
  const done = { 200: Type.Object({ message: Type.String() }), ...errorResponses(404) }
  const setting = {
    operationId: 'setShopKeys',
    summary: 'Let tracking numbers and statuses go back to the shop',
    description: 'Replaces earlier keys. What happens from now on goes back.',
    params: ByShop,
    body: ShopKeys,
    response: done,
  }
  app.put('/shop/:shop_id/keys', { ...refusesKeys, schema: setting }, async request => {
    const { address, statuses, key, secret } = request.body
    const problem = findUrlProblem(address, options.allowsPrivate)
    if (problem !== undefined) throw invalid({ address: [`The address ${problem}.`] })
    if (resolve && (await leadsToPrivate(address, resolve)))
      throw invalid({ address: [`The address ${privateProblem}.`] })
    await catchUp(pool, request.merchant)
    await actOnShop(options, request, 'shop.keys_changed', async (tx, ref) => {
      const { tenant, merchantId } = ref
      const kind = await readKind(tx, tenant, ref.id)
      refuseWrongKeys(kind, request.body)
      await removeEndpoint(tx, ref)
      const id = randomUUID()
      const sealed = sealSecret(expectKeys(options), tenant, id, JSON.stringify({ kind, key, secret, statuses }))
      const endpoint = { url: new URL(address).href, events: [...events], secret: sealed, target: 'shop' }
      await addEndpoint(tx, { tenant, merchantId, id }, endpoint)
      const linkedSql = 'update shops set endpoint_id = $3 where tenant_id = $1 and shop_id = $2'
      await tx.client.query(linkedSql, [tenant, ref.id, id])
    })
    return { message: 'Shop Keys Updated Successfully' }
  })

  const forgetting = {
    operationId: 'deleteShopKeys',
    summary: 'Forget the keys of a shop',
    params: ByShop,
    response: done,
  }
  app.delete('/shop/:shop_id/keys', { schema: forgetting }, async request => {
    await actOnShop(options, request, 'shop.keys_changed', removeEndpoint)
    return { message: 'Shop Keys Deleted Successfully' }
  })

  const removing = {
    operationId: 'removeShop',
    summary: 'Disconnect a shop',
    description: 'Forgets its orders that are not booked. Remove the webhook in the shop, too.',
    params: ByShop,
    response: done,
  }
  app.delete('/shop/:shop_id', { schema: removing }, async request => {
    await actOnShop(options, request, 'shop.removed', async (tx, ref) => {
      await removeEndpoint(tx, ref)
      const values = [ref.tenant, ref.id]
      const unbooked = `shop_orders where tenant_id = $1 and shop_id = $2 and state not in ('booking', 'booked')`
      await tx.client.query(`delete from ${unbooked}`, values)
      await tx.client.query('delete from shop_deliveries where tenant_id = $1 and shop_id = $2', values)
      await tx.client.query('delete from shops where tenant_id = $1 and shop_id = $2', values)
    })
    return { message: 'Shop Deleted Successfully' }
  })

  const listing = {
    operationId: 'listSentToShop',
    summary: 'List what went back to the shop',
    description: 'The newest 100 of the last 7 days; refused ones with the reason.',
    params: ByShop,
    response: { 200: Type.Object({ data: Type.Array(SentToShop) }), ...errorResponses(404) },
  }
  app.get('/shop/:shop_id/sent', { schema: listing }, async request => {
    const { tenant, merchantId, id } = readShop(request)
    const sentSql = `
      select d.type, nullif(d.waybill_number, '') as waybill_number, d.state, d.attempts, d.code,
        coalesce(d.error, case when d.code >= 300 then d.response_body end) as error,
        ${isoTime('d.last_attempt_at')} as last_attempt_at
      from webhook_deliveries d join shops on shops.tenant_id = d.tenant_id and shops.endpoint_id = d.endpoint_id
      where d.tenant_id = $1 and shops.shop_id = $2 and shops.merchant_id = $3 and d.attempts > 0
        and d.code is distinct from ${nothingToSay} order by d.position desc limit 100`
    return { data: await inTenant(pool, tenant, (tx: Tx) => tx.rows(sentSql, [tenant, id, merchantId])) }
  })
}

const events = ['order.created', 'order.status_changed'] as const
/** Marks events that mean nothing to the shop: nothing was sent. */
export const nothingToSay = 204

const readKind = async (tx: Tx, tenant: string, id: string): Promise<string> =>
  (await tx.rows('select kind from shops where tenant_id = $1 and shop_id = $2', [tenant, id]))[0]?.kind

const refuseWrongKeys = (kind: string, { secret, statuses }: { secret?: string; statuses: Record<string, string> }) => {
  const errors: Record<string, string[]> = {}
  if (kind === 'woocommerce' && !secret) errors.secret = ['The secret field is required.']
  if (kind === 'shopify')
    for (const [key, status] of Object.entries(statuses))
      if (status !== 'fulfilled') errors[`statuses.${key}`] = ['Shopify knows the status fulfilled alone.']
  if (Object.keys(errors).length > 0) throw invalid(errors)
}

const removeEndpoint = async (
  tx: Tx,
  { tenant, merchantId, id }: { tenant: string; merchantId: string; id: string },
) => {
  const foundSql = 'select endpoint_id from shops where tenant_id = $1 and shop_id = $2'
  const [row] = await tx.rows(foundSql, [tenant, id])
  if (!row?.endpoint_id) return
  await deleteEndpoint(tx, { tenant, merchantId, id: row.endpoint_id })
  await tx.client.query('update shops set endpoint_id = null where tenant_id = $1 and shop_id = $2', [tenant, id])
}
