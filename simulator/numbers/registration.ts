import type { PhoneNumber } from '../accounts/account.ts'
import type { RegistrationHistory } from '../accounts/accounts.ts'
import { GraphError, parameterRequired } from '../graph/errors.ts'

/** messaging-api 2.1: 10 calls in a moving 72 h; the 11th blocks for the next 72 h. */
const mostCalls = 10
const windowMs = 72 * 3_600_000

const mostWrongPins = 5
const guessBlockMs = 3_600_000

/** Counts a call of register or deregister; throws 133016 when there were too many. */
export const countCall = (limit: RegistrationHistory['register'], now: number): void => {
  limit.calls = limit.calls.filter(at => at > now - windowMs)
  if (now >= limit.blockedUntil && limit.calls.length < mostCalls) {
    limit.calls.push(now)
    return
  }
  if (now >= limit.blockedUntil) limit.blockedUntil = now + windowMs
  const hours = Math.ceil((limit.blockedUntil - now) / 3_600_000)
  throw new GraphError(133016, { details: `Too many attempts for this phone number. Try again in ${hours} hours.` })
}

/** The fields of spec.md 2.7; throws 100 for the first that is missing or malformed. */
export const readRegistration = (body: unknown): { pin: string; certificate: string } => {
  const { messaging_product, pin, certificate } = (body ?? {}) as Record<string, unknown>
  if (messaging_product === undefined) throw parameterRequired('messaging_product')
  if (messaging_product !== 'whatsapp')
    throw new GraphError(100, { message: '(#100) Param messaging_product must be one of {WHATSAPP}.' })
  if (typeof certificate !== 'string' || certificate === '') throw parameterRequired('certificate')
  return { pin: readPin(pin), certificate }
}

export const readPin = (pin: unknown): string => {
  if (pin === undefined) throw parameterRequired('pin')
  if (typeof pin !== 'string' || !/^[0-9]{6}$/.test(pin))
    throw new GraphError(100, { details: 'Param pin must be a string of 6 digits.' })
  return pin
}

/** Throws 131045 for a wrong certificate, 133005 for a wrong PIN, 133008 after five wrong PINs. */
export const checkRegistration = (
  number: PhoneNumber,
  history: RegistrationHistory,
  { pin, certificate }: { pin: string; certificate: string },
  now: number,
): void => {
  if (now < history.guessesBlockedUntil) throw tooManyGuesses(history.guessesBlockedUntil - now)
  if (certificate !== number.certificate)
    throw new GraphError(131045, { details: 'The certificate does not belong to this phone number.' })
  if (number.pin === null || pin === number.pin) {
    history.wrongPins = 0
    return
  }
  history.wrongPins += 1
  if (history.wrongPins < mostWrongPins) throw new GraphError(133005)
  history.wrongPins = 0
  history.guessesBlockedUntil = now + guessBlockMs
  throw tooManyGuesses(guessBlockMs)
}

const tooManyGuesses = (waitMs: number): GraphError =>
  new GraphError(133008, { details: `Too many wrong PINs. Try again in ${Math.ceil(waitMs / 1000)} seconds.` })
