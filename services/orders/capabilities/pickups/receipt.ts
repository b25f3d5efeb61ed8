import { errorResponses, httpError, notFound } from '@courier/shared/errors/errors.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import { Type } from '@sinclair/typebox'
import type { FastifyReply } from 'fastify'
import type { Tx } from '../../core/database/tables.ts'
import type { ChangeOptions } from '../../core/moves/move.ts'
import type { Paper } from '../labels/draw-paper.ts'
import type { Printer } from '../labels/printer.ts'
import { sendPdf } from '../labels/routes.ts'
import { readPickups } from './requests.ts'
import type { Pickup } from './schema.ts'

/** Documents the response of `sendReceipt`. */
export const receiptResponse = {
  ...errorResponses(404, 422),
  200: {
    description: 'A PDF with pages of A4.',
    content: { 'application/pdf': { schema: Type.String({ description: 'Binary.', examples: ['%PDF-1.3'] }) } },
  },
}

export interface PickupOptions extends ChangeOptions {
  readonly printer: Printer
}

interface Wanted {
  readonly tenant: string
  readonly id: string
  /** undefined: staff. */
  readonly merchantId?: string
}

/** Draws the receipt of a pickup that is done, in the thread that labels share. */
export const sendReceipt = async (options: PickupOptions, reply: FastifyReply, { tenant, ...wanted }: Wanted) => {
  const { pool, catalogues, printer } = options
  const [pickup] = await inTenant(pool, tenant, (tx: Tx) => readPickups(tx, tenant, wanted))
  if (!pickup) throw notFound('pickup')
  if (pickup.state !== 'done') throw httpError('not_found', `The pickup is ${pickup.state}: there is no receipt.`)
  const { company, timeZone } = await catalogues.current(tenant)
  const paper = writeReceipt(pickup, company, timeZone)
  return sendPdf(printer, tenant, reply, `pickup-${pickup.id}`, { kind: 'paper', paper })
}

const writeReceipt = (pickup: Pickup, company: string, timeZone: string): Paper => {
  const { address, rider, scanned, missing, extra, ended_by } = pickup
  const [handed, lost, more] = [scanned ?? [], missing ?? [], extra ?? []]
  // Swedish times are ISO 8601.
  const at = new Date(pickup.ended_at ?? '').toLocaleString('sv-SE', {
    timeZone,
    dateStyle: 'short',
    timeStyle: 'short',
  })
  return {
    title: 'Pickup receipt',
    number: String(pickup.id),
    dated: at.slice(0, 10),
    from: [company],
    to: [pickup.business.name, pickup.merchant.name, ...(address ? [address.name, address.address, address.city] : [])],
    facts: [`Counted: ${at} by ${ended_by}`, ...(rider ? [`Rider: ${rider.name}`] : [])],
    sums: [
      ['Expected, not handed over', '', String(lost.length)],
      ['Handed over, not expected', '', String(more.length)],
    ],
    total: ['Parcels handed over', String(handed.length)],
    notes: lost.length > 0 ? [`Not handed over: ${lost.join(', ')}`] : [],
    columns: [
      { head: 'No.', isAmount: false },
      { head: 'Waybill', isAmount: false },
      { head: '', isAmount: false },
    ],
    rows: handed.map((waybill, index) => [String(index + 1), waybill, more.includes(waybill) ? 'not expected' : '']),
  }
}
