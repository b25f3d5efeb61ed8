import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'

export type JsonSchema = Record<string, unknown>

export interface Parameter {
  readonly name: string
  readonly in: 'query' | 'header' | 'path'
  readonly required: boolean
  readonly schema: JsonSchema
}

/** A call that a service's /openapi.json tells of. */
export interface Operation {
  /** Such as `POST /api/messages`. */
  readonly id: string
  readonly method: string
  /** With `{name}` where a parameter stands. */
  readonly path: string
  readonly needsToken: boolean
  readonly parameters: readonly Parameter[]
  readonly body: JsonSchema | undefined
  /** A body that is right in the demo tenant. */
  readonly example: unknown
  /** By status, with content type to schema; no content: whatever. */
  readonly answers: ReadonlyMap<number, ReadonlyMap<string, ValidateFunction>>
}

interface DocumentedOperation {
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
}

/** Every operation of a document. */
export const operationsOf = (document: OpenApi): Operation[] => {
  // Our schemas carry words of their own, such as `must`.
  const ajv = new Ajv2020({ strict: false, validateFormats: false })
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => read(ajv, path, method.toUpperCase(), operation)),
  )
}

const read = (ajv: Ajv2020, path: string, method: string, operation: DocumentedOperation): Operation => ({
  id: `${method} ${path}`,
  method,
  path,
  needsToken: (operation.security ?? []).length > 0,
  parameters: operation.parameters ?? [],
  body: operation.requestBody?.content?.['application/json']?.schema,
  example: exampleOf(operation.requestBody?.content?.['application/json']),
  answers: new Map(
    Object.entries(operation.responses).map(([status, { content = {} }]) => [Number(status), compile(ajv, content)]),
  ),
})

const compile = (ajv: Ajv2020, content: Content): Map<string, ValidateFunction> =>
  new Map(Object.entries(content).map(([type, { schema = {} }]) => [type, ajv.compile(schema)]))

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly text: string
}

/** How the answer differs from what the document says of the operation; undefined when it does not. */
export const deviation = (operation: Operation, { status, headers, text }: Answer): string | undefined => {
  const contents = operation.answers.get(status)
  const type = String(headers['content-type']).split(';')[0] ?? ''
  if (status >= 500) return `answered ${status}: ${text}`
  if (!contents) return `answered ${status}, which is not documented: ${text}`
  if (contents.size === 0) return undefined
  const isValid = contents.get(type)
  if (!isValid) return `answered ${status} as ${type} instead of ${[...contents.keys()]}`
  const body = type === 'application/json' ? parse(text) : text
  return isValid(body) ? undefined : `answered ${status} with another body than documented: ${text}`
}

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The answer to what names no operation: JSON with a message, 4xx. */
export const isPlainRefusal = ({ status, headers, text }: Answer): boolean =>
  status >= 400 &&
  status < 500 &&
  String(headers['content-type']).startsWith('application/json') &&
  typeof (parse(text) as { message?: unknown } | undefined)?.message === 'string'

const exampleOf = (content: Content[string] | undefined): unknown =>
  content?.example ?? Object.values(content?.examples ?? {})[0]?.value
