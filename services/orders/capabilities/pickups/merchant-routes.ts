import { refusesKeys } from '@courier/shared/edge/idempotency.ts'
import { acceptJson } from '@courier/shared/edge/json-body.ts'
import { errorResponses, invalid, notFound } from '@courier/shared/errors/errors.ts'
import { audit } from '@courier/shared/postgres/audit.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { addAction } from '../../core/actions/action.ts'
import type { Tx } from '../../core/database/tables.ts'
import { addAddress, deleteAddress, listAddresses } from './addresses.ts'
import { withdrawPickup } from './hand-over.ts'
import { type PickupOptions, receiptResponse, sendReceipt } from './receipt.ts'
import { readPickups, requestPickup } from './requests.ts'
import { Address, IdParams, NewAddress, Pickup, PickupRequest } from './schema.ts'

/** Serves a merchant's addresses and pickups (docs/merchants/pickups.md). */
export const merchantPickupRoutes: FastifyPluginAsyncTypebox<PickupOptions> = async (app, core) => {
  const { pool, onChanged } = core
  acceptJson(app)
  addAction(app, pool, {
    path: '/pickup-address',
    operationId: 'addPickupAddress',
    action: 'pickup.address_added',
    summary: 'Add an address where parcels are fetched',
    message: 'Pickup Address Added Successfully',
    body: NewAddress,
    data: Address,
    act: addAddress,
  })
  const addresses = {
    operationId: 'listPickupAddresses',
    summary: 'List the addresses where parcels are fetched',
    response: { 200: Type.Object({ data: Type.Array(Address) }) },
  }
  app.get('/pickup-address', { schema: addresses }, async ({ merchant: { tenant, merchantId } }) => ({
    data: await inTenant(pool, tenant, (tx: Tx) => listAddresses(tx, tenant, merchantId)),
  }))
  addAction(app, pool, {
    path: '/pickup',
    operationId: 'requestPickup',
    action: 'pickup.requested',
    summary: 'Ask for a pickup',
    description: 'A request for the address and day of an open one is added to it.',
    message: 'Pickup Requested Successfully',
    body: PickupRequest,
    data: Pickup,
    act: requestPickup,
    onDone: onChanged,
  })
  const list = {
    operationId: 'listPickups',
    summary: 'List the newest 500 pickups',
    response: { 200: Type.Object({ data: Type.Array(Pickup) }) },
  }
  app.get('/pickup', { schema: list }, async ({ merchant: { tenant, merchantId } }) => ({
    data: await inTenant(pool, tenant, (tx: Tx) => readPickups(tx, tenant, { merchantId })),
  }))
  const receipt = {
    operationId: 'printPickupReceipt',
    summary: 'Print the receipt of a pickup that is done',
    params: IdParams,
    response: receiptResponse,
  }
  app.get('/pickup/:id/receipt', { schema: receipt }, ({ merchant: { tenant, merchantId }, params: { id } }, reply) =>
    sendReceipt(core, reply, { tenant, id, merchantId }),
  )
  const removed = { 200: Type.Object({ message: Type.String({ examples: ['success'] }) }), ...errorResponses(404, 422) }
  const withdraw = {
    operationId: 'withdrawPickup',
    summary: 'Withdraw an open pickup',
    params: IdParams,
    response: removed,
  }
  app.delete('/pickup/:id', { ...refusesKeys, schema: withdraw }, async ({ merchant, params: { id } }) => {
    const { tenant, merchantId, person, actor: by } = merchant
    const call = { tenant, merchantId, person, by, id, body: undefined }
    await inTenant(pool, tenant, async (tx: Tx) => {
      const acted = await withdrawPickup(tx, call)
      if (acted.kind === 'refused') throw invalid(acted.errors)
      if (acted.kind === 'unknown') throw notFound(acted.what)
      await audit(tx, tenant, by, 'pickup.withdrawn', id)
    })
    return { message: 'success' }
  })
  const remove = {
    operationId: 'deletePickupAddress',
    summary: 'Delete an address that no open pickup needs',
    params: IdParams,
    response: removed,
  }
  app.delete('/pickup-address/:id', { ...refusesKeys, schema: remove }, async ({ merchant, params: { id } }) => {
    const { tenant, merchantId, actor } = merchant
    await inTenant(pool, tenant, async (tx: Tx) => {
      const deleted = await deleteAddress(tx, tenant, merchantId, id)
      if (!deleted) throw notFound('pickup address')
      if (deleted !== true) throw invalid({ id: [deleted] })
      await audit(tx, tenant, actor, 'pickup.address_deleted', id)
    })
    return { message: 'success' }
  })
}
