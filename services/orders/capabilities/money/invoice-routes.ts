import type { Readable } from 'node:stream'
import { acceptJson } from '@courier/shared/edge/json-body.ts'
import { errorResponses, httpError, notFound } from '@courier/shared/errors/errors.ts'
import { cursorFields, listCursor, PageOf } from '@courier/shared/lists/cursor.ts'
import { id, listQuery, oneOf } from '@courier/shared/lists/filters.ts'
import { inTenant, readInTenant } from '@courier/shared/postgres/database.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from '@sinclair/typebox'
import type { FastifyInstance } from 'fastify'
import type pg from 'pg'
import { readScope, refuseRoles } from '../../core/access/merchant.ts'
import { addAction, defineBody } from '../../core/actions/action.ts'
import { Reason } from '../../core/actions/fields.ts'
import type { Tx } from '../../core/database/tables.ts'
import type { InvoiceJob } from '../labels/draw-invoice.ts'
import type { Printer } from '../labels/printer.ts'
import { InvoiceLine, lineColumnsSql } from './amounts.ts'
import { formatField, jsonOrCsv, sendCsv } from './csv.ts'
import { Dispute, DisputeSettlement, disputeParcels, settleDispute } from './disputes.ts'
import { InvoiceParams } from './fields.ts'
import {
  ChargesPayment,
  decideInvoice,
  findInvoice,
  fromInvoicesSql,
  Invoice,
  type InvoiceRow,
  invoiceColumns,
  invoiceStates,
  payCharges,
  stateSql,
} from './invoices.ts'
import { Made, makeInvoices, NewInvoices } from './make-invoices.ts'

export interface InvoiceOptions {
  readonly pool: pg.Pool
  /** Draws a PDF in a thread; undefined when there are too many jobs. */
  readonly printer: Printer
}

const InvoiceQuery = listQuery(cursorFields, {
  state: oneOf(invoiceStates, 'Default: all.'),
  merchant_id: id('The id of the merchant.'),
})
const cursors = listCursor(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)

const InvoiceWithLines = Type.Composite([Invoice, Type.Object({ lines: Type.Array(InvoiceLine) })], {
  title: 'InvoiceWithLines',
})
const pdf = { schema: Type.String({ description: 'A PDF file.', examples: ['%PDF-1.3'] }) }

/**
 * Adds the routes that read invoices: a list, and one invoice with its lines. A merchant sees its own, once submitted.
 */
const addReads = (app: FastifyInstance, { pool, printer }: InvoiceOptions, listId: string, oneId: string): void => {
  const listing = {
    operationId: listId,
    summary: 'List invoices, newest first',
    querystring: InvoiceQuery.schema,
    response: { 200: PageOf(Invoice, 'Invoices') },
  }
  app.get<{ Querystring: Static<typeof InvoiceQuery.schema> }>('/invoice', { schema: listing }, async request => {
    const { tenant, merchantId } = readScope(request)
    const { state = null, merchant_id = null } = InvoiceQuery.read(request.query)
    const { after, limit } = cursors.read(request.query)
    const values = [tenant, merchantId, state, merchantId ?? merchant_id, after[0] ?? null, limit + 1]
    const rows = await readInTenant<InvoiceRow>(pool, tenant, { name: 'list_invoices', text: listSql, values })
    return cursors.toPage(rows, limit, row => [row.invoice_id])
  })
  const reading = {
    operationId: oneId,
    summary: 'Read an invoice with its lines',
    params: InvoiceParams,
    querystring: Type.Object({ format: formatField('json', 'csv', 'pdf') }),
    response: {
      200: jsonOrCsv('The invoice; CSV has only its lines.', InvoiceWithLines, InvoiceLine, { 'application/pdf': pdf }),
      ...errorResponses(404),
    },
  }
  app.get<{ Params: Static<typeof InvoiceParams>; Querystring: { format?: string } }>(
    '/invoice/:invoice_no',
    { schema: reading },
    async (request, reply) => {
      const { tenant, merchantId } = readScope(request)
      const { format } = request.query
      const data = await readInvoice(pool, tenant, merchantId, request.params.invoice_no)
      const name = data.invoice_no.replace(/[^\w.-]/g, '_')
      if (format === 'csv') return sendCsv(reply, `${name}.csv`, data.lines, InvoiceLine)
      if (format !== 'pdf') return { data }
      reply.header('content-disposition', `inline; filename="${name}.pdf"`).type('application/pdf')
      return reply.send(await print(pool, printer, tenant, data))
    },
  )
}

const print = async (
  pool: pg.Pool,
  printer: InvoiceOptions['printer'],
  tenant: string,
  invoice: InvoiceJob['invoice'],
): Promise<Readable> => {
  const [letterhead] = await readInTenant<Pick<InvoiceJob, 'company' | 'currency'>>(pool, tenant, {
    ...{ name: 'read_letterhead', values: [tenant] },
    text: 'select name as company, currency from tenants where tenant_id = $1',
  })
  const pdf = letterhead && printer.print(tenant, { kind: 'invoice', ...letterhead, invoice })
  if (pdf) return pdf
  throw httpError('unavailable', 'Too many PDFs are being drawn at once. Repeat the request.', { retryAfterSeconds: 2 })
}

/** Reads an invoice with its lines. Throws a 404 for an invoice that the caller may not see. */
const readInvoice = (
  pool: pg.Pool,
  tenant: string,
  merchantId: string | null,
  number: string,
): Promise<Static<typeof InvoiceWithLines>> =>
  inTenant(pool, tenant, async (tx: Tx) => {
    const found = await findInvoice(tx, tenant, number, { merchantId })
    if (!found) throw notFound('invoice')
    const { rows: lines } = await tx.client.query(linesSql, [tenant, found.invoice_id])
    return { ...found, lines }
  })

const linesSql = `
  select ${lineColumnsSql} from money_lines line where tenant_id = $1 and invoice_id = $2
    order by waybill_number, line_no`

const listSql = `select ${invoiceColumns}, invoice_id ${fromInvoicesSql}
  and ($2::bigint is null or submitted_at is not null) and ($3::text is null or ${stateSql} = $3)
    and ($4::bigint is null or invoices.merchant_id = $4)
  and ($5::uuid is null or invoice_id < $5) order by invoices.tenant_id desc, invoice_id desc limit $6`

/** Serves staff: makes invoices, decides on them, books their payment, and settles disputes. */
export const invoiceRoutes: FastifyPluginAsyncTypebox<InvoiceOptions> = async (app, options) => {
  const { pool } = options
  addReads(app, options, 'listAllInvoices', 'getAnyInvoice')
  acceptJson(app)
  addAction(app, pool, {
    path: '/invoice',
    operationId: 'makeInvoices',
    action: 'invoice.made',
    message: 'Invoices Made Successfully',
    describeNothing: made =>
      made.every(({ kind }) => kind === 'nothing_payable') ? 'No Money Was Payable Until That Day' : undefined,
    summary: 'Invoice what is payable to one merchant or to all',
    description:
      'A merchant whose charges are above its COD gets no invoice: the next one brings the difference forward.',
    body: NewInvoices,
    data: Type.Array(Made),
    act: makeInvoices,
  })
  for (const [step, operationId, summary, action] of decisions)
    addAction(app, pool, {
      ...one,
      path: `/invoice/:invoice_no/${step}`,
      operationId,
      summary,
      action,
      message: 'Invoice Updated Successfully',
      body:
        step === 'reject' || step === 'cancel'
          ? defineBody('InvoiceRefusal', { reason: Reason })
          : defineBody('InvoiceDecision', { reason: Type.Optional(Reason) }),
      act: (tx, call) => decideInvoice(tx, step, call),
    })
  addAction(app, pool, {
    ...one,
    path: '/invoice/:invoice_no/charges',
    operationId: 'payCharges',
    action: 'invoice.charges_paid',
    summary: 'Book that a merchant paid the charges it keeps apart',
    message: 'Charges Paid Successfully',
    body: ChargesPayment,
    act: payCharges,
  })
  addAction(app, pool, {
    ...parcels,
    path: '/invoice/:invoice_no/dispute/settle',
    operationId: 'settleDispute',
    action: 'invoice.dispute_settled',
    summary: 'Settle the dispute of parcels',
    message: 'Dispute Settled Successfully',
    description:
      'Releases what is held, with an adjustment for each parcel: the next invoice of the merchant takes both.',
    body: DisputeSettlement,
    act: settleDispute,
  })
}

const one = { params: InvoiceParams, data: Invoice }
const parcels = { params: InvoiceParams, data: Type.Array(Type.String({ examples: ['DM00000001'] })) }

const decisions = [
  ['submit', 'submitInvoice', 'Submit a draft to the merchant', 'invoice.submitted'],
  ['approve', 'approveInvoice', 'Approve a submitted invoice', 'invoice.approved'],
  ['reject', 'rejectInvoice', 'Reject a submitted invoice', 'invoice.rejected'],
  ['cancel', 'cancelInvoice', 'Cancel an unpaid invoice: its parcels are free for the next one', 'invoice.cancelled'],
] as const

/** Shows a merchant its invoices, and takes its approval and its disputes. */
export const merchantInvoiceRoutes: FastifyPluginAsyncTypebox<InvoiceOptions> = async (app, options) => {
  const { pool } = options
  addReads(app, options, 'listInvoices', 'getInvoice')
  refuseRoles(app, 'clerk')
  acceptJson(app)
  addAction(app, pool, {
    ...one,
    path: '/invoice/:invoice_no/approve',
    operationId: 'approveOwnInvoice',
    action: 'invoice.approved',
    summary: 'Approve a submitted invoice',
    message: 'Invoice Approved Successfully',
    body: defineBody('InvoiceApproval', {}),
    act: (tx, call) => decideInvoice(tx, 'approve', call),
  })
  addAction(app, pool, {
    ...parcels,
    path: '/invoice/:invoice_no/dispute',
    operationId: 'disputeInvoice',
    action: 'invoice.disputed',
    summary: 'Dispute parcels of a submitted invoice',
    message: 'Parcels Disputed Successfully',
    description:
      'Holds what the parcels add to the total until the courier company settles the dispute; the rest is paid.',
    body: Dispute,
    act: disputeParcels,
  })
}
