import { factsOf, isPlainGraphCode } from './error-table.ts'

interface GraphErrorOptions {
  details?: string | undefined
  subcode?: number | undefined
  /** Replaces the status of the table. */
  status?: number | undefined
  /** Replaces `(#code) title`. */
  message?: string | undefined
  type?: 'OAuthException' | 'GraphMethodException'
  transient?: boolean | undefined
  retryAfterSeconds?: number | undefined
}

/** An error response of the messaging API; `code` is one of docs/contributors/messaging-api.md#error-table. */
export class GraphError extends Error {
  override name = 'GraphError'
  readonly code: number
  readonly options: GraphErrorOptions

  constructor(code: number, options: GraphErrorOptions = {}) {
    super(options.message ?? messageOf(code))
    this.code = code
    this.options = options
  }

  get status(): number {
    return this.options.status ?? factsOf(this.code).status
  }
}

const messageOf = (code: number): string => {
  const { title, bare } = factsOf(code)
  return bare ? title : `(#${code}) ${title}`
}

/** Builds the body of docs/contributors/messaging-api.md#error-format. */
export const errorBody = ({ message, code, options }: GraphError) => {
  const { subcode, type = 'OAuthException', transient } = options
  const details = options.details ?? (isPlainGraphCode(code) ? undefined : detailsOf(code))
  return {
    error: {
      message,
      type,
      code,
      ...(details !== undefined && { error_data: { messaging_product: 'whatsapp', details } }),
      ...(subcode !== undefined && { error_subcode: subcode }),
      ...(transient !== undefined && { is_transient: transient }),
      fbtrace_id: `A${opaqueId(22)}`,
    },
  }
}

/** Returns the `details` of a code that is returned or sent without a reason of its own. */
export const detailsOf = (code: number): string => factsOf(code).details ?? `${factsOf(code).title.replace(/\.$/, '')}.`

/**
 * Returns the error for a wrong or inaccessible object (docs/contributors/messaging-api.md#error-table): one error for
 * both.
 */
export const objectMissing = (method: string, id: string): GraphError =>
  new GraphError(100, {
    subcode: 33,
    type: 'GraphMethodException',
    message: `Unsupported ${method.toLowerCase()} request. Object with ID '${id}' does not exist, cannot be loaded due to missing permissions, or does not support this operation. Please read the Graph API documentation at https://developers.facebook.com/docs/graph-api`,
  })

export const parameterRequired = (name: string): GraphError =>
  new GraphError(100, { message: `(#100) The parameter ${name} is required.` })

const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

/** Returns random letters and digits without meaning; not for secrets. */
const opaqueId = (length: number): string => {
  let id = ''
  for (let left = length; left > 0; left--) id += letters[Math.floor(Math.random() * letters.length)]
  return id
}

/** Converts `v21.0` to a number that grows with the version. */
const rank = (version: string): number => {
  const [major = '0', minor = '0'] = version.slice(1).split('.')
  return Number(major) * 1000 + Number(minor)
}

/** The oldest version still usable; it serves requests to older ones (docs/contributors/messaging-api.md#versions). */
const oldestUsable = 'v21.0'

export const servedVersion = (asked: string | undefined): string =>
  asked !== undefined && rank(asked) > rank(oldestUsable) ? asked : oldestUsable
