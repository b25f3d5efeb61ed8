import { createHmac } from 'node:crypto'
import fc from 'fast-check'
import { phoneNumberId } from '../services/notifier/test/stage.ts'
import { envelope, inbound, status } from '../services/notifier/test/webhooks-stage.ts'
import { appSecret, rivalSecret, startNotifier, verifyToken } from './applications.ts'
import { Broken, type Outcome, type TrustPromise } from './promise.ts'
import { printOf } from './table-prints.ts'

interface Forgery {
  body: Buffer
  signature: string | undefined
}

const sign = (body: Buffer, secret: string): string =>
  `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`

const flip = (bytes: Buffer, n: number): Buffer => {
  const flipped = Buffer.from(bytes)
  const bit = n % (bytes.length * 8)
  flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7))
  return flipped
}

/** The same document in other bytes. */
const rewritten = (body: Buffer, n: number): Buffer => {
  const document = JSON.parse(body.toString())
  const ways = [
    () => JSON.stringify(document, null, 1 + (n % 8)),
    () => JSON.stringify(Object.fromEntries(Object.entries(document).reverse())),
    () => `${body}\n`,
    () => ` ${body}`,
    () => body.toString().replace('whatsapp', '\\u0077hatsapp'),
  ]
  return Buffer.from(ways[n % ways.length]?.() ?? '')
}

const wrongSecrets = [
  '',
  appSecret.slice(0, -1),
  appSecret.toUpperCase(),
  `${appSecret} `,
  rivalSecret,
  verifyToken,
  phoneNumberId,
  'demo',
]

/** Ways to forge a call, by name. */
const forgeries: Record<string, (body: Buffer, n: number) => Forgery> = {
  'flipped bit of the signature': (body, n) => ({
    body,
    signature: flip(Buffer.from(sign(body, appSecret)), n).toString('latin1'),
  }),
  'flipped bit of the body': (body, n) => ({ body: flip(body, n), signature: sign(body, appSecret) }),
  'no signature': (body, n) => ({ body, signature: [undefined, '', 'sha256=', 'sha256'][n % 4] }),
  'truncated signature': (body, n) => ({ body, signature: sign(body, appSecret).slice(0, n % 71) }),
  'truncated body': (body, n) => ({ body: body.subarray(0, n % body.length), signature: sign(body, appSecret) }),
  'body written anew': (body, n) => ({ body: rewritten(body, n), signature: sign(body, appSecret) }),
  'another secret': (body, n) => ({
    body,
    signature: sign(body, wrongSecrets[n % wrongSecrets.length] || `wrong ${n}`),
  }),
}

/** Calls that write something when they are taken. */
const bodiesFor = (id: string): Buffer[] =>
  [
    envelope(
      { statuses: [status({ id: 'wamid.forged', status: 'delivered', biz_opaque_callback_data: id })] },
      phoneNumberId,
    ),
    envelope({ messages: [inbound({ from: '94770000303' })] }, phoneNumberId),
    envelope({ messages: [inbound({ from: '94770000304', text: { body: 'STOP' } })] }, phoneNumberId),
  ].map(document => Buffer.from(JSON.stringify(document)))

const start = async (t: Parameters<typeof startNotifier>[0]) => {
  const notifier = await startNotifier(t)
  const post = async ({ body, signature }: Forgery): Promise<number> => {
    const headers = {
      'content-type': 'application/json',
      ...(signature !== undefined && { 'x-hub-signature-256': signature }),
    }
    return (await notifier.app.inject({ method: 'POST', url: '/webhooks/messaging', headers, payload: body }))
      .statusCode
  }
  const example = notifier.operations.find(({ id }) => id === 'POST /api/messages')?.example
  // Not sent meanwhile: whatever changes is the webhooks' doing.
  const send_at = new Date(Date.now() + 86_400_000).toISOString()
  const { data } = (await notifier.call('POST', '/api/messages', { ...(example as object), send_at })).body
  return { ...notifier, post, bodies: bodiesFor(data.id) }
}

export const signatures: TrustPromise = {
  name: 'signatures',
  promise: 'A webhook that the app secret did not sign is refused and writes nothing',
  limit: 'x 1,000 of each forgery: all 401, 0 writes',
  run: async (options): Promise<Outcome> => {
    const each = options.short ? 100 : 1_000
    const broken = new Broken()
    const { post, bodies, rows } = await start(options)
    const print = async () => [await printOf(rows, 'demo'), await printOf(rows, 'rival')].join()
    const before = await print()
    let tried = 0
    for (const [index, [name, forge]] of Object.entries(forgeries).entries()) {
      const chances = fc.sample(fc.nat(1_000_000), { numRuns: each, seed: options.seed + index })
      for (const [count, n] of chances.entries()) {
        const status = await post(forge(bodies[count % bodies.length] as Buffer, n))
        broken.require(status === 401, `${name} (${n}): ${status}`)
        tried++
      }
      options.report(`${name}: ${each}`)
    }
    const after = await print()
    const writes = after === before ? 0 : 1
    broken.require(writes === 0, 'a forged call wrote something')
    // What was forged is taken, and written, once it is signed rightly.
    for (const body of bodies)
      broken.require((await post({ body, signature: sign(body, appSecret) })) === 200, 'a right signature was refused')
    broken.require((await print()) !== before, 'a rightly signed call wrote nothing: this test could not fail')
    return { measured: { forgeries: tried, 'not refused': broken.count, writes }, broken: broken.sentences }
  },
}
