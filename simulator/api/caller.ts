import { bearerToken } from '@courier/shared/access/authenticate.ts'
import type { FastifyRequest } from 'fastify'
import type { AccessToken, PhoneNumber, scopes } from '../accounts/account.ts'
import { GraphError, objectMissing } from '../graph/errors.ts'
import type { World } from '../world/world.ts'

type Scope = (typeof scopes)[number]

/** Returns the token of a request; throws 104 without a token, 190 if the token is unknown, revoked or expired. */
export const findToken = (world: World, request: FastifyRequest): AccessToken => {
  const given = bearerToken(request.headers.authorization)
  if (given === undefined) throw new GraphError(104)
  const token = world.accounts.tokens.get(given)
  const error = token ? findTokenError(token) : new GraphError(190)
  if (error) throw error
  return token as AccessToken
}

/** Returns the error of a known token. undefined: the token is valid. */
export const findTokenError = ({ revoked, expires_at }: AccessToken): GraphError | undefined => {
  const now = Date.now()
  if (revoked)
    return new GraphError(190, {
      subcode: 460,
      message:
        'Error validating access token: The session has been invalidated because the user changed their password or the session was changed for security reasons.',
    })
  if (expires_at === 0 || expires_at * 1000 > now) return undefined
  const times = [expires_at * 1000, now].map(at => new Date(at).toUTCString())
  return new GraphError(190, {
    subcode: 463,
    message: `Error validating access token: Session has expired on ${times[0]}. The current time is ${times[1]}.`,
  })
}

/** Finds the number if the request's token may use it; throws 100/33 if not, or 10 if the token lacks the scope. */
export const findNumber = (world: World, request: FastifyRequest, id: string, scope: Scope): PhoneNumber => {
  const token = findToken(world, request)
  const number = world.accounts.numbers.get(id)
  if (!number || !token.waba_ids.includes(number.waba_id)) throw objectMissing(request.method, id)
  if (!token.scopes.includes(scope)) throw new GraphError(10)
  return number
}

export const isAccount = (world: World, id: string): boolean =>
  world.accounts.numbers.values().some(number => number.waba_id === id)

/** Throws unless the token may manage the account: 100/33 for an unknown account, 200 if the token lacks the right. */
export const checkAccount = (world: World, request: FastifyRequest, wabaId: string): void => {
  // A GET of an account without a token gets this error (docs/contributors/messaging-api.md#error-table).
  if (request.headers.authorization === undefined) throw new GraphError(200, { message: '(#200) Provide valid app ID' })
  const token = findToken(world, request)
  if (!isAccount(world, wabaId)) throw objectMissing(request.method, wabaId)
  if (!token.waba_ids.includes(wabaId) || !token.scopes.includes('whatsapp_business_management'))
    throw new GraphError(200)
}
