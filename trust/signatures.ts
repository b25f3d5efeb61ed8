import fc from 'fast-check'
import { phoneNumberId } from '../services/notifier/test/fixture.ts'
import { envelope, inbound, sign, status } from '../services/notifier/test/webhooks-fixture.ts'
import type { TrustPromise } from './promise.ts'
import { changedTables, printOf } from './table-prints.ts'
import { appSecret, rivalSecret, startTargets, verifyToken } from './targets.ts'

interface Forgery {
  body: Buffer
  signature: string | undefined
}

const flip = (bytes: Buffer, n: number): Buffer => {
  const flipped = Buffer.from(bytes)
  const bit = n % (bytes.length * 8)
  flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7))
  return flipped
}

/** Returns text that a client can send: the n-th flip, or the next that makes no control character. */
const flipText = (text: string, n: number): string => {
  const flipped = flip(Buffer.from(text), n).toString('latin1')
  return /^[\x20-\x7e\x80-\xff]+$/.test(flipped) ? flipped : flipText(text, n + 1)
}

/** Returns the same document in other bytes. */
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
  ...['', appSecret.slice(0, -1), appSecret.toUpperCase(), `${appSecret} `],
  ...[rivalSecret, verifyToken, phoneNumberId, 'demo'],
]

/** Ways to forge a request, by name. */
const forgeries: Record<string, (body: Buffer, n: number) => Forgery> = {
  'flipped bit of the signature': (body, n) => ({ body, signature: flipText(sign(body, appSecret), n) }),
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

/** Returns requests that write something when they are accepted. */
const bodiesFor = (id: string): Buffer[] =>
  [
    { statuses: [status({ id: 'wamid.forged', status: 'delivered', biz_opaque_callback_data: id })] },
    { messages: [inbound({ from: '94770000303' })] },
    { messages: [inbound({ from: '94770000304', text: { body: 'STOP' } })] },
  ].map(fields => Buffer.from(JSON.stringify(envelope(fields, phoneNumberId))))

export const promise: TrustPromise = {
  promise: 'A webhook that the app secret did not sign is refused and writes nothing',
  limit: '1,000 of each forgery: all 401, 0 rows changed',
  run: async options => {
    const each = options.short ? 50 : 1_000
    const { broken } = options
    const { send, rows, names } = (await startTargets(options)).notifier
    const bodies = bodiesFor(names.id ?? '')
    const post = async ({ body, signature }: Forgery): Promise<number> => {
      const signed = signature === undefined ? {} : { 'x-hub-signature-256': signature }
      const headers = { 'content-type': 'application/json', ...signed }
      return (await send({ method: 'POST', path: '/webhooks/messaging', headers, body })).status
    }
    const print = async () => ({ demo: await printOf(rows, 'demo'), rival: await printOf(rows, 'rival') })
    const changedSince = async (before: Awaited<ReturnType<typeof print>>) => {
      const after = await print()
      return [...changedTables(before.demo, after.demo), ...changedTables(before.rival, after.rival)]
    }
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
    const written = await changedSince(before)
    broken.require(written.length === 0, `a forged request wrote in ${written}`)
    // Requires that the same requests are accepted and stored with a valid signature.
    for (const body of bodies)
      broken.require((await post({ body, signature: sign(body, appSecret) })) === 200, 'a right signature was refused')
    const isWritten = (await changedSince(before)).length > 0
    broken.require(isWritten, 'a rightly signed request wrote nothing: this test could not fail')
    return { forgeries: tried, 'not refused': broken.count, writes: written.length }
  },
}
