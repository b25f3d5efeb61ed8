import { acceptJson } from '@courier/shared/edge/json-body.ts'
import { errorResponses, httpError, notFound } from '@courier/shared/errors/errors.ts'
import { cursorFields, listCursor, PageOf } from '@courier/shared/lists/cursor.ts'
import { id, listQuery, oneOf } from '@courier/shared/lists/filters.ts'
import { inTenant, readInTenant } from '@courier/shared/postgres/database.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, type TObject, Type } from '@sinclair/typebox'
import type { FastifyInstance, FastifyReply } from 'fastify'
import type pg from 'pg'
import { readScope, refuseRoles } from '../../../core/access/merchant.ts'
import { addAction, defineBody } from '../../../core/actions/action.ts'
import { Reason } from '../../../core/actions/fields.ts'
import type { Tx } from '../../../core/database/tables.ts'
import type { Document } from '../../labels/draw-invoice.ts'
import type { Printer } from '../../labels/printer.ts'
import { InvoiceParams } from '../ledger/fields.ts'
import { InvoiceLine, LineColumns } from '../papers/amounts.ts'
import { formatField, jsonOrCsv, sendCsv } from '../papers/csv.ts'
import {
  CreditNote,
  findCreditNote,
  findLetterhead,
  listVersions,
  readLines,
  Version,
} from '../papers/invoice-versions.ts'
import { composePaper, type PaperSource } from '../papers/paper.ts'
import { listTaxColumns } from '../taxes/tax-sums.ts'
import { Made } from './drafts.ts'
import {
  ChargesPayment,
  decideInvoice,
  findInvoice,
  fromInvoicesSql,
  Invoice,
  type InvoiceRow,
  invoiceColumns,
  invoiceStates,
  isNumber,
  payCharges,
} from './invoices.ts'
import { makeInvoices, NewInvoices } from './make-invoices.ts'
import { listSetOffs } from './set-offs.ts'

export interface InvoiceOptions {
  readonly pool: pg.Pool
  /** Draws a PDF in a thread; undefined when there are too many jobs. */
  readonly printer: Printer
  /** Is called after an invoice is submitted or paid, for merchants' webhooks. */
  readonly onChanged: (tenant: string) => void
}

const InvoiceQuery = listQuery(cursorFields, {
  state: oneOf(invoiceStates, 'Default: all.'),
  merchant_id: id('The id of the merchant.'),
})
const cursors = listCursor(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)

const InvoiceWithLines = Type.Composite(
  [
    Invoice,
    Type.Object({
      versions: Type.Array(Version, { description: 'The documents that the merchant saw, oldest first.' }),
      lines: Type.Array(InvoiceLine),
    }),
  ],
  { title: 'InvoiceWithLines' },
)
const OneQuery = Type.Object({
  format: formatField('json', 'csv', 'pdf'),
  version: Type.Optional(
    Type.String({
      maxLength: 5,
      pattern: '^[1-9][0-9]*$',
      must: 'be the number of a version',
      description: 'The number of a version. Default: the newest.',
    }),
  ),
})
const CreditNoteParams = Type.Object({ credit_note_no: Type.String({ maxLength: 100 }) })
const pdf = { schema: Type.String({ description: 'A PDF file.', examples: ['%PDF-1.3'] }) }

/**
 * Adds the routes that read invoices: a list, one invoice with its lines, and a credit note. A merchant sees its own,
 * once submitted.
 */
const addReads = (app: FastifyInstance, options: InvoiceOptions, ids: readonly [string, string, string]): void => {
  const { pool, printer } = options
  const [listId, oneId, creditId] = ids
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
    querystring: OneQuery,
    response: documentResponse('The invoice; CSV has only its lines.', InvoiceWithLines),
  }
  app.get<{ Params: Static<typeof InvoiceParams>; Querystring: Static<typeof OneQuery> }>(
    '/invoice/:invoice_no',
    { schema: reading },
    async (request, reply) => {
      const { tenant, merchantId } = readScope(request)
      const { format } = request.query
      const version = request.query.version === undefined ? undefined : Number(request.query.version)
      const { letterhead, issued_on, set_offs, ...data } = await readInvoice(
        pool,
        tenant,
        merchantId,
        request.params.invoice_no,
        version,
      )
      const { invoice_no: number, invoice_ref_no, corrects, made_at } = data
      const references = [
        ...(invoice_ref_no && invoice_ref_no !== number ? [`Reference ${invoice_ref_no}`] : []),
        ...(corrects ? [`For tax invoice ${corrects}`] : []),
        `Parcels until ${data.until}`,
        ...(data.version > 1 ? [`Version ${data.version}`] : []),
      ]
      const about = { number, issued_on, made_on: made_at.slice(0, 10), letterhead, references, set_offs }
      return sendDocument(reply, printer, tenant, format, data, { ...data, ...about }, 'Invoice')
    },
  )
  const crediting = {
    operationId: creditId,
    summary: 'Read a credit note with its lines',
    params: CreditNoteParams,
    querystring: Type.Pick(OneQuery, ['format']),
    response: documentResponse('The credit note; CSV has only its lines.', CreditNote),
  }
  app.get<{ Params: Static<typeof CreditNoteParams>; Querystring: { format?: string } }>(
    '/credit-note/:credit_note_no',
    { schema: crediting },
    async (request, reply) => {
      const { tenant, merchantId } = readScope(request)
      const number = request.params.credit_note_no
      const found =
        isNumber.test(number) &&
        (await inTenant(pool, tenant, (tx: Tx) => findCreditNote(tx, tenant, merchantId, number)))
      if (!found) throw notFound('credit note')
      const { letterhead, ...data } = found
      const { issued_on, lines, credited: total, charges_credited: charges_due } = data
      const document = { document: 'cancellation', made_on: issued_on, set_offs: [] } as const
      const references = [`For invoice ${data.invoice_no}`, ...(data.reason ? [`Reason: ${data.reason}`] : [])]
      const paper = { ...document, number, issued_on, letterhead, references, lines, total, charges_due }
      return sendDocument(reply, printer, tenant, request.query.format, data, paper, 'Credit note')
    },
  )
}

const documentResponse = (description: string, data: TObject) => ({
  200: jsonOrCsv(description, data, LineColumns, { 'application/pdf': pdf }),
  ...errorResponses(404),
})

/** Sends lines as CSV, with columns for each tax and withholding that has a name. */
const sendLines = (reply: FastifyReply, file: string, lines: readonly Static<typeof InvoiceLine>[]) => {
  const columns = listTaxColumns(lines)
  const rows = lines.map(line => ({
    ...line,
    ...Object.fromEntries(columns.map(([name, find]) => [name, find(line)])),
  }))
  const row = Type.Object({
    ...LineColumns.properties,
    ...Object.fromEntries(columns.map(([name]) => [name, Type.Number()])),
  })
  return sendCsv(reply, file, rows, row)
}

/** Sends a document in the format of the request. */
const sendDocument = (
  reply: FastifyReply,
  printer: Printer,
  tenant: string,
  format: string | undefined,
  data: { readonly lines: Static<typeof InvoiceLine>[] },
  source: PaperSource,
  title: Document['title'],
) => {
  const name = (source.number ?? 'draft').replace(/[^\w.-]/g, '_')
  if (format === 'csv') return sendLines(reply, `${name}.csv`, data.lines)
  if (format !== 'pdf') return { data }
  const isEarlier = source.letterhead.form === undefined
  const drawn = printer.print(
    tenant,
    isEarlier
      ? { kind: 'invoice', document: { ...source, title, number: source.number ?? '' } }
      : { kind: 'paper', paper: composePaper(source) },
  )
  if (!drawn)
    throw httpError('unavailable', 'Too many PDFs are being drawn at once. Repeat the request.', {
      retryAfterSeconds: 2,
    })
  reply.header('content-disposition', `inline; filename="${name}.pdf"`).type('application/pdf')
  return reply.send(drawn)
}

/**
 * Reads an invoice with its lines, as a version has them or else as they are. Throws a 404 for an invoice that the
 * caller may not see.
 */
const readInvoice = (pool: pg.Pool, tenant: string, merchantId: string | null, number: string, wanted?: number) =>
  inTenant(pool, tenant, async (tx: Tx) => {
    const found = await findInvoice(tx, tenant, number, { merchantId })
    if (!found) throw notFound('invoice')
    const versions = await listVersions(tx, tenant, found.invoice_id)
    const version = versions.find(each => each.version === (wanted ?? found.version))
    if (wanted !== undefined && !version) throw notFound('version')
    const lines = await readLines(tx, tenant, found, version?.version)
    const { total, charges_due } = version ?? found
    return {
      ...{ ...found, total, charges_due, version: version?.version ?? 0, versions, lines },
      issued_on: version?.issued_on ?? null,
      letterhead: version?.letterhead ?? (await findLetterhead(tx, tenant, found.merchant_id)),
      set_offs: await listSetOffs(tx, tenant, found.invoice_id),
    }
  })

const listSql = `select ${invoiceColumns}, invoice_id ${fromInvoicesSql}
  and ($2::bigint is null or submitted_at is not null) and ($3::text is null or invoices.state = $3)
    and ($4::bigint is null or invoices.merchant_id = $4)
  and ($5::uuid is null or invoice_id < $5) order by invoices.tenant_id desc, invoice_id desc limit $6`

/** Serves staff: makes invoices, decides on them, and books their payment. */
export const invoiceRoutes: FastifyPluginAsyncTypebox<InvoiceOptions> = async (app, options) => {
  const { pool, onChanged: onDone } = options
  addReads(app, options, ['listAllInvoices', 'getAnyInvoice', 'getAnyCreditNote'])
  acceptJson(app)
  addAction(app, pool, {
    path: '/invoice',
    operationId: 'makeInvoices',
    action: 'invoice.made',
    message: 'Invoices Made Successfully',
    describeNothing: made =>
      made.every(({ kind }) => kind === 'nothing_payable') ? 'No Money Was Payable Until That Day' : undefined,
    summary: 'Invoice what is payable to one merchant or to all',
    description: 'A merchant whose charges are above its COD gets no invoice: the next one takes the lines.',
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
      onDone,
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
}

const one = { params: InvoiceParams, data: Invoice }

const decisions = [
  ['submit', 'submitInvoice', 'Submit a draft to the merchant', 'invoice.submitted'],
  ['approve', 'approveInvoice', 'Approve a submitted invoice', 'invoice.approved'],
  ['reject', 'rejectInvoice', 'Reject a submitted invoice', 'invoice.rejected'],
  [
    'cancel',
    'cancelInvoice',
    'Cancel an unpaid invoice: its parcels are free for the next one, and a credit note takes back what was submitted',
    'invoice.cancelled',
  ],
] as const

/** Shows a merchant its invoices, and takes its approval. */
export const merchantInvoiceRoutes: FastifyPluginAsyncTypebox<InvoiceOptions> = async (app, options) => {
  const { pool } = options
  addReads(app, options, ['listInvoices', 'getInvoice', 'getCreditNote'])
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
}
