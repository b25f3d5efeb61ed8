import { argon2, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import { atMost } from '@courier/shared/lru-limit.ts'
import { LRUCache } from 'lru-cache'

/** Follows OWASP's parameters for argon2id: 19 MiB, two passes, one lane. */
const cost = { memory: 19_456, passes: 2, parallelism: 1, tagLength: 32 }

const derive = (password: string, nonce: Buffer): Promise<Buffer> =>
  promisify(argon2)('argon2id', { message: password.normalize('NFKC'), nonce, ...cost })

/** Returns `argon2id$<salt>$<hash>`, both base64url, at `cost`. */
export const hashPassword = async (password: string): Promise<string> => {
  const salt = randomBytes(16)
  return `argon2id$${salt.toString('base64url')}$${(await derive(password, salt)).toString('base64url')}`
}

/** Hashes passwords and compares them with stored hashes. Tests use one that remembers the results. */
export interface Passwords {
  readonly hash: typeof hashPassword
  readonly isCorrect: typeof isPassword
}

/** Returns a hash that no password has, for people who have yet to set one or sign in by other means. */
export const matchNoPassword = (): string =>
  `argon2id$${randomBytes(16).toString('base64url')}$${randomBytes(32).toString('base64url')}`

export const isPassword = async (password: string, stored: string): Promise<boolean> => {
  const [, salt = '', hash = ''] = stored.split('$')
  const derived = await derive(password, Buffer.from(salt, 'base64url'))
  return timingSafeEqual(derived, Buffer.from(hash, 'base64url'))
}

/** A correct password is not hashed again for this long. */
const cacheMilliseconds = 600_000

/**
 * Caches correct passwords by their stored hash, each as an HMAC under a key of this process. A changed password has
 * another stored hash, so it is hashed again; a wrong password always costs a hash.
 */
export const createPasswordCheck = (isCorrect = isPassword): typeof isPassword => {
  const key = randomBytes(32)
  const correct = new LRUCache<string, Buffer>({ ...atMost(10_000), ttl: cacheMilliseconds })
  return async (password, stored) => {
    const digest = createHmac('sha256', key).update(password.normalize('NFKC')).digest()
    const cached = correct.get(stored)
    if (cached && timingSafeEqual(cached, digest)) return true
    if (!(await isCorrect(password, stored))) return false
    correct.set(stored, digest)
    return true
  }
}
