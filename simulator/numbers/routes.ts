import type { FastifyPluginAsync } from 'fastify'
import type { AccessToken, PhoneNumber } from '../accounts/account.ts'
import { GraphError, parameterRequired } from '../graph/errors.ts'
import { numberOf, tokenErrorOf, tokenOf } from '../responses/caller.ts'
import { respond } from '../responses/respond.ts'
import type { World } from '../world/world.ts'
import { demoAppId, pickFields } from './fields.ts'

interface OfNumber {
  Params: { id: string }
  Querystring: { fields?: string }
}

/** The requests about a phone number (docs/contributors/messaging-api.md#register, #numbers-and-tokens). */
export const numbers: FastifyPluginAsync<{ world: World }> = async (app, { world }) => {
  app.post<OfNumber>('/:id/register', (request, reply) => {
    const number = numberOf(world, request, request.params.id, 'whatsapp_business_management')
    const registration = readRegistration(request.body)
    checkRegistration(number, registration)
    return respond(world, request, reply, () => {
      Object.assign(number, { registered: true, pin: registration.pin })
      return { success: true }
    })
  })

  app.get<OfNumber>('/:id', (request, reply) => {
    const number = numberOf(world, request, request.params.id, 'whatsapp_business_management')
    const fields = pickFields(number, request.query.fields)
    return respond(world, request, reply, () => fields)
  })
}

/** The request about a token (docs/contributors/messaging-api.md#numbers-and-tokens); it has no id in its path. */
export const debugToken: FastifyPluginAsync<{ world: World }> = async (app, { world }) => {
  app.get<{ Querystring: { input_token?: string } }>('/debug_token', (request, reply) => {
    tokenOf(world, request)
    const { input_token } = request.query
    if (!input_token) throw parameterRequired('input_token')
    return respond(world, request, reply, () => describeToken(world.accounts.tokens.get(input_token), Date.now()))
  })
}

/** Describes a token (docs/contributors/messaging-api.md#numbers-and-tokens). `now` is in milliseconds. */
const describeToken = (token: AccessToken | undefined, now: number): object => {
  if (!token) return { data: { error: errorOf(new GraphError(190)), is_valid: false, scopes: [] } }
  const error = tokenErrorOf(token, now)
  return {
    data: {
      app_id: demoAppId,
      type: 'SYSTEM_USER',
      application: 'Courier',
      data_access_expires_at: 0,
      expires_at: token.expires_at,
      is_valid: error === undefined,
      issued_at: 1767225600,
      scopes: [...token.scopes, 'public_profile'],
      granular_scopes: token.scopes.map(scope => ({ scope, target_ids: token.waba_ids })),
      user_id: '122100000000000001',
      ...(error && { error: errorOf(error) }),
    },
  }
}

const errorOf = ({ code, message, options: { subcode } }: GraphError): object => ({
  code,
  message,
  ...(subcode !== undefined && { subcode }),
})

/** Reads the fields of docs/merchants/contract.md#register; throws 100 for the first that is missing or malformed. */
const readRegistration = (body: unknown): { pin: string; certificate: string } => {
  const { messaging_product, pin, certificate } = (body ?? {}) as Record<string, unknown>
  if (messaging_product === undefined) throw parameterRequired('messaging_product')
  if (messaging_product !== 'whatsapp')
    throw new GraphError(100, { message: '(#100) Param messaging_product must be one of {WHATSAPP}.' })
  if (typeof certificate !== 'string' || certificate === '') throw parameterRequired('certificate')
  return { pin: readPin(pin), certificate }
}

const readPin = (pin: unknown): string => {
  if (pin === undefined) throw parameterRequired('pin')
  if (typeof pin !== 'string' || !/^[0-9]{6}$/.test(pin))
    throw new GraphError(100, { details: 'Param pin must be a string of 6 digits.' })
  return pin
}

/** Throws 131045 for a wrong certificate, 133005 for a wrong PIN. */
const checkRegistration = (number: PhoneNumber, given: { pin: string; certificate: string }): void => {
  if (given.certificate !== number.certificate)
    throw new GraphError(131045, { details: 'The certificate does not belong to this phone number.' })
  if (number.pin !== null && given.pin !== number.pin) throw new GraphError(133005)
}
