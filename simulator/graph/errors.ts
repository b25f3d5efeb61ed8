import { callRateCodes, factsOf, isPlainGraphCode } from './error-table.ts'
import { opaqueId } from './opaque-id.ts'

export interface GraphErrorOptions {
  details?: string | undefined
  subcode?: number | undefined
  /** Instead of the one of the table. */
  status?: number | undefined
  /** Instead of `(#code) title`. */
  message?: string | undefined
  type?: 'OAuthException' | 'GraphMethodException'
  transient?: boolean | undefined
  retryAfterSeconds?: number | undefined
  /** Told in x-business-use-case-usage by the call-rate codes. */
  regainMinutes?: number | undefined
}

/** An answer of the messaging API other than success; `code` is one of messaging-api 3.3. */
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

  /** Minutes until a call-rate limit lifts; 0 for other codes. */
  get regainMinutes(): number {
    return this.options.regainMinutes ?? (callRateCodes.includes(this.code) ? 5 : 0)
  }
}

const messageOf = (code: number): string => {
  const { title, bare } = factsOf(code)
  return bare ? title : `(#${code}) ${title}`
}

/** The body of messaging-api 3.1. */
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

/** The `details` of a code that is answered or sent without a reason of its own. */
export const detailsOf = (code: number): string => factsOf(code).details ?? `${factsOf(code).title.replace(/\.$/, '')}.`

/** The wrong or inaccessible object of messaging-api 3.3: one answer for both. */
export const objectMissing = (method: string, id: string): GraphError =>
  new GraphError(100, {
    subcode: 33,
    type: 'GraphMethodException',
    message: `Unsupported ${method.toLowerCase()} request. Object with ID '${id}' does not exist, cannot be loaded due to missing permissions, or does not support this operation. Please read the Graph API documentation at https://developers.facebook.com/docs/graph-api`,
  })

export const parameterRequired = (name: string): GraphError =>
  new GraphError(100, { message: `(#100) The parameter ${name} is required.` })
