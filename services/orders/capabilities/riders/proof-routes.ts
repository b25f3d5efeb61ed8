import { hash } from 'node:crypto'
import { isTenantId } from '@courier/shared/access/authenticate.ts'
import { errorResponses, notFound } from '@courier/shared/errors/errors.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type TSchema, Type } from '@sinclair/typebox'
import type { FastifyInstance, FastifyReply } from 'fastify'
import type pg from 'pg'
import { readScope } from '../../core/access/merchant.ts'
import type { Catalogues } from '../../core/catalogue/catalogue.ts'
import type { Tx } from '../../core/database/tables.ts'
import type { FindOrder } from '../../core/tracking/read-orders.ts'
import type { Image } from './images.ts'
import { imageHeaders, listProofs, ProofView, readProofImage, StaffProofView } from './proofs.ts'

interface ProofOptions {
  readonly pool: pg.Pool
  readonly findOrder: FindOrder
  readonly catalogues: Catalogues
}

const Waybill = Type.String({ maxLength: 100, description: 'The waybill number.' })
const Id = Type.String({ maxLength: 18, pattern: '^[1-9][0-9]*$', must: 'be the id of a proof' })
const Bytes = Type.Unsafe<unknown>({ type: 'string', format: 'binary', description: 'The image.', title: 'ProofImage' })
const content = Object.fromEntries(['image/jpeg', 'image/png', 'image/webp'].map(type => [type, { schema: Bytes }]))
const asImage = { 200: { description: 'The image.', content }, ...errorResponses(404, 422) }

const sendImage = (reply: FastifyReply, image: Image | undefined) => {
  if (!image) throw notFound('proof')
  return reply
    .headers(imageHeaders)
    .type(image.type)
    .send(image.bytes as never)
}

const addProofs = (
  app: FastifyInstance,
  { pool, findOrder }: ProofOptions,
  names: readonly [list: string, image: string],
  View: TSchema,
) => {
  const isForStaff = View === StaffProofView
  const find = async (request: Parameters<typeof readScope>[0], waybill: string) => {
    const { tenant, merchantId } = readScope(request)
    const order = await findOrder(tenant, waybill, merchantId)
    if (!order) throw notFound('waybill')
    return { tenant, waybill: order.row.waybill_number }
  }
  const listing = {
    operationId: names[0],
    summary: 'List the proofs of a delivery or a failed delivery',
    params: Type.Object({ waybill: Waybill }),
    response: { 200: Type.Object({ data: Type.Array(View) }), ...errorResponses(404) },
  }
  app.get<{ Params: { waybill: string } }>('/order/:waybill/proofs', { schema: listing }, async request => {
    const { tenant, waybill } = await find(request, request.params.waybill)
    const proofs = await inTenant(pool, tenant, (tx: Tx) => listProofs(tx, tenant, waybill))
    if (isForStaff) return { data: proofs }
    const applied = proofs.filter(({ is_applied }) => is_applied)
    return { data: applied.map(({ reason: _, rider: __, is_applied: ___, ...proof }) => proof) }
  })
  const showing = {
    operationId: names[1],
    summary: 'Show the image of a proof',
    params: Type.Object({ waybill: Waybill, id: Id }),
    response: asImage,
  }
  app.get<{ Params: { waybill: string; id: string } }>(
    '/order/:waybill/proofs/:id',
    { schema: showing },
    async (request, reply) => {
      const { id } = request.params
      const { tenant, waybill } = await find(request, request.params.waybill)
      const image = await inTenant(pool, tenant, (tx: Tx) => readProofImage(tx, tenant, waybill, id, !isForStaff))
      return sendImage(reply, image)
    },
  )
}

export const staffProofRoutes: FastifyPluginAsyncTypebox<ProofOptions> = async (app, options) =>
  addProofs(app, options, ['listProofs', 'getProof'], StaffProofView)
export const merchantProofRoutes: FastifyPluginAsyncTypebox<ProofOptions> = async (app, options) =>
  addProofs(app, options, ['listOrderProofs', 'getOrderProof'], ProofView)

const signedMinutes = 60

/** Signs the address of one image for an hour, with 66 bits. */
const sign = (key: string, waybill: string, id: string, end: number): string =>
  hash('sha256', `${key} proof ${waybill} ${id} ${end}`, 'base64url').slice(0, 11)

export const writeProofUrl = (publicUrl: string, tenant: string, key: string, waybill: string, id: string): string => {
  const end = Math.ceil(Date.now() / 60_000) + signedMinutes
  const base = publicUrl.replace(/\/$/, '')
  return `${base}/api/public/proof/${tenant}/${encodeURIComponent(waybill)}/${id}/${end}/${sign(key, waybill, id, end)}`
}

const isTenant = async (pool: ProofOptions['pool'], tenant: string): Promise<boolean> => {
  const found = (tx: Tx) => tx.rows('select from tenants where tenant_id = $1', [tenant])
  return isTenantId.test(tenant) && (await inTenant(pool, tenant, found)).length > 0
}

/** Shows the picture of a door to whoever has its signed address. */
export const publicProofRoutes: FastifyPluginAsyncTypebox<ProofOptions> = async (app, { pool, catalogues }) => {
  const schema = {
    tags: ['public'],
    operationId: 'showSignedProof',
    summary: 'Show a picture of the door, by its signed address',
    params: Type.Object({
      tenant: Type.String({ maxLength: 63 }),
      waybill: Waybill,
      id: Id,
      end: Type.String({ maxLength: 12, pattern: '^[0-9]+$' }),
      signature: Type.String({ maxLength: 20 }),
    }),
    response: { ...asImage, ...errorResponses(429, 503) },
  }
  app.get('/api/public/proof/:tenant/:waybill/:id/:end/:signature', { schema }, async ({ params }, reply) => {
    const { tenant, waybill, id, signature } = params
    const end = Number(params.end)
    const catalogue = (await isTenant(pool, tenant)) ? await catalogues.current(tenant) : undefined
    const isSigned = catalogue?.linkKeys.some(key => sign(key, waybill, id, end) === signature)
    const image =
      isSigned && end * 60_000 > Date.now()
        ? await inTenant(pool, tenant, (tx: Tx) => readProofImage(tx, tenant, waybill, id, true, 'photo'))
        : undefined
    return sendImage(reply, image)
  })
}
