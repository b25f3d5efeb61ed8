import { acceptJson } from '@courier/shared/edge/json-body.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type pg from 'pg'
import { addAction, bodyOf } from './action.ts'
import { Amount, Reason, Waybills } from './collection.ts'
import { compensate, disputeParcels, settleDispute } from './disputes.ts'

const InvoiceParams = Type.Object({
  invoice_no: Type.String({ maxLength: 100, description: 'One of its two numbers.' }),
})
const Parcels = Type.Array(Type.String({ examples: ['DM00000001'] }))
const path = '/invoice/:invoice_no/dispute'

/** Takes disputes of merchants. */
export const disputeRoutes: FastifyPluginAsyncTypebox<{ pool: pg.Pool }> = async (app, { pool }) => {
  acceptJson(app)
  addAction(app, pool, {
    path,
    params: InvoiceParams,
    operationId: 'disputeInvoice',
    action: 'invoice.disputed',
    summary: 'Dispute parcels of a submitted invoice',
    message: 'Parcels Disputed Successfully',
    description: 'Holds what they add to the total until the courier company settles it; the rest goes on.',
    body: bodyOf('Dispute', { waybill_numbers: Waybills, reason: Reason }),
    data: Parcels,
    act: (
      tx,
      { tenant, merchantId, params: { invoice_no: number = '' }, body: { waybill_numbers: waybills, reason } },
    ) => disputeParcels(tx, tenant, { number, merchantId: merchantId ?? '', waybills, reason: reason.trim() }),
  })
}

/** Settles disputes, and compensates for lost parcels. */
export const lineRoutes: FastifyPluginAsyncTypebox<{ pool: pg.Pool }> = async (app, { pool }) => {
  acceptJson(app)
  addAction(app, pool, {
    path: `${path}/settle`,
    params: InvoiceParams,
    operationId: 'settleDispute',
    action: 'invoice.dispute_settled',
    summary: 'Settle the dispute of parcels',
    message: 'Dispute Settled Successfully',
    description:
      'Releases what is held, with an adjustment for each parcel: the next invoice of the merchant takes it.',
    body: bodyOf('DisputeSettlement', {
      waybill_numbers: Waybills,
      adjustment: Type.Optional({
        ...Amount,
        minimum: -9_999_999_999.99,
        must: 'be an amount',
        description: 'The merchant gets this more; below zero, less.',
        examples: [100],
      }),
      reason: Reason,
    }),
    data: Parcels,
    act: (
      tx,
      { tenant, by, params: { invoice_no: number = '' }, body: { waybill_numbers: waybills, adjustment = 0, reason } },
    ) => settleDispute(tx, tenant, { number, waybills, adjustment, by: by.name, reason: reason.trim() }),
  })
  addAction(app, pool, {
    path: '/compensation',
    operationId: 'compensateParcel',
    action: 'parcel.compensated',
    summary: 'Owe a merchant an amount for a lost parcel',
    message: 'Parcel Compensated Successfully',
    description: 'Works once for a parcel. The next invoice of the merchant takes it.',
    body: bodyOf('Compensation', { waybill_number: Waybills.items, amount: Amount, reason: Reason }),
    data: Type.Object({ waybill_number: Type.String(), amount: Amount }, { title: 'Compensated' }),
    act: (tx, { tenant, by, body: { waybill_number: waybill, amount, reason } }) =>
      compensate(tx, tenant, by.name, { waybill, amount, reason: reason.trim() }),
  })
}
