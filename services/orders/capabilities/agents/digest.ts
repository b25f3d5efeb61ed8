import { createHmac, timingSafeEqual } from 'node:crypto'
import type { OrderScope } from '../../core/access/merchant.ts'

const validMs = 3_600_000

/**
 * Signs what a merchant's agent quoted, with the secret that all processes share: one process accepts the digest of
 * another, and none keeps it. Each quote has a digest of its own.
 */
export const createDigests = (serviceToken: string, now = Date.now) => {
  const key = createHmac('sha256', serviceToken).update('quotes of agents').digest()
  const sign = ({ tenant, merchantId }: OrderScope, content: string, end: number): string =>
    `${end}.${createHmac('sha256', key).update([tenant, merchantId, end, content].join('\n')).digest('base64url')}`
  return {
    create: (merchant: OrderScope, content: string) => sign(merchant, content, now() + validMs),
    /** Returns true for a digest of the last hour, for this merchant and content. */
    isValid: (given: string, merchant: OrderScope, content: string): boolean => {
      const end = Number.parseInt(given, 10)
      const [one, other] = [given, sign(merchant, content, end)].map(text => Buffer.from(text)) as [Buffer, Buffer]
      return one.length === other.length && timingSafeEqual(one, other) && end > now()
    },
  }
}
