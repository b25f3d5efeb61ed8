import { createHmac } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import { createVerifier } from './verify.ts'

const sign = (bytes: Uint8Array, secret: string): string =>
  `sha256=${createHmac('sha256', secret).update(bytes).digest('hex')}`

const verifySignature = (bytes: Uint8Array, header: string | undefined, secrets: readonly string[]): boolean =>
  secrets.some(createVerifier(bytes, header))

const bytes = Buffer.from('{"entry":[]}')

t.test('the signature is the HMAC-SHA256 of RFC 4231', t => {
  const header = 'sha256=5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843'
  t.ok(verifySignature(Buffer.from('what do ya want for nothing?'), header, ['Jefe']))
  t.notOk(verifySignature(Buffer.from('what do ya want for nothing!'), header, ['Jefe']))
  t.end()
})

t.test('during a rotation either secret signs', t => {
  t.ok(verifySignature(bytes, sign(bytes, 'old'), ['new', 'old']))
  t.ok(verifySignature(bytes, sign(bytes, 'new'), ['new', 'old']))
  t.notOk(verifySignature(bytes, sign(bytes, 'older'), ['new', 'old']))
  t.end()
})

t.test('a number without a secret, or with an empty one, verifies nothing', t => {
  t.notOk(verifySignature(bytes, sign(bytes, ''), []))
  t.notOk(verifySignature(bytes, sign(bytes, ''), ['']))
  t.end()
})

t.test('accepts only the exact form of the header', t => {
  const good = sign(bytes, 'secret')
  const bad = [
    undefined,
    '',
    good.slice(7),
    good.toUpperCase(),
    good.replace('sha256', 'SHA256'),
    good.replace('sha256', 'sha1'),
    ` ${good}`,
    `${good} `,
    `${good}\n`,
    `${good}, ${good}`,
    good.slice(0, -2),
    `${good}00`,
    good.replace(/.$/, 'g'),
    `sha256=${good.slice(7).toUpperCase()}`,
  ].filter(header => header === undefined || header !== good)
  for (const header of bad) t.notOk(verifySignature(bytes, header, ['secret']), JSON.stringify(header))
  t.end()
})

t.test('accepts any bytes signed with the secret', t => {
  fc.assert(
    fc.property(fc.uint8Array(), fc.string({ minLength: 1 }), (body, secret) =>
      verifySignature(body, sign(body, secret), ['another', secret]),
    ),
  )
  t.end()
})

t.test('refuses any flipped bit of the body', t => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 1 }), fc.nat(), fc.string({ minLength: 1 }), (body, n, secret) => {
      const bit = n % (body.length * 8)
      const flipped = Uint8Array.from(body)
      flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7))
      return !verifySignature(flipped, sign(body, secret), [secret])
    }),
  )
  t.end()
})

t.test('refuses any flipped bit of the header', t => {
  const header = Buffer.from(sign(bytes, 'secret'))
  for (let bit = 0; bit < header.length * 8; bit++) {
    const flipped = Buffer.from(header)
    flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7))
    if (verifySignature(bytes, flipped.toString('latin1'), ['secret'])) t.fail(`bit ${bit}`)
  }
  t.end()
})
