import { Readable } from 'node:stream'
import { acceptJson } from '@courier/shared/edge/json-body.ts'
import { httpError, invalid, notFound } from '@courier/shared/errors/errors.ts'
import { inTenant, withoutDoubt } from '@courier/shared/postgres/database.ts'
import { listCodePoints } from '@courier/shared/printable.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from '@sinclair/typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type pg from 'pg'
import { readScope } from '../../core/access/merchant.ts'
import { refuseValues } from '../../core/actions/action.ts'
import type { Tx } from '../../core/database/tables.ts'
import { oneOrder, WaybillParams } from '../../core/lists/order-routes.ts'
import { fromWaiting } from '../../core/statuses/status-queries.ts'
import type { OrderRow } from '../../core/tracking/order-rows.ts'
import { toOrder, writeTrackingUrl } from '../../core/tracking/order-view.ts'
import { isWaybill, type OrderStore, readOrders, selectAmong } from '../../core/tracking/read-orders.ts'
import type { PrintJob } from './draw.ts'
import { type Label, type Layout, listTexts } from './label.ts'
import type { Printer } from './printer.ts'
import { type Format, LabelQuery, LabelRequest, maxLabelBytes, maxLabels, RunSheetRequest } from './schema.ts'
import { writeZpl } from './zpl.ts'

interface LabelsOptions extends OrderStore {
  readonly printer: Printer
}

const pdf = { 'application/pdf': { schema: Type.String({ description: 'Binary.', examples: ['%PDF-1.3'] }) } }
const zpl = { 'application/zpl': { schema: Type.String({ examples: ['^XA^FO32,32^FDDM00000001^FS^XZ'] }) } }

/** Prints labels of all orders, and the run sheet of a courier. */
export const staffLabelRoutes: FastifyPluginAsyncTypebox<LabelsOptions> = async (app, options) => {
  await app.register(createLabelRoutes('AnyLabel'), options)
  acceptJson(app)
  const printRunSheetSchema = {
    operationId: 'printRunSheet',
    summary: 'Print a run sheet, with a column for signatures',
    body: RunSheetRequest,
    response: { 200: { description: 'A PDF with pages of A4.', content: pdf } },
  }
  app.post('/order/run-sheet', { bodyLimit: maxLabelBytes, schema: printRunSheetSchema }, async (request, reply) => {
    refuseValues(RunSheetRequest.properties, request.body)
    const { title = 'Run sheet' } = request.body
    const { tenant } = request.staff
    const labels = await findAllLabels(options, request, await findListed(options.pool, tenant, request.body))
    return sendPdf(options.printer, tenant, nameOdd(reply, labels), 'run-sheet', { kind: 'run_sheet', labels, title })
  })
}

/** Finds the waybills that a run sheet lists: the requested ones, or the parcels to be delivered again. */
const findListed = async (
  pool: pg.Pool,
  tenant: string,
  { waybill_numbers: waybills, reattempts_by: day }: Static<typeof RunSheetRequest>,
): Promise<readonly string[]> => {
  if (waybills && day !== undefined)
    throw invalid({ reattempts_by: ['Give either the waybill_numbers or reattempts_by.'] })
  if (waybills) return waybills
  if (day === undefined) throw invalid({ waybill_numbers: ['The waybill numbers field is required.'] })
  const found = await inTenant(pool, tenant, (tx: Tx) => findReattempts(tx, tenant, day, maxLabels)).catch(withoutDoubt)
  if (found.length === 0) throw invalid({ reattempts_by: [`No parcel is to be delivered again by ${day}.`] })
  return found
}

/** Lists the parcels to be delivered again by a day, YYYY-MM-DD; those that have waited longest come first. */
export const findReattempts = async (tx: Tx, tenant: string, day: string, limit: number): Promise<string[]> =>
  (await tx.rows(reattemptsSql, [tenant, day, limit])).map(row => row.waybill_number)

const reattemptsSql = `
  select orders.waybill_number ${fromWaiting}
  where attempts.tenant_id = $1 and coalesce(on_date <= $2::date, action in ('reattempt', 'change_address'))
    and action <> 'return'
  order by attempt_id limit $3`

/** Creates the label routes. Each operationId contains `name`. */
const createLabelRoutes =
  (name: string): FastifyPluginAsyncTypebox<LabelsOptions> =>
  async (app, options) => {
    const { printer } = options
    acceptJson(app)

    const labelSchema = {
      operationId: `print${name}`,
      summary: 'Print the label of an order',
      params: WaybillParams,
      querystring: LabelQuery,
      response: { 200: { description: 'The label.', content: { ...pdf, ...zpl } } },
    }
    app.get(`${oneOrder}/label`, { schema: labelSchema }, async (request, reply) => {
      const found = await findLabels(options, request, [request.params.waybill])
      if (found.size === 0) throw notFound('waybill')
      return print(printer, reply, readScope(request).tenant, [...found.values()], request.query)
    })

    const labelsSchema = {
      operationId: `print${name}s`,
      summary: 'Print the labels of up to 500 orders',
      description: 'Prints all of them, or prints none and lists every unknown waybill number.',
      body: LabelRequest,
      response: {
        200: { description: 'The labels, in the order of the waybill numbers.', content: { ...pdf, ...zpl } },
      },
    }
    app.post('/order/labels', { bodyLimit: maxLabelBytes, schema: labelsSchema }, async (request, reply) => {
      const found = await findAllLabels(options, request, request.body.waybill_numbers)
      return print(printer, reply, readScope(request).tenant, found, request.body)
    })
  }

export const merchantLabelRoutes = createLabelRoutes('Label')

const print = (
  printer: Printer,
  reply: FastifyReply,
  tenant: string,
  labels: readonly Label[],
  { format = 'pdf', layout = '100x150' }: { format?: Format; layout?: Layout },
): FastifyReply => {
  if (format === 'pdf')
    return sendPdf(printer, tenant, nameOdd(reply, labels), 'labels', { kind: 'labels', labels, layout })
  return reply.type('application/zpl; charset=utf-8').send(Readable.from(writeZpl(labels)))
}

/** Limits the parcels that the header names. */
const maxOdd = 20

/** Adds a header that names the parcels whose paper shows code points in place of characters. */
const nameOdd = (reply: FastifyReply, labels: readonly Label[]): FastifyReply => {
  const odd = labels.flatMap(label => {
    const codes = listCodePoints(listTexts(label))
    return codes ? [`${label.waybill_number}: ${codes}`] : []
  })
  if (odd.length === 0) return reply
  const more = odd.length > maxOdd ? [`and ${odd.length - maxOdd} more`] : []
  return reply.header('x-print-warnings', [...odd.slice(0, maxOdd), ...more].join('; '))
}

export const sendPdf = (
  printer: Printer,
  tenant: string,
  reply: FastifyReply,
  name: string,
  job: PrintJob,
): FastifyReply => {
  const stream = printer.print(tenant, job)
  if (!stream)
    throw httpError('unavailable', 'Too many labels are being printed at once. Repeat the request.', {
      retryAfterSeconds: 2,
    })
  return reply.type('application/pdf').header('content-disposition', `inline; filename="${name}.pdf"`).send(stream)
}

/** Finds the labels of the requester's orders with these waybills, by waybill. */
const findLabels = async (store: OrderStore, request: FastifyRequest, waybills: readonly string[]) => {
  const { tenant, merchantId } = readScope(request)
  let day: Intl.DateTimeFormat | undefined
  const known = waybills.filter(waybill => isWaybill.test(waybill))
  const labels = await readOrders(store, tenant, selectAmong(tenant, known, merchantId), (row: OrderRow, catalogue) => {
    // Swedish dates are ISO 8601. Creating the format takes longer than a label.
    day ??= new Intl.DateTimeFormat('sv-SE', { timeZone: catalogue.timeZone })
    const url = writeTrackingUrl(request.publicUrl, catalogue, row.waybill_number)
    const booked_on = day.format(new Date(row.created_at))
    return { ...toOrder(row, catalogue), company: catalogue.company, url, booked_on }
  })
  return new Map(labels.map(label => [label.waybill_number, label]))
}

/** Returns the labels in the order of the waybills. Throws unless the requester has all of these orders. */
const findAllLabels = async (store: OrderStore, request: FastifyRequest, waybills: readonly string[]) => {
  const found = await findLabels(store, request, waybills)
  const missing = waybills.flatMap((waybill, index) =>
    found.has(waybill) ? [] : [[`waybill_numbers.${index}`, ['The requested waybill does not exist in the system.']]],
  )
  if (missing.length > 0) throw invalid(Object.fromEntries(missing))
  return waybills.flatMap(waybill => found.get(waybill) ?? [])
}
