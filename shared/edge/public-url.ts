import type { FastifyInstance, FastifyRequest } from 'fastify'

declare module 'fastify' {
  interface FastifyRequest {
    /** Holds the address at which callers reach the service, without a trailing slash; '' if it is unknown. */
    publicUrl: string
  }
}

type IsTrusted = (address: string, hop: number) => boolean

/**
 * Decorates requests with `publicUrl`: `configured`, else the X-Forwarded-Host of a trusted proxy, else the local
 * address of the connection. It never trusts the client's `Host`.
 */
export const namePublicUrl = (app: FastifyInstance, configured: string | undefined, isTrusted: IsTrusted): void => {
  const fixed = configured?.replace(/\/$/, '')
  app.decorateRequest('publicUrl', {
    getter(this: FastifyRequest): string {
      return fixed ?? readForwardedUrl(this, isTrusted) ?? readLocalUrl(this)
    },
  })
}

const hostText = /^([\w.-]{1,253}|\[[\da-f:.]{2,45}\])(:\d{1,5})?$/i

/** Trusts only the proxy that is connected, as Fastify does. */
const readForwardedUrl = (request: FastifyRequest, isTrusted: IsTrusted): string | undefined => {
  const { headers, host, protocol, socket } = request
  if (!headers['x-forwarded-host'] || !isTrusted(socket.remoteAddress ?? '', 0)) return undefined
  return hostText.test(host) ? `${protocol === 'https' ? 'https' : 'http'}://${host}` : undefined
}

const readLocalUrl = ({ socket: { localAddress, localPort } }: FastifyRequest): string => {
  if (localAddress === undefined) return ''
  const address = localAddress.replace(/^::ffff:/, '')
  return `http://${address.includes(':') ? `[${address}]` : address}:${localPort}`
}
