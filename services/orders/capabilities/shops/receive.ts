import { hash } from 'node:crypto'
import { isTenantId } from '@courier/shared/access/authenticate.ts'
import { refusal } from '@courier/shared/edge/addresses.ts'
import { isCostlyJson, parseJson } from '@courier/shared/edge/json-body.ts'
import { errorResponses, httpError } from '@courier/shared/errors/errors.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import type { Keyring } from '@courier/shared/vault.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type { FastifyRequest } from 'fastify'
import type pg from 'pg'
import type { Catalogues } from '../../core/catalogue/catalogue.ts'
import type { Tx } from '../../core/database/tables.ts'
import { findShop, isSigned, type Kind, openSecrets, type Shop, storeDelivery, touchShop } from './queries.ts'
import { readShopify } from './read-shopify.ts'
import { readWooCommerce } from './read-woocommerce.ts'
import { readObject, readText, type ShopOrder } from './shop-order.ts'

export interface ReceivingOptions {
  readonly pool: pg.Pool
  readonly catalogues: Catalogues
  readonly keyring: Keyring | undefined
  /** Is called after an order was stored. */
  readonly onOrder: () => void
}

/** Names the headers in which each shop says what it sends; a repeat keeps its id. */
const headersOf: Readonly<Record<Kind, { signature: string; id: string; topic: string }>> = {
  woocommerce: { signature: 'x-wc-webhook-signature', id: 'x-wc-webhook-delivery-id', topic: 'x-wc-webhook-topic' },
  shopify: { signature: 'x-shopify-hmac-sha256', id: 'x-shopify-webhook-id', topic: 'x-shopify-topic' },
}
const readers = { woocommerce: readWooCommerce, shopify: readShopify }

const maxBytes = 5_242_880
const manyValues = 200_000
const Params = Type.Object({ tenant: Type.String(), shop_id: Type.String() })
export const isShopId = /^[\w-]{22}$/

/**
 * Takes what shops send. Refuses only what the shop's secret did not sign: a shop stops sending after a few refusals,
 * so an order that nobody can read is stored as such and shown.
 */
export const receivingRoutes: FastifyPluginAsyncTypebox<ReceivingOptions> = async (app, options) => {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, bytes, done) => done(null, bytes))
  const schema = {
    operationId: 'receiveShopOrder',
    tags: ['webhooks'],
    summary: 'Take an order of a shop (docs/merchants/shops.md)',
    description: "WooCommerce or Shopify sends this by itself, signed with the shop's secret.",
    security: [],
    params: Params,
    response: { 200: Type.Object({ message: Type.String() }), ...errorResponses(401, 413) },
  }
  app.post('/webhooks/shops/:tenant/:shop_id', { bodyLimit: maxBytes, schema }, async request => {
    const { tenant, shop_id: id } = request.params
    const { pool } = options
    const find = () => inTenant(pool, tenant, (tx: Tx) => findShop(tx, tenant, id))
    const shop = isTenantId.test(tenant) && isShopId.test(id) ? await find() : undefined
    if (!shop) throw refusal(request, unsigned())
    const bytes = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0)
    const signature = request.headers[headersOf[shop.kind].signature]
    if (signature === undefined && shop.kind === 'woocommerce' && isPing(bytes)) {
      await inTenant(pool, tenant, (tx: Tx) => touchShop(tx, tenant, id, 'pinged_at'))
      return { message: 'The address is right.' }
    }
    if (!isSigned(bytes, String(signature), openSecrets(expectKeys(options), tenant, shop))) {
      await inTenant(pool, tenant, (tx: Tx) => touchShop(tx, tenant, id, 'refused_at'))
      throw refusal(request, unsigned())
    }
    return { message: await take(options, request, shop, bytes) }
  })
}

const unsigned = () =>
  httpError('unauthenticated', 'No shop has this address, or its secret did not sign the body: compare both.')

export const expectKeys = ({ keyring }: Pick<ReceivingOptions, 'keyring'>): Keyring => {
  if (keyring) return keyring
  throw httpError('unavailable', 'Shops are not set up: the setting WEBHOOK_KEYS of orders is missing.', {
    retryAfterSeconds: 60,
  })
}

/** Returns true for the form that WooCommerce sends, unsigned, when a person saves the webhook. */
const isPing = (bytes: Buffer): boolean => bytes.length < 64 && /^webhook_id=\d+$/.test(bytes.toString('latin1'))

const take = async (
  { pool, catalogues, onOrder }: ReceivingOptions,
  request: FastifyRequest<{ Params: { tenant: string; shop_id: string } }>,
  shop: Shop,
  bytes: Buffer,
): Promise<string> => {
  const { tenant } = request.params
  const names = headersOf[shop.kind]
  const given = readText(request.headers[names.id])
  // A sender that gives no id repeats the same bytes.
  const delivery = {
    id: given.slice(0, 200) || hash('sha256', bytes),
    topic: readText(request.headers[names.topic]).slice(0, 100),
  }
  const order = readOrder(shop.kind, delivery.topic, bytes, await catalogues.current(tenant))
  const outcome = await inTenant(pool, tenant, (tx: Tx) => storeDelivery(tx, tenant, shop, delivery, order))
  request.log.info({ shop_id: shop.shop_id, delivery_id: delivery.id, outcome }, 'shop_order.received')
  if (outcome === 'stored') onOrder()
  return outcome
}

const readOrder = (
  kind: Kind,
  topic: string,
  bytes: Buffer,
  company: { currency: string; country: string },
): ShopOrder | { id: string } | undefined => {
  if (isCostlyJson(bytes, manyValues)) return undefined
  const parsed = parseJson(bytes)
  if (parsed.kind !== 'json') return undefined
  const body = readObject(parsed.value)
  // Drafts, subscriptions and fulfilments look like orders, and have ids of their own.
  if (topic !== '' && !/^orders?[./]/.test(topic)) return undefined
  if (/^orders?[./]deleted?$/.test(topic)) return { id: readText(body.id) }
  return readers[kind](body, company)
}
