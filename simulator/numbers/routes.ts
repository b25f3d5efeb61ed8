import type { FastifyPluginAsync } from 'fastify'
import { historyOf } from '../accounts/accounts.ts'
import { checkAccount, numberOf, tokenOf } from '../accounts/caller.ts'
import { parameterRequired } from '../graph/errors.ts'
import { answer } from '../trouble/meet.ts'
import type { World } from '../world.ts'
import { describeToken } from './debug-token.ts'
import { pickFields } from './fields.ts'
import { checkRegistration, countCall, readPin, readRegistration } from './registration.ts'

interface OfNumber {
  Params: { id: string }
  Querystring: { fields?: string }
}

/** The calls about a phone number (spec.md 4.2, messaging-api 2 and 7). */
export const numbers: FastifyPluginAsync<{ world: World }> = async (app, { world }) => {
  app.post<OfNumber>('/:id/register', (request, reply) => {
    const number = numberOf(world, request, request.params.id, 'whatsapp_business_management')
    const registration = readRegistration(request.body)
    const history = historyOf(world.accounts, number.phone_number_id)
    const now = world.clock.now()
    countCall(history.register, now)
    checkRegistration(number, history, registration, now)
    return answer(world, request, reply, () => {
      Object.assign(number, { registered: true, pin: registration.pin })
      return { success: true }
    })
  })

  app.post<OfNumber>('/:id/deregister', (request, reply) => {
    const number = numberOf(world, request, request.params.id, 'whatsapp_business_management')
    countCall(historyOf(world.accounts, number.phone_number_id).deregister, world.clock.now())
    return answer(world, request, reply, () => {
      number.registered = false
      return { success: true }
    })
  })

  app.post<OfNumber>('/:id', (request, reply) => {
    const number = numberOf(world, request, request.params.id, 'whatsapp_business_management')
    const pin = readPin((request.body as { pin?: unknown } | undefined)?.pin)
    return answer(world, request, reply, () => {
      number.pin = pin
      return { success: true }
    })
  })

  app.get<OfNumber>('/:id', (request, reply) => {
    const number = numberOf(world, request, request.params.id, 'whatsapp_business_management')
    const fields = pickFields(number, request.query.fields)
    return answer(world, request, reply, () => fields)
  })

  app.get<OfNumber>('/:id/phone_numbers', (request, reply) => {
    const { id } = request.params
    checkAccount(world, request, id)
    const ofAccount = [...world.accounts.numbers.values()].filter(number => number.waba_id === id)
    const data = ofAccount.map(number => pickFields(number, request.query.fields))
    return answer(world, request, reply, () => ({ data }))
  })
}

/** The call about a token (messaging-api 7); it has no id in its path. */
export const debugToken: FastifyPluginAsync<{ world: World }> = async (app, { world }) => {
  app.get<{ Querystring: { input_token?: string } }>('/debug_token', (request, reply) => {
    tokenOf(world, request)
    const { input_token } = request.query
    if (!input_token) throw parameterRequired('input_token')
    return answer(world, request, reply, () => describeToken(world.accounts.tokens.get(input_token), world.clock.now()))
  })
}
