import { randomUUID } from 'node:crypto'
import { findFacts, isPlainGraphCode } from './error-table.ts'

interface GraphErrorOptions {
  details?: string | undefined
  subcode?: number | undefined
  status?: number | undefined
  message?: string | undefined
  type?: 'OAuthException' | 'GraphMethodException'
  transient?: boolean | undefined
  retryAfterSeconds?: number | undefined
}

/** Represents the API's error response; `code` is from docs/contributors/messaging-api.md#error-table. */
export class GraphError extends Error {
  override name = 'GraphError'
  readonly code: number
  readonly options: GraphErrorOptions

  constructor(code: number, options: GraphErrorOptions = {}) {
    const { title, bare } = findFacts(code)
    super(options.message ?? (bare ? title : `(#${code}) ${title}`))
    this.code = code
    this.options = options
  }

  get status(): number {
    return this.options.status ?? findFacts(this.code).status
  }
}

/** Builds the body of an error response (docs/contributors/messaging-api.md#error-format). */
export const writeErrorBody = ({ message, code, options }: GraphError) => {
  const { subcode, type = 'OAuthException', transient } = options
  const details = options.details ?? (isPlainGraphCode(code) ? undefined : findDetails(code))
  return {
    error: {
      message,
      type,
      code,
      ...(details !== undefined && { error_data: { messaging_product: 'whatsapp', details } }),
      ...(subcode !== undefined && { error_subcode: subcode }),
      ...(transient !== undefined && { is_transient: transient }),
      fbtrace_id: `A${randomUUID().replaceAll('-', '').slice(0, 22)}`,
    },
  }
}

/** Returns the `details` of an error that has none of its own: from the table, or else the title. */
export const findDetails = (code: number): string =>
  findFacts(code).details ?? `${findFacts(code).title.replace(/\.$/, '')}.`

/** Returns the one error for a wrong and an inaccessible object (docs/contributors/messaging-api.md#error-table). */
export const objectMissing = (method: string, id: string): GraphError =>
  new GraphError(100, {
    subcode: 33,
    type: 'GraphMethodException',
    message: `Unsupported ${method.toLowerCase()} request. Object with ID '${id}' does not exist, cannot be loaded due to missing permissions, or does not support this operation. Please read the Graph API documentation at https://developers.facebook.com/docs/graph-api`,
  })

/** Reads the names in `fields` of a query, which may be repeated. Throws for a name that a node of `type` lacks. */
export const readFields = (fields: string | readonly string[], type: string, known: readonly string[]): string[] => {
  const names = [fields].flat().flatMap(list => list.split(',').map(name => name.trim()))
  const unknown = names.find(name => !known.includes(name))
  if (unknown === undefined) return names
  throw new GraphError(100, {
    message: `(#100) Tried accessing nonexisting field (${unknown.slice(0, 100)}) on node type (${type})`,
  })
}

export const parameterRequired = (name: string): GraphError =>
  new GraphError(100, { message: `(#100) The parameter ${name} is required.` })

/** The oldest usable version serves requests to older ones (docs/contributors/messaging-api.md#versions). */
const oldestUsable = 'v21.0'

/** Returns the version that serves a request. */
export const chooseVersion = (asked = oldestUsable): string =>
  Number(asked.slice(1)) > Number(oldestUsable.slice(1)) ? asked : oldestUsable
