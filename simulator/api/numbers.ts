import type { FastifyPluginAsync } from 'fastify'
import type { AccessToken, PhoneNumber } from '../accounts/account.ts'
import type { Behaviour } from '../basics/behaviour.ts'
import { GraphError, parameterRequired, readFields } from '../graph/errors.ts'
import type { World } from '../world/world.ts'
import { checkAccount, findNumber, findToken, findTokenError, isAccount } from './caller.ts'
import { respond } from './respond.ts'

interface OfNumber {
  Params: { id: string }
  Querystring: { fields?: string | string[] }
}

/** Serves the requests about a phone number (docs/contributors/messaging-api.md#register, #numbers-and-tokens). */
export const numberRoutes: FastifyPluginAsync<{ world: World }> = async (app, { world }) => {
  app.post<OfNumber>('/:id/register', (request, reply) => {
    const number = findNumber(world, request, request.params.id, 'whatsapp_business_management')
    const pin = checkRegistration(number, request.body)
    return respond(world, request, reply, () => {
      Object.assign(number, { registered: true, pin })
      return { success: true }
    })
  })

  app.get<OfNumber>('/:id', (request, reply) => {
    if (isAccount(world, request.params.id)) {
      checkAccount(world, request, request.params.id)
      // See docs/contributors/messaging-api.md#numbers-and-tokens: an account without a payment method lacks the field.
      const funding = world.behaviour.payment_method && { primary_funding_id: '6502480000000001' }
      return respond(world, request, reply, () => ({ id: request.params.id, ...funding }))
    }
    const number = findNumber(world, request, request.params.id, 'whatsapp_business_management')
    const known = listFields(number, world.behaviour)
    const names = readFields(request.query.fields ?? defaultFields, 'WhatsAppBusinessPhoneNumber', Object.keys(known))
    const fields = Object.entries(known).filter(([name]) => name === 'id' || names.includes(name))
    return respond(world, request, reply, () => Object.fromEntries(fields))
  })
}

const defaultFields = ['verified_name', 'code_verification_status', 'display_phone_number', 'quality_rating', 'id']

/** Returns the fields of a number that a client may request (docs/contributors/messaging-api.md#numbers-and-tokens). */
const listFields = (
  number: PhoneNumber,
  { webhook_url: callback, portfolio_limit: limit }: Behaviour,
): Record<string, unknown> => ({
  id: number.phone_number_id,
  display_phone_number: number.display_phone_number,
  verified_name: number.verified_name,
  quality_rating: number.quality_rating,
  code_verification_status: 'VERIFIED',
  name_status: 'APPROVED',
  status: number.registered ? 'CONNECTED' : 'DISCONNECTED',
  platform_type: number.registered ? 'CLOUD_API' : 'NOT_APPLICABLE',
  throughput: { level: number.registered ? 'STANDARD' : 'NOT_APPLICABLE' },
  health_status: viewHealth(number),
  whatsapp_business_manager_messaging_limit: `TIER_${limit === 0 ? 'UNLIMITED' : limit % 1000 === 0 ? `${limit / 1000}K` : limit}`,
  webhook_configuration: { ...(callback && { application: callback }) },
})

const viewHealth = ({ registered, phone_number_id, waba_id, business_id }: PhoneNumber) => {
  const can_send_message = registered ? 'AVAILABLE' : 'BLOCKED'
  const error = {
    error_code: 133010,
    error_description: 'The phone number is not registered.',
    possible_solution: 'Register the phone number.',
  }
  const others = { WABA: waba_id, ...(business_id && { BUSINESS: business_id }), APP: demoAppId }
  const entities = [
    { entity_type: 'PHONE_NUMBER', id: phone_number_id, can_send_message, ...(!registered && { errors: [error] }) },
    ...Object.entries(others).map(([entity_type, id]) => ({ entity_type, id, can_send_message: 'AVAILABLE' })),
  ]
  return { can_send_message, entities }
}

export const demoAppId = '670843887433847'

/** Checks a registration; returns its PIN. Throws 100, 131045 for a wrong certificate or 133005 for a wrong PIN. */
const checkRegistration = (number: PhoneNumber, body: unknown): string => {
  const { messaging_product, pin, certificate } = (body ?? {}) as Record<string, unknown>
  if (messaging_product === undefined) throw parameterRequired('messaging_product')
  if (messaging_product !== 'whatsapp')
    throw new GraphError(100, { message: '(#100) Param messaging_product must be one of {WHATSAPP}.' })
  if (typeof certificate !== 'string' || certificate === '') throw parameterRequired('certificate')
  if (pin === undefined) throw parameterRequired('pin')
  if (typeof pin !== 'string' || !/^[0-9]{6}$/.test(pin))
    throw new GraphError(100, { details: 'Param pin must be a string of 6 digits.' })
  if (certificate !== number.certificate)
    throw new GraphError(131045, { details: 'The certificate does not belong to this phone number.' })
  if (number.pin !== null && pin !== number.pin) throw new GraphError(133005)
  return pin
}

/** Serves the request about a token (docs/contributors/messaging-api.md#numbers-and-tokens): its path has no id. */
export const tokenRoutes: FastifyPluginAsync<{ world: World }> = async (app, { world }) => {
  app.get<{ Querystring: { input_token?: string } }>('/debug_token', (request, reply) => {
    findToken(world, request)
    const { input_token } = request.query
    if (!input_token) throw parameterRequired('input_token')
    const data = describeToken(world.accounts.tokens.get(input_token))
    return respond(world, request, reply, () => ({ data }))
  })
}

const describeToken = (token: AccessToken | undefined): object => {
  const error = token ? findTokenError(token) : new GraphError(190)
  const { code, message, options } = error ?? {}
  const refusal = error && { error: { code, message, ...(options?.subcode && { subcode: options.subcode }) } }
  if (!token) return { ...refusal, is_valid: false, scopes: [] }
  return {
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
    ...refusal,
  }
}
