import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { parse } from '../services/notifier/core/messaging-api/read-json.ts'

export type JsonSchema = Record<string, unknown>

export interface Parameter {
  readonly name: string
  readonly in: 'query' | 'header' | 'path'
  readonly required: boolean
  readonly schema: JsonSchema
}

/** Describes a request that a service's /openapi.json documents. */
export interface Operation {
  /** Holds the method and the path, such as `POST /api/messages`. */
  readonly id: string
  readonly method: string
  /** Holds the path, with `{name}` for a parameter. */
  readonly path: string
  readonly needsToken: boolean
  readonly parameters: readonly Parameter[]
  readonly body: JsonSchema | undefined
  /** Limits the body of a request. */
  readonly maxBodyBytes: number
  /** Holds a body that is valid in the demo tenant. */
  readonly example: unknown
  /** Maps statuses to schemas by content type; a status without content allows any. The first use compiles one. */
  readonly responses: ReadonlyMap<number, ReadonlyMap<string, () => ValidateFunction>>
}

interface DocumentedOperation {
  'x-max-body-bytes'?: number
  security?: unknown[]
  parameters?: Parameter[]
  requestBody?: { content?: Content }
  responses: Record<string, { content?: Content }>
}
type Content = Record<
  string,
  { schema?: JsonSchema; example?: unknown; examples?: Record<string, { value?: unknown }> }
>

export interface OpenApi {
  paths: Record<string, Record<string, DocumentedOperation>>
  components?: Record<'schemas' | 'responses' | 'headers', Record<string, JsonSchema>>
}

/** Returns every operation of a document. */
export const readOperations = (document: OpenApi): Operation[] => {
  const compile = createCompiler()
  const { schemas, responses, headers } = document.components ?? {}
  const paths = inline(document.paths, { ...schemas, ...responses, ...headers }) as OpenApi['paths']
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => readOperation(compile, path, method.toUpperCase(), operation)),
  )
}

/** Replaces references with the schemas that they name. No documented schema contains itself. */
const inline = (value: unknown, named: Record<string, JsonSchema>): unknown => {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(item => inline(item, named))
  const { $ref, ...fields } = value as JsonSchema
  const target = typeof $ref === 'string' ? named[$ref.split('/').at(-1) ?? ''] : {}
  if (!target) throw new Error(`the document has no ${$ref}`)
  const all = Object.entries({ ...target, ...fields })
  return Object.fromEntries(all.map(([name, field]) => [name, inline(field, named)]))
}

type Compile = (schema: JsonSchema) => ValidateFunction

/** Compiles each schema once, although many operations share it: that takes most of the time of reading a document. */
const createCompiler = (): Compile => {
  const ajv = new Ajv2020({ strict: false, validateFormats: false })
  const compiled = new Map<string, ValidateFunction>()
  return schema => {
    const text = JSON.stringify(schema)
    const known = compiled.get(text) ?? ajv.compile(schema)
    compiled.set(text, known)
    return known
  }
}

const readOperation = (compile: Compile, path: string, method: string, operation: DocumentedOperation): Operation => ({
  id: `${method} ${path}`,
  method,
  path,
  needsToken: (operation.security ?? []).length > 0,
  parameters: (operation.parameters ?? []).map(parameter =>
    parameter.in === 'header' ? { ...parameter, name: parameter.name.toLowerCase() } : parameter,
  ),
  body: operation.requestBody?.content?.['application/json']?.schema,
  maxBodyBytes: operation['x-max-body-bytes'] ?? 4_096,
  example: findExample(operation.requestBody?.content?.['application/json']),
  responses: new Map(
    Object.entries(operation.responses).map(([status, { content = {} }]) => [
      Number(status),
      compileLater(compile, content),
    ]),
  ),
})

const compileLater = (compile: Compile, content: Content): Map<string, () => ValidateFunction> =>
  new Map(
    Object.entries(content).map(([type, { schema = {} }]) => {
      let compiled: ValidateFunction | undefined
      return [type, () => (compiled ??= compile(schema))]
    }),
  )

export interface Response {
  /** Is 0 if the connection was closed without a response. */
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly text: string
  readonly ms: number
}

/** Returns how the response differs from the operation's document; undefined when it does not. */
export const findDeviation = (operation: Operation, { status, headers, text }: Response): string | undefined => {
  const contents = operation.responses.get(status)
  const type = String(headers['content-type']).split(';')[0] ?? ''
  if (status >= 500) return `responded ${status}: ${text}`
  if (!contents) return `responded ${status}, which is not documented: ${text}`
  if (contents.size === 0) return undefined
  const findValidator = contents.get(type)
  if (!findValidator) return `responded ${status} as ${type} instead of ${[...contents.keys()]}`
  const body = type === 'application/json' ? parse(text) : text
  return findValidator()(body) ? undefined : `responded ${status} with a body that is not documented: ${text}`
}

/** Returns true for a valid response to an unknown operation: JSON with a message, 4xx. */
export const isPlainRefusal = ({ status, headers, text }: Omit<Response, 'ms'>): boolean =>
  status >= 400 &&
  status < 500 &&
  String(headers['content-type']).startsWith('application/json') &&
  typeof (parse(text) as { message?: unknown } | undefined)?.message === 'string'

const findExample = (content: Content[string] | undefined): unknown =>
  content?.example ?? Object.values(content?.examples ?? {})[0]?.value
