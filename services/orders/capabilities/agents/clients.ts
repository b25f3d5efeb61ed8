import type { Sealed } from './seals.ts'

/** Becomes a response of the form of RFC 6749. */
export class OAuthError extends Error {
  readonly code: string
  readonly status: number
  constructor(code: string, message: string, status = 400) {
    super(message)
    this.code = code
    this.status = status
  }
}

export const types =
  'Send JSON to register, application/x-www-form-urlencoded to the other addresses, and no content-encoding.'
/** Turns what is wrong with a body into an error of OAuth. Throws other errors. */
export const toOAuthError = (error: Error & { statusCode?: number }): OAuthError => {
  if (error instanceof OAuthError) return error
  if (error.statusCode !== 400 && error.statusCode !== 415) throw error
  return new OAuthError('invalid_request', error.statusCode === 415 ? types : error.message)
}

/** Returns true for https addresses, and for http addresses of the person's own machine. */
const isRedirectUri = (text: unknown): text is string => {
  if (typeof text !== 'string' || text.length > 500 || text.includes('#') || !URL.canParse(text)) return false
  const { protocol, hostname, username, password } = new URL(text)
  const isLoopback = protocol === 'http:' && /^(127\.0\.0\.1|\[::1\]|localhost)$/.test(hostname)
  return (isLoopback || protocol === 'https:') && !username && !password
}

/** Returns true for a registered redirect URI; programs of the person's own machine choose the port (RFC 8252, 7.3). */
export const mayReturn = ({ redirect_uris }: Sealed['client'], given: unknown): boolean => {
  const leaveOutPort = (uri: string) => uri.replace(/^(http:\/\/(?:127\.0\.0\.1|\[::1\]|localhost)):\d+(?![^/?])/, '$1')
  return isRedirectUri(given) && redirect_uris.some(uri => leaveOutPort(uri) === leaveOutPort(given))
}

/** Matches a name on one line, without invisible characters. */
const isName = /^(?!\s)[^\p{C}\p{Zl}\p{Zp}]{1,80}$/u

/** Reads the metadata of a client (RFC 7591). */
export const readClient = (body: unknown): Sealed['client'] => {
  const { client_name, redirect_uris } = (body ?? {}) as Record<string, unknown>
  const [first] = Array.isArray(redirect_uris) ? redirect_uris : []
  if (!Array.isArray(redirect_uris) || !first || redirect_uris.length > 5 || !redirect_uris.every(isRedirectUri))
    throw new OAuthError('invalid_redirect_uri', 'Give 1 to 5 redirect_uris: https, or http of localhost.')
  const name = client_name ?? new URL(first).host
  if (typeof name === 'string' && isName.test(name)) return { name, redirect_uris }
  throw new OAuthError('invalid_client_metadata', 'The client_name must be 1 to 80 characters on one line.')
}
