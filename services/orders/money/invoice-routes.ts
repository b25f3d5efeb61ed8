import type { Readable } from 'node:stream'
import { acceptJson } from '@courier/shared/edge/json-body.ts'
import { errorResponses, httpError, notFound } from '@courier/shared/errors/errors.ts'
import { cursorFields, listCursor, PageOf } from '@courier/shared/lists/cursor.ts'
import { isDate } from '@courier/shared/lists/dates.ts'
import { id, listQuery, oneOf } from '@courier/shared/lists/filters.ts'
import { inTenant, readInTenant } from '@courier/shared/postgres/database.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from '@sinclair/typebox'
import type { FastifyInstance } from 'fastify'
import type pg from 'pg'
import { readScope } from '../access/merchant.ts'
import type { Tx } from '../database/tables.ts'
import { addAction, bodyOf, refuse } from './action.ts'
import { BankReference, Day, Reason } from './collection.ts'
import { toCsv } from './csv.ts'
import { InvoiceLine, lineColumnsSql } from './invoice-lines.ts'
import {
  decideInvoice,
  depositInvoice,
  findInvoice,
  fromInvoicesSql,
  Invoice,
  type InvoiceRow,
  invoiceColumns,
  invoiceStates,
  payCharges,
  stateSql,
} from './invoices.ts'
import { Made, makeInvoices } from './make-invoices.ts'

/** Holds what is printed of an invoice. */
export interface PrintedInvoice {
  readonly company: string
  readonly currency: string
  readonly invoice: Static<typeof InvoiceWithLines>
}

export interface InvoiceOptions {
  readonly pool: pg.Pool
  /** Draws a PDF in a thread; undefined when too many wait. */
  readonly printer: { print(tenant: string, job: PrintedInvoice & { kind: 'invoice' }): Readable | undefined }
  /** Called after an invoice was paid, for merchants' webhooks. */
  readonly onChanged: (tenant: string) => void
}

const InvoiceParams = Type.Object({
  invoice_no: Type.String({ maxLength: 100, description: 'One of its two numbers.' }),
})
const InvoiceQuery = listQuery(cursorFields, {
  state: oneOf(invoiceStates, 'Without it all.'),
  merchant_id: id('The id of the merchant.'),
})
const cursors = listCursor(/^[0-9a-f-]{36}$/)

const InvoiceWithLines = Type.Composite([Invoice, Type.Object({ lines: Type.Array(InvoiceLine) })], {
  title: 'InvoiceWithLines',
})
/** Refuses the 30th of February; the pattern of `Day` lets it pass. */
export const refuseNoDay = (path: string, day: string) =>
  isDate(day) ? undefined : refuse(path, `There is no day ${day}.`)

/** The list of invoices, and one with its lines: of a merchant its own, from submitted on. */
const addReads = (
  app: FastifyInstance,
  { pool, printer }: InvoiceOptions,
  operations: readonly [string, string],
): void => {
  app.get<{ Querystring: Static<typeof InvoiceQuery.schema> }>(
    '/invoice',
    {
      schema: {
        operationId: operations[0],
        summary: 'List invoices, newest first',
        querystring: InvoiceQuery.schema,
        response: { 200: PageOf(Invoice, 'Invoices') },
      },
    },
    async request => {
      const { tenant, merchantId } = readScope(request)
      const { state = null, merchant_id = null } = InvoiceQuery.read(request.query)
      const { after, limit } = cursors.read(request.query)
      const values = [tenant, merchantId, state, merchantId ?? merchant_id, after[0] ?? null, limit + 1]
      const rows = await readInTenant<InvoiceRow>(pool, tenant, { name: 'list_invoices', text: listSql, values })
      return cursors.toPage(rows, limit, row => [row.invoice_id])
    },
  )
  app.get<{ Params: Static<typeof InvoiceParams>; Querystring: { format?: 'json' | 'csv' | 'pdf' } }>(
    '/invoice/:invoice_no',
    {
      schema: {
        operationId: operations[1],
        summary: 'An invoice with its lines',
        params: InvoiceParams,
        querystring: Type.Object({
          format: Type.Optional(
            Type.Union(
              ['json', 'csv', 'pdf'].map(format => Type.Literal(format as 'json')),
              { must: 'be json, csv or pdf' },
            ),
          ),
        }),
        response: {
          200: {
            description: 'The invoice; as CSV its lines.',
            content: {
              'application/json': { schema: Type.Object({ data: InvoiceWithLines }) },
              'application/pdf': { schema: Type.String({ description: 'Binary.', examples: ['%PDF-1.3'] }) },
              'text/csv': { schema: Type.String({ examples: ['waybill_number,kind\r\n'] }) },
            },
          },
          ...errorResponses(404),
        },
      },
    },
    async (request, reply) => {
      const { tenant, merchantId } = readScope(request)
      const found = await readInvoice(pool, tenant, merchantId, request.params.invoice_no)
      const { format = 'json' } = request.query
      if (format === 'json') return { data: found }
      const name = `${found.invoice_no.replace(/[^\w.-]/g, '_')}.${format}`
      reply.header('content-disposition', `${format === 'pdf' ? 'inline' : 'attachment'}; filename="${name}"`)
      if (format === 'pdf') return reply.type('application/pdf').send(await print(pool, printer, tenant, found))
      return reply.type('text/csv; charset=utf-8').send(toCsv(found.lines, Object.keys(InvoiceLine.properties)))
    },
  )
}

const print = async (
  pool: pg.Pool,
  printer: InvoiceOptions['printer'],
  tenant: string,
  invoice: PrintedInvoice['invoice'],
): Promise<Readable> => {
  const [letterhead] = await readInTenant<Pick<PrintedInvoice, 'company' | 'currency'>>(pool, tenant, {
    ...{ name: 'read_letterhead', values: [tenant] },
    text: 'select name as company, currency from tenants where tenant_id = $1',
  })
  const pdf = letterhead && printer.print(tenant, { kind: 'invoice', ...letterhead, invoice })
  if (pdf) return pdf
  throw httpError('unavailable', 'Too many PDFs are drawn at once. Repeat the request.', { retryAfterSeconds: 2 })
}

/** Reads an invoice with its lines. Throws a 404 for one that the caller may not see. */
export const readInvoice = (
  pool: pg.Pool,
  tenant: string,
  merchantId: string | null,
  number: string,
): Promise<Static<typeof InvoiceWithLines>> =>
  inTenant(pool, tenant, async (tx: Tx) => {
    const found = await findInvoice(tx, tenant, number, { merchantId })
    if (!found) throw notFound('invoice')
    const { invoice_id, submitted_by, four_eyes, charges_journal_id, ...invoice } = found
    const { rows: lines } = await tx.client.query(linesSql, [tenant, invoice_id])
    return { ...invoice, lines }
  })

const linesSql = `
  select ${lineColumnsSql} from money_lines line where tenant_id = $1 and invoice_id = $2 order by waybill_number, line_no`

const listSql = `select ${invoiceColumns}, invoice_id ${fromInvoicesSql}
  and ($2::bigint is null or invoices.state <> 'draft') and ($3::text is null or ${stateSql} = $3) and ($4::bigint is null or invoices.merchant_id = $4)
  and ($5::uuid is null or invoice_id < $5) order by invoices.tenant_id desc, invoice_id desc limit $6`

/** Makes, decides and pays invoices, for staff. */
export const invoiceRoutes: FastifyPluginAsyncTypebox<InvoiceOptions> = async (app, options) => {
  const { pool, onChanged: onDone } = options
  addReads(app, options, ['listAllInvoices', 'getAnyInvoice'])
  acceptJson(app)
  const common = { params: InvoiceParams, data: Invoice }
  addAction(app, pool, {
    path: '/invoice',
    operationId: 'makeInvoices',
    action: 'invoice.made',
    message: 'Invoices Made Successfully',
    summary: 'Invoice what is payable, of one merchant or all',
    description: 'A merchant whose charges are above its COD gets none: the next invoice brings them forward.',
    body: bodyOf('NewInvoices', {
      merchant_id: Type.Optional(Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })),
      all: Type.Optional(Type.Literal(true, { must: 'be true', examples: [true] })),
      until: { ...Day, description: 'Takes lines of this day and before.' },
    }),
    data: Type.Array(Made),
    act: async (tx, { tenant, by, body: { merchant_id, all, until } }) =>
      (merchant_id === undefined) === (all === undefined)
        ? refuse('merchant_id', 'Give either merchant_id or all.')
        : (refuseNoDay('until', until) ??
          makeInvoices(tx, tenant, { merchantId: merchant_id ?? null, until, by: by.name })),
  })
  for (const [step, operationId, summary, action] of decisions) {
    const needsReason = step === 'reject' || step === 'cancel'
    addAction(app, pool, {
      ...common,
      path: `/invoice/:invoice_no/${step}`,
      operationId,
      summary,
      action,
      message: 'Invoice Updated Successfully',
      body: needsReason
        ? bodyOf('InvoiceRefusal', { reason: Reason })
        : bodyOf('InvoiceDecision', { reason: Type.Optional(Reason) }),
      act: (tx, { tenant, by, params: { invoice_no: number = '' }, body: { reason } }) =>
        decideInvoice(tx, tenant, { step, number, by: by.name, merchantId: null, reason: reason?.trim() ?? null }),
    })
  }
  addAction(app, pool, {
    ...common,
    path: '/invoice/:invoice_no/deposit',
    operationId: 'depositInvoice',
    action: 'invoice.deposited',
    summary: 'Book that an approved invoice was paid',
    message: 'Invoice Deposited Successfully',
    onDone,
    description: 'The same request again changes nothing.',
    body: bodyOf('InvoicePayment', { bank_reference: BankReference, paid_on: Day }),
    act: async (tx, { tenant, by, params: { invoice_no = '' }, body: { bank_reference, paid_on } }) =>
      refuseNoDay('paid_on', paid_on) ??
      depositInvoice(tx, tenant, by.name, invoice_no, { reference: bank_reference.trim(), paidOn: paid_on }),
  })
  addAction(app, pool, {
    ...common,
    path: '/invoice/:invoice_no/charges',
    operationId: 'payCharges',
    action: 'invoice.charges_paid',
    summary: 'Book that a merchant paid the charges it keeps apart',
    message: 'Charges Paid Successfully',
    body: bodyOf('ChargesPayment', { bank_reference: BankReference }),
    act: (tx, { tenant, params: { invoice_no = '' }, body: { bank_reference } }) =>
      payCharges(tx, tenant, invoice_no, bank_reference.trim()),
  })
}

const decisions = [
  ['submit', 'submitInvoice', 'Submit a draft to the merchant', 'invoice.submitted'],
  ['approve', 'approveInvoice', 'Approve a submitted invoice', 'invoice.approved'],
  ['reject', 'rejectInvoice', 'Reject a submitted invoice', 'invoice.rejected'],
  ['cancel', 'cancelInvoice', 'Cancel an unpaid invoice: its parcels are free for the next', 'invoice.cancelled'],
] as const

/** Shows a merchant its invoices, and takes its approval. */
export const merchantInvoiceRoutes: FastifyPluginAsyncTypebox<InvoiceOptions> = async (app, options) => {
  const { pool } = options
  addReads(app, options, ['listInvoices', 'getInvoice'])
  acceptJson(app)
  addAction(app, pool, {
    path: '/invoice/:invoice_no/approve',
    params: InvoiceParams,
    operationId: 'approveOwnInvoice',
    action: 'invoice.approved',
    summary: 'Approve a submitted invoice',
    message: 'Invoice Approved Successfully',
    data: Invoice,
    body: bodyOf('InvoiceApproval', {}),
    act: (tx, { tenant, by, merchantId, params: { invoice_no: number = '' } }) =>
      decideInvoice(tx, tenant, { step: 'approve', number, by: `merchant ${by.name}`, merchantId, reason: null }),
  })
}
