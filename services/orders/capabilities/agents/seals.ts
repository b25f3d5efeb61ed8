import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'

interface Asked {
  readonly name: string
  readonly client_id: string
  readonly redirect_uri: string
  readonly challenge: string
  /** Holds a time in milliseconds. */
  readonly ends_at: number
}

/** Lists by kind what agents on the web and browsers keep between requests. */
export interface Sealed {
  client: { readonly name: string; readonly redirect_uris: readonly string[] }
  /** Holds what an agent asks a person for. */
  request: Asked & { readonly state?: string | undefined; readonly may_book: boolean }
  code: Asked & { merchantId: string; personId: string | null; may_book: boolean; days: number }
  refresh: { readonly token_id: string }
}
type Kind = keyof Sealed

/**
 * Signs what others keep, with the secret that all processes share: nothing is stored, so that strangers who register
 * clients fill no table (RFC 7591, A.5.2). No two seals are equal.
 */
export const createSeals = (serviceToken: string) => {
  const key = createHmac('sha256', serviceToken).update('seals of agents').digest()
  const sign = (kind: Kind, tenant: string, content: string): string =>
    createHmac('sha256', key).update([kind, tenant, content].join('\n')).digest('base64url')
  return {
    seal: <K extends Kind>(kind: K, tenant: string, value: Sealed[K]): string => {
      const content = Buffer.from(JSON.stringify({ ...value, salt: randomBytes(9).toString('base64url') }))
      const text = content.toString('base64url')
      return `${text}.${sign(kind, tenant, text)}`
    },
    /** Returns undefined for all but what `seal` made of this kind for this tenant. */
    open: <K extends Kind>(kind: K, tenant: string, text: unknown): Sealed[K] | undefined => {
      const [, content = '', given = ''] = /^([\w-]+)\.([\w-]{43})$/.exec(String(text)) ?? []
      // Compares texts: four texts decode to the same bytes, and each would be another code.
      const isOurs = given && timingSafeEqual(Buffer.from(given), Buffer.from(sign(kind, tenant, content)))
      return isOurs ? JSON.parse(Buffer.from(content, 'base64url').toString()) : undefined
    },
  }
}
