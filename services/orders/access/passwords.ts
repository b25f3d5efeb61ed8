import { argon2, randomBytes, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'

/** OWASP's choice for argon2id: 19 MiB, two passes, one lane. */
const cost = { memory: 19_456, passes: 2, parallelism: 1, tagLength: 32 }

const derive = (password: string, nonce: Buffer): Promise<Buffer> =>
  promisify(argon2)('argon2id', { message: password.normalize('NFKC'), nonce, ...cost })

/** `argon2id$<salt>$<hash>`, both base64url; the cost is this file's. */
export const hashPassword = async (password: string): Promise<string> => {
  const salt = randomBytes(16)
  return `argon2id$${salt.toString('base64url')}$${(await derive(password, salt)).toString('base64url')}`
}

export const isPassword = async (password: string, stored: string): Promise<boolean> => {
  const [, salt = '', hash = ''] = stored.split('$')
  const derived = await derive(password, Buffer.from(salt, 'base64url'))
  return timingSafeEqual(derived, Buffer.from(hash, 'base64url'))
}
