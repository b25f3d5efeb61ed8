import { acceptJson } from '@courier/shared/edge/json-body.ts'
import { audit } from '@courier/shared/postgres/audit.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from '@sinclair/typebox'
import type pg from 'pg'
import { refuseRoles } from '../../../core/access/merchant.ts'
import { type Acted, addAction, type Call, defineBody, refuse } from '../../../core/actions/action.ts'
import type { Tx } from '../../../core/database/tables.ts'
import { InvoiceParams } from '../ledger/fields.ts'
import { rightFields } from './charges.ts'
import { makeCorrection } from './corrections.ts'
import { Dispute, disputeLines } from './disputes.ts'
import { DisputeSettlement, noAdjustment, settleDispute } from './settlements.ts'

const ChargesSettlement = defineBody('DisputeSettlement', { ...DisputeSettlement.properties, ...rightFields() })

/**
 * Settles a dispute; right charges make a correction of charges for each parcel, which a second person approves, in
 * place of an adjustment.
 */
const settleWithCharges = async (tx: Tx, call: Call<Static<typeof ChargesSettlement>>): Promise<Acted<string[]>> => {
  const { waybill_numbers = [], line_nos, reason, adjustment, ...charges } = call.body
  const isOfCharges = Object.keys(charges).length > 0
  if (isOfCharges && adjustment !== undefined)
    return refuse('adjustment', 'Leave this out: the right charges say what the merchant gets.')
  if (isOfCharges && line_nos) return refuse('line_nos', noAdjustment)
  const settled = await settleDispute(tx, call)
  if (settled.kind !== 'done' || !isOfCharges) return settled
  for (const waybill_number of waybill_numbers) {
    const wanted = { kind: 'charges' as const, waybill_number, ...charges, reason }
    const made = await makeCorrection(tx, { ...call, body: wanted })
    if (made.kind !== 'done')
      return made.kind === 'refused' ? refuse('waybill_numbers', Object.values(made.errors).flat().join(' ')) : made
    await audit(tx, call.tenant, call.by, 'correction.made', made.objects)
  }
  return settled
}

const parcels = {
  params: InvoiceParams,
  data: Type.Array(Type.String({ description: 'A waybill number, or `line 1`.', examples: ['DM00000001'] })),
}

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
    summary: 'Settle the dispute of parcels or lines',
    message: 'Dispute Settled Successfully',
    describeNothing: settled => (settled.length === 0 ? 'A Second Person Must Approve It' : undefined),
    description:
      'Releases what is held, with an adjustment for each parcel: the next invoice of the merchant takes both, or this one if nothing else is left to pay. Right charges ask for a correction of charges, which a second person approves, in place of an adjustment.',
    onDone,
    body: ChargesSettlement,
    act: settleWithCharges,
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
    summary: 'Dispute parcels or lines of a submitted invoice',
    message: 'Parcels Disputed Successfully',
    description:
      'Holds what the parcels, and lines without a parcel, add to the total until the courier company settles the dispute; the rest is paid. Makes a new version of the invoice, and a credit note if the total falls. Disputed charges of a tax invoice, which never changes, are paid with the remittance that sets it off, or with the next one.',
    body: Dispute,
    act: disputeLines,
  })
}
