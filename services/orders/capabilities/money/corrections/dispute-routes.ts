import { acceptJson } from '@courier/shared/edge/json-body.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type pg from 'pg'
import { refuseRoles } from '../../../core/access/merchant.ts'
import { addAction } from '../../../core/actions/action.ts'
import { InvoiceParams } from '../ledger/fields.ts'
import { Dispute, DisputeSettlement, disputeParcels, settleDispute } from './disputes.ts'

const parcels = { params: InvoiceParams, data: Type.Array(Type.String({ examples: ['DM00000001'] })) }

/** Lets staff settle disputes. `onChanged` is called after one is settled, for merchants' webhooks. */
export const disputeRoutes: FastifyPluginAsyncTypebox<{
  pool: pg.Pool
  onChanged: (tenant: string) => void
}> = async (app, { pool, onChanged: onDone }) => {
  acceptJson(app)
  addAction(app, pool, {
    ...parcels,
    path: '/invoice/:invoice_no/dispute/settle',
    operationId: 'settleDispute',
    action: 'invoice.dispute_settled',
    summary: 'Settle the dispute of parcels',
    message: 'Dispute Settled Successfully',
    describeNothing: settled => (settled.length === 0 ? 'A Second Person Must Approve It' : undefined),
    description:
      'Releases what is held, with an adjustment for each parcel: the next invoice of the merchant takes both, or this one if nothing else is left to pay.',
    onDone,
    body: DisputeSettlement,
    act: settleDispute,
  })
}

/** Takes a merchant's disputes. */
export const merchantDisputeRoutes: FastifyPluginAsyncTypebox<{ pool: pg.Pool }> = async (app, { pool }) => {
  refuseRoles(app, 'clerk')
  acceptJson(app)
  addAction(app, pool, {
    ...parcels,
    path: '/invoice/:invoice_no/dispute',
    operationId: 'disputeInvoice',
    action: 'invoice.disputed',
    summary: 'Dispute parcels of a submitted invoice',
    message: 'Parcels Disputed Successfully',
    description:
      'Holds what the parcels add to the total until the courier company settles the dispute; the rest is paid. Makes a new version of the invoice, and a credit note if the total falls.',
    body: Dispute,
    act: disputeParcels,
  })
}
