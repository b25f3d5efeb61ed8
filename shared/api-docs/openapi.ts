import { isDeepStrictEqual } from 'node:util'
import { headersOf, responseHeaders } from './response-headers.ts'

/** A schema of OpenAPI 3.1: JSON Schema. */
export interface Schema {
  [keyword: string]: unknown
  $ref?: string
  title?: string
  description?: string
  anyOf?: Schema[]
  examples?: unknown[]
}

export interface Media {
  schema?: Schema
  example?: unknown
  examples?: Record<string, { value: unknown }>
}

interface Parameter {
  name: string
  in: string
  required?: boolean
  description?: string
  example?: unknown
  schema: Schema
}

type Content = Record<string, Media>

export interface Operation {
  operationId?: string
  tags?: string[]
  summary?: string
  description?: string
  security?: Record<string, string[]>[]
  parameters?: Parameter[]
  requestBody?: { required?: boolean; content: Content }
  responses: Record<string, Response>
}

interface Response {
  description?: string
  headers?: Record<string, { $ref: string }>
  content?: Content
  $ref?: string
}

type Paths = Record<string, Record<string, Operation>>

/** The parts of an OpenAPI document that this file uses. */
export interface OpenApi {
  info: { title: string; description?: string }
  tags: { name: string; description: string }[]
  paths: Paths
  webhooks?: Paths
  components: {
    schemas?: Record<string, Schema>
    responses?: Record<string, Response>
    headers?: Record<string, object>
    securitySchemes: object
  }
}

/** The parts of a document that do not come from the routes' schemas. */
export interface DocumentOptions {
  /** The requests that the service sends, by name; their schemas are read like those of routes. */
  webhooks?: Record<string, object> | undefined
}

/**
 * Completes the document that the routes' schemas give: a schema with a title becomes a component of that name, keywords of
 * our own are left out, and every operation names its tenant header and its security.
 */
export const completeDocument = (generated: object, { webhooks }: DocumentOptions): OpenApi => {
  const document: OpenApi = JSON.parse(JSON.stringify({ ...generated, ...(webhooks && { webhooks }) }))
  const components = new Components()
  for (const operation of operationsOf(document)) complete(operation, components)
  document.components.schemas = components.sorted()
  addHeaders(document)
  shareErrors(document)
  const used = new Set(operationsOf(document).flatMap(({ tags = [] }) => tags))
  document.tags = document.tags.filter(({ name }) => used.has(name))
  return document
}

/** The part of a document that has operations of these tags. */
export const partOf = (document: OpenApi, tags: readonly string[]): OpenApi => {
  const isWanted = (operation: Operation): boolean => !!operation.tags?.some(tag => tags.includes(tag))
  const part = structuredClone(document)
  for (const paths of [part.paths, part.webhooks ?? {}])
    for (const [path, operations] of Object.entries(paths)) {
      const wanted = Object.entries(operations).filter(([, operation]) => isWanted(operation))
      if (wanted.length > 0) paths[path] = Object.fromEntries(wanted)
      else delete paths[path]
    }
  if (Object.keys(part.webhooks ?? {}).length === 0) delete part.webhooks
  part.tags = part.tags.filter(({ name }) => tags.includes(name))
  Object.assign(part.components, reachable(part))
  const schemes = new Set(operationsOf(part).flatMap(({ security = [] }) => security.flatMap(Object.keys)))
  const { securitySchemes } = part.components
  part.components.securitySchemes = Object.fromEntries(
    Object.entries(securitySchemes).filter(([name]) => schemes.has(name)),
  )
  return part
}

export const operationsOf = ({ paths, webhooks = {} }: OpenApi): Operation[] =>
  [...Object.values(paths), ...Object.values(webhooks)].flatMap(Object.values<Operation>)

const complete = (operation: Operation, components: Components): void => {
  operation.security ??= []
  const parameters = (operation.parameters ?? []).map(parameter => ({
    ...parameter,
    ...(parameter.in === 'header' && headerFields(parameter)),
    schema: components.read(parameter.schema),
  }))
  const isOfTenant = operation.security.some(scheme => 'token' in scheme)
  if (isOfTenant && !parameters.some(({ name }) => name === tenantHeader.name)) parameters.push(tenantHeader)
  if (parameters.length > 0) operation.parameters = parameters
  for (const response of Object.values(operation.responses))
    if (response.description === 'Default Response') response.description = 'Success.'
  const contents = [operation.requestBody, ...Object.values(operation.responses)].map(part => part?.content ?? {})
  for (const media of contents.flatMap(content => Object.values(content))) {
    if (!media.schema) continue
    Object.assign(media, media.example === undefined && !media.examples && examplesOf(media.schema))
    // It is the description of the response or of the body.
    const { description: _, ...schema } = media.schema
    media.schema = components.read(schema)
  }
}

const addHeaders = ({ paths, components }: OpenApi): void => {
  for (const [path, operations] of Object.entries(paths))
    for (const operation of Object.values(operations))
      for (const [status, response] of Object.entries(operation.responses)) {
        const headers = headersOf(path, operation, status)
        if (Object.keys(headers).length > 0) response.headers = headers
      }
  const used = new Set(JSON.stringify(paths).match(/(?<=#\/components\/headers\/)[^"]+/g))
  components.headers = Object.fromEntries(Object.entries(responseHeaders).filter(([name]) => used.has(name)))
}

/** Names the error responses that operations have in common, `Error404`: of several with a status the most frequent. */
const shareErrors = (document: OpenApi): void => {
  const errors = operationsOf(document).flatMap(({ responses }) =>
    Object.entries(responses)
      .filter(([, { content }]) => content?.['application/json']?.schema?.$ref === refTo('Error'))
      .map(([status, response]) => ({ status, response, responses, text: JSON.stringify(response) })),
  )
  const byText = Map.groupBy(errors, ({ status, text }) => status + text)
  const shared: Record<string, Response> = {}
  for (const same of [...byText.values()].sort((a, b) => b.length - a.length))
    for (const { status, response, responses } of same) {
      const name = `Error${status}`
      shared[name] ??= response
      if (isDeepStrictEqual(shared[name], response)) responses[status] = { $ref: `#/components/responses/${name}` }
    }
  document.components.responses = Object.fromEntries(Object.entries(shared).sort())
}

const tenantHeader: Parameter = {
  name: 'X-tenant',
  in: 'header',
  required: true,
  description: 'The tenant.',
  schema: { type: 'string' },
  example: 'demo',
}

const headerNames = [tenantHeader.name, 'Idempotency-Key', 'X-Hub-Signature-256']
/** Its name in the usual case; the tenant is always required, whatever the schema leaves to other checks. */
const headerFields = ({ name: lower, required = false }: Parameter): Pick<Parameter, 'name' | 'required'> => {
  const name = headerNames.find(known => known.toLowerCase() === lower) ?? lower
  return { name, required: required || name === tenantHeader.name }
}

/** Collects the members of a union by their titles. */
const examplesOf = ({ anyOf = [], examples = [] }: Schema): Pick<Media, 'examples' | 'example'> => {
  if (examples.length > 0) return { example: examples[0] }
  const named = anyOf.flatMap(({ title, examples: [value] = [] }) => (value === undefined ? [] : [[title, { value }]]))
  return named.length > 0 ? { examples: Object.fromEntries(named) } : {}
}

const isSchema = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The schemas that others refer to by name. */
class Components {
  readonly #schemas = new Map<string, Schema>()

  sorted(): Record<string, Schema> {
    return Object.fromEntries([...this.#schemas].sort(([a], [b]) => (a < b ? -1 : 1)))
  }

  /** The schema as the document has it: by reference when it has a title. */
  read({ must: _must, sentence: _sentence, documented, ...schema }: Schema): Schema {
    // The rules for a text would contradict what `documented` says of it, such as that a number is written in it.
    if (documented) for (const keyword of ['type', 'pattern', 'maxLength', 'anyOf']) delete schema[keyword]
    const inner = mapInner(Object.assign(schema, documented), each => this.read(each))
    if (inner.title === undefined) return inner
    const { title, description, examples: _examples, ...body } = inner
    const known = this.#schemas.get(title)
    if (known && !isDeepStrictEqual(known, body)) throw new Error(`Two schemas have the title ${title}.`)
    this.#schemas.set(title, body)
    return { $ref: refTo(title), ...(description !== undefined && { description }) }
  }
}

/** The names of properties that hold a time, wherever they stand. */
const isTime = /(^|_)(at|time|since|until)$|^(timestamp|now|in_doubt_before)$/

const asTime = (schema: Schema): Schema =>
  schema.anyOf
    ? { ...schema, anyOf: schema.anyOf.map(asTime) }
    : { ...schema, ...(schema.type === 'string' && { format: 'date-time' }) }

const refTo = (name: string): string => `#/components/schemas/${name}`

/** The schema with other schemas inside, and with simpler words for a union of literals and for a record. */
const mapInner = (schema: Schema, change: (inner: Schema) => Schema): Schema => {
  const result = { ...schema }
  const { properties, patternProperties, items, additionalProperties, anyOf } = schema
  const each = (schemas: object) =>
    Object.fromEntries(
      Object.entries(schemas).map(([name, one]) => [name, change(isTime.test(name) ? asTime(one) : one)]),
    )
  if (isSchema(properties)) result.properties = each(properties)
  if (isSchema(items)) result.items = change(items)
  if (isSchema(additionalProperties)) result.additionalProperties = change(additionalProperties)
  if (isSchema(patternProperties)) {
    delete result.patternProperties
    result.additionalProperties = change(Object.values(patternProperties as Record<string, Schema>)[0] ?? {})
  }
  if (!anyOf) return result
  if (!anyOf.every(member => literalsOf(member))) return { ...result, anyOf: anyOf.map(change) }
  delete result.anyOf
  return { ...result, type: anyOf[0]?.type, enum: anyOf.flatMap(literalsOf) }
}

const literalsOf = (schema: Schema): unknown => schema.enum ?? ('const' in schema ? [schema.const] : undefined)

/** The components that the operations refer to, directly or through others. */
const reachable = ({ paths, webhooks, components: { schemas = {}, responses = {}, headers = {} } }: OpenApi) => {
  const found = new Set<string>()
  const visit = (json: string): void => {
    for (const [, name = ''] of json.matchAll(/"#\/components\/\w+\/([^"]+)"/g))
      if (!found.has(name))
        visit(JSON.stringify(found.add(name) && (schemas[name] ?? responses[name] ?? headers[name])))
  }
  visit(JSON.stringify([paths, webhooks]))
  const used = <Part>(parts: Record<string, Part>): Record<string, Part> =>
    Object.fromEntries(Object.entries(parts).filter(([name]) => found.has(name)))
  return { schemas: used(schemas), responses: used(responses), headers: used(headers) }
}
