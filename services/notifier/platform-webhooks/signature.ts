import { createHmac, timingSafeEqual } from 'node:crypto'

/**
 * Returns true if `header` is `sha256=` and the HMAC-SHA256 of the body's bytes under one of the app secrets, in
 * lower-case hex (docs/contributors/messaging-api.md#signature). Takes the same time for every wrong signature.
 */
export const verifySignature = (
  rawBytes: Uint8Array,
  header: string | undefined,
  secrets: readonly string[],
): boolean => {
  const given = readSignature(header)
  if (!given) return false
  // An empty key would let anyone sign.
  const fits = secrets
    .filter(secret => secret !== '')
    .map(secret => timingSafeEqual(createHmac('sha256', secret).update(rawBytes).digest(), given))
  return fits.includes(true)
}

/** Returns the 32 bytes of a well-formed signature header. */
export const readSignature = (header: string | undefined): Buffer | undefined => {
  const hex = /^sha256=([0-9a-f]{64})$/.exec(header ?? '')?.[1]
  return hex === undefined ? undefined : Buffer.from(hex, 'hex')
}
