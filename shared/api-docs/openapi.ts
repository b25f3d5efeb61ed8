import { isDeepStrictEqual } from 'node:util'
import { isTime, makeExample, readLiterals, type Schema } from './examples.ts'

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
  content?: Content
  $ref?: string
}

type Paths = Record<string, Record<string, Operation>>

/** Describes the parts of an OpenAPI document that this file uses. */
export interface OpenApi {
  info: { title: string; version: string; description?: string }
  tags: { name: string; description: string }[]
  paths: Paths
  webhooks?: Paths
  components: {
    schemas?: Record<string, Schema>
    responses?: Record<string, Response>
    securitySchemes: object
  }
}

/**
 * Completes the document that the routes' schemas give: a schema with a title becomes a component of that name,
 * keywords of our own are left out, and every operation names its tenant header and its security.
 */
export const completeDocument = (generated: object): OpenApi => {
  const document: OpenApi = JSON.parse(JSON.stringify(generated))
  const components = new Components()
  for (const operation of listOperations(document)) complete(operation, components)
  document.components.schemas = components.sort()
  shareErrors(document)
  const used = new Set(listOperations(document).flatMap(({ tags = [] }) => tags))
  document.tags = document.tags.filter(({ name }) => used.has(name))
  return document
}

/** Returns the part of a document that has operations with these tags, with the document's schemas and responses. */
export const selectPart = (document: OpenApi, tags: readonly string[]): OpenApi => {
  const part = structuredClone(document)
  for (const paths of [part.paths, part.webhooks ?? {}])
    for (const [path, operations] of Object.entries(paths)) {
      for (const [method, { tags: given = [] }] of Object.entries(operations))
        if (!given.some(tag => tags.includes(tag))) delete operations[method]
      if (Object.keys(operations).length === 0) delete paths[path]
    }
  part.tags = part.tags.filter(({ name }) => tags.includes(name))
  const schemes = new Set(listOperations(part).flatMap(({ security = [] }) => security.flatMap(Object.keys)))
  const known = Object.entries(part.components.securitySchemes)
  part.components.securitySchemes = Object.fromEntries(known.filter(([name]) => schemes.has(name)))
  return part
}

export const listOperations = ({ paths, webhooks = {} }: OpenApi): Operation[] =>
  [...Object.values(paths), ...Object.values(webhooks)].flatMap(Object.values<Operation>)

const complete = (operation: Operation, components: Components): void => {
  operation.security ??= []
  const parameters = (operation.parameters ?? []).map(parameter => ({
    ...parameter,
    ...(parameter.in === 'header' && describeHeader(parameter)),
    schema: components.read(parameter.schema),
  }))
  const isOfTenant = operation.security.some(scheme => 'token' in scheme)
  if (isOfTenant && !parameters.some(({ name }) => name === tenantHeader.name)) parameters.push(tenantHeader)
  if (parameters.length > 0) operation.parameters = parameters
  for (const response of Object.values(operation.responses))
    if (response.description === 'Default Response') response.description = 'Success.'
  for (const part of [operation.requestBody, ...Object.values(operation.responses)])
    for (const media of Object.values(part?.content ?? {})) {
      if (!media.schema) continue
      if (media.example === undefined) Object.assign(media, listExamples(media.schema, media.examples))
      // The description belongs to the response or the body.
      const { description: _, ...schema } = media.schema
      media.schema = components.read(schema)
    }
}

/**
 * Names the error responses that operations have in common, such as `Error404`; if a status has several, names the most
 * frequent one.
 */
const shareErrors = (document: OpenApi): void => {
  const errors = listOperations(document).flatMap(({ responses }) =>
    Object.entries(responses)
      .filter(([, { content }]) => content?.['application/json']?.schema?.$ref === writeRef('Error'))
      .map(([status, response]) => ({ name: `Error${status}`, status, response, responses })),
  )
  const byText = Map.groupBy(errors, ({ response }) => JSON.stringify(response))
  const shared: Record<string, Response> = {}
  for (const same of [...byText.values()].sort((a, b) => b.length - a.length))
    for (const { name, status, response, responses } of same) {
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
/**
 * Returns a header's name in its usual spelling. The tenant is always required, even if the schema leaves that to other
 * checks.
 */
const describeHeader = ({ name: lower, required = false }: Parameter): Pick<Parameter, 'name' | 'required'> => {
  const name = headerNames.find(known => known.toLowerCase() === lower) ?? lower
  return { name, required: required || name === tenantHeader.name }
}

/**
 * Returns the schema's first example, or else an example of each titled member of its union, or the given examples, or
 * one that `makeExample` makes.
 */
const listExamples = (schema: Schema, given?: Media['examples']): Pick<Media, 'examples' | 'example'> => {
  const { anyOf = [], examples = [] } = schema
  if (examples.length > 0) return { example: examples[0] }
  const named = anyOf.flatMap(member => (member.title ? [[member.title, { value: makeExample(member) }]] : []))
  if (named.length > 0) return { examples: Object.fromEntries(named) }
  return given ? { examples: given } : { example: makeExample(schema) }
}

class Components {
  readonly #schemas = new Map<string, Schema>()

  sort(): Record<string, Schema> {
    return Object.fromEntries([...this.#schemas].sort(([a], [b]) => (a < b ? -1 : 1)))
  }

  /** Returns the schema as the document has it: by reference when it has a title. */
  read({ must: _must, sentence: _sentence, documented, ...schema }: Schema): Schema {
    // The rules for a text would contradict `documented`, which may say that the text holds a number.
    if (documented) for (const keyword of ['type', 'pattern', 'maxLength', 'anyOf']) delete schema[keyword]
    const inner = mapInner(Object.assign(schema, documented), each => this.read(each))
    if (inner.title === undefined) return inner
    const { title, description, examples: _examples, ...body } = inner
    const known = this.#schemas.get(title)
    if (known && !isDeepStrictEqual(known, body)) throw new Error(`Two schemas have the title ${title}.`)
    this.#schemas.set(title, body)
    return { $ref: writeRef(title), ...(description !== undefined && { description }) }
  }
}

const toTime = (schema: Schema): Schema =>
  schema.anyOf
    ? { ...schema, anyOf: schema.anyOf.map(toTime) }
    : { ...schema, ...(schema.type === 'string' && { format: 'date-time' }) }

const writeRef = (name: string): string => `#/components/schemas/${name}`

/**
 * Returns the schema with the schemas inside it changed, and with simpler keywords for a union of literals and for a
 * record.
 */
const mapInner = (schema: Schema, change: (inner: Schema) => Schema): Schema => {
  const { patternProperties, anyOf, ...result } = schema
  const { properties, items, additionalProperties } = result
  if (properties) {
    const named = Object.entries(properties).map(([name, one]) => [name, change(isTime.test(name) ? toTime(one) : one)])
    result.properties = Object.fromEntries(named)
  }
  if (items) result.items = change(items)
  const [ofRecord] = [...Object.values(patternProperties ?? {}), additionalProperties]
  if (typeof ofRecord === 'object') result.additionalProperties = change(ofRecord)
  if (!anyOf) return result
  if (!anyOf.every(member => readLiterals(member).length > 0)) return { ...result, anyOf: anyOf.map(change) }
  return { ...result, type: anyOf[0]?.type, enum: anyOf.flatMap(readLiterals) }
}
