import type { Schema } from '@courier/shared/api-docs/examples.ts'
import type { OpenApi, Operation } from '@courier/shared/api-docs/openapi.ts'
import { invalid, notFound } from '@courier/shared/errors/errors.ts'

const reads = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false }
/** Makes clients ask their user before they call the tool. */
const changes = { ...reads, readOnlyHint: false, destructiveHint: true }

type Row = readonly [operationId: string, annotations: typeof reads, description: string]
/** Lists the tools, each with the operation that it sends; without the operation there is no tool. */
const rows: Readonly<Record<string, Row>> = {
  find_city: ['resolvePlaces', reads, 'Use this to find the city that a name or an address means, with its rate.'],
  quote: ['createOrders', reads, 'Use this before each booking: it checks and prices orders, and creates nothing.'],
  book: ['createOrders', changes, 'Use this once your user accepts a quote; repeat it if the response is lost.'],
  confirm: ['confirmOrders', changes, 'Use this when the courier may pick up orders that were booked as drafts.'],
  cancel: ['cancelOrders', changes, 'Use this when orders that were not picked up yet must not be delivered.'],
  track: ['getOrder', reads, 'Use this to see where one order is, and what happened to it.'],
  list_orders: ['listOrders', reads, 'Use this to find orders by status, day, phone, city or order number.'],
  failed_deliveries: ['listFailedDeliveries', reads, 'Use this to see which parcels wait after a failed delivery.'],
  instruct: ['instructOrder', changes, 'Use this to send such a parcel out again, to another address, or back.'],
}

/** Lists the operations of an agent; without `mayBook`, those of the tools that only read. */
export const listToolOperations = (mayBook: boolean): string[] => [
  'callTool',
  ...Object.values(rows).flatMap(([id, annotations]) =>
    mayBook || (annotations === reads && id !== 'createOrders') ? [id] : [],
  ),
]
const digest = { type: 'string', description: 'Stands for the quoted content, for a booking within an hour.' }
const replayed = { type: 'boolean', description: 'True: an earlier call booked this content, nothing is created now.' }

type Tool = ReturnType<typeof createTool>
export type Tools = ReadonlyMap<string, Tool>

/** Creates the tools from the document: their schemas are those of the routes. */
export const createTools = ({ paths, components: { schemas = {} } }: OpenApi): Tools => {
  const routes = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  )
  const named = Object.entries(rows).flatMap(([name, row]) =>
    routes.filter(({ operation }) => operation.operationId === row[0]).map(route => ({ name, row, ...route })),
  )
  return new Map(named.map(each => [each.name, createTool(inline(each, schemas))]))
}

type Named = { name: string; row: Row; path: string; method: string; operation: Operation }

const createTool = ({ name, row: [, annotations, description], path, method, operation }: Named) => {
  const [isQuote, isBooking] = [name === 'quote', name === 'book']
  // Other names of a field have brackets or capitals. The tool decides whether it is a dry run.
  const fields = (operation.parameters ?? []).filter(({ name }) => /^[a-z_]+$/.test(name) && name !== 'dry_run')
  const { schema: body = {} } = operation.requestBody?.content?.['application/json'] ?? {}
  const { schema: output = {} } = operation.responses[200]?.content?.['application/json'] ?? {}
  const result = output.anyOf?.[isQuote ? 1 : 0] ?? output
  const more = isQuote ? { digest } : isBooking && { replayed }
  const properties = {
    ...Object.fromEntries(fields.map(({ name, description, schema }) => [name, { ...schema, description }])),
    ...body.properties,
    ...(isBooking && { digest }),
  }
  const needed = fields.flatMap(({ name, required }) => (required ? [name] : []))
  const required = [...needed, ...(body.required ?? []), ...(isBooking ? ['digest'] : [])]
  return {
    listed: {
      ...{ name, description, annotations },
      inputSchema: { type: 'object', properties, required, additionalProperties: false },
      outputSchema: { ...result, properties: { ...result.properties, ...more } },
    },
    method: method.toUpperCase() as 'GET' | 'POST',
    path,
    queryFields: fields.filter(field => field.in === 'query').map(({ name }) => name),
    bodyFields: Object.keys(body.properties ?? {}),
  }
}

/** Replaces references, which some clients do not follow, and leaves out what a model does not read. */
const inline = <T>(part: T, schemas: Readonly<Record<string, Schema>>): T =>
  JSON.parse(JSON.stringify(part), (name, value) => {
    if (name === 'examples' || name === 'pattern') return undefined
    if (typeof value?.$ref !== 'string') return value
    return { ...inline(schemas[value.$ref.split('/').at(-1)] ?? {}, schemas), ...value, $ref: undefined }
  })

/** Builds the request of a call. Equal contents make equal bodies, in whatever order their fields come. */
export const buildRequest = ({ listed, path, ...tool }: Tool, given: Record<string, unknown>) => {
  const known = Object.keys(listed.inputSchema.properties)
  const unknown = Object.keys(given).filter(name => !known.includes(name))
  const sentence = `This argument is not known. Known are ${known.join(', ')}.`
  if (unknown.length > 0) throw invalid(Object.fromEntries(unknown.map(name => [name, [sentence]])))
  const pick = (names: readonly string[]) =>
    Object.fromEntries(names.flatMap(name => (given[name] == null ? [] : [[name, given[name]]])))
  const filled = path.replace(/\{(\w+)\}/g, (_all, name) => {
    const text = String(given[name])
    // Texts in small letters, without digits, would name other paths.
    if (!/[0-9A-Z]/.test(text)) throw notFound(name)
    return encodeURIComponent(text.toWellFormed())
  })
  const query = String(new URLSearchParams(pick(tool.queryFields) as Record<string, string>))
  const body = JSON.stringify(pick(tool.bodyFields), sortFields)
  return { method: tool.method, url: query ? `${filled}?${query}` : filled, body }
}

const sortFields = (_name: string, value: unknown): unknown =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
    : value
