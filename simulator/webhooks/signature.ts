import { createHmac } from 'node:crypto'

/** The bytes of a webhook: JSON with everything beyond ASCII as `\uXXXX`, in lower-case hex, as the real one signs it. */
export const serialize = (payload: unknown): Buffer =>
  Buffer.from(
    JSON.stringify(payload).replace(
      /[\u0080-\uffff]/g,
      unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
    ),
    'latin1',
  )

/** The value of X-Hub-Signature-256 (messaging-api 4.2). */
export const signatureOf = (body: Buffer, appSecret: string): string =>
  `sha256=${createHmac('sha256', appSecret).update(body).digest('hex')}`
