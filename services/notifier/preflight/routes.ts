import { strictExceptBody } from '@courier/shared/edge/validator.ts'
import { errorResponses, httpError, invalid } from '@courier/shared/errors/errors.ts'
import { ErrorList, listErrors } from '@courier/shared/errors/field-errors.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { TypeCompiler } from '@sinclair/typebox/compiler'
import type { WaybillDependencies } from '../messages/about-waybill.ts'
import { messagesReader, type ReadMessages } from '../messages/read-messages.ts'
import { MessageBodies, MessageBody } from '../messages/schema.ts'
import { maxMessageBytes } from '../messaging-api/message-template.ts'
import { ordersUnavailable } from '../orders-client/orders-client.ts'
import { type Preflighted, preflight } from './preflight.ts'
import { type Preflight, Preflights } from './view.ts'

export interface PreflightOptions extends WaybillDependencies {
  /** Of one request; 1000 without it. */
  maxMessages?: number | undefined
  /** Of one request; 5 MiB without it. */
  maxBodyBytes?: number | undefined
}

/** What a send would do. */
export const preflightRoutes: FastifyPluginAsyncTypebox<PreflightOptions> = async (app, options) => {
  const { maxMessages = 1000, maxBodyBytes = 5_242_880 } = options
  const readMessages = messagesReader(maxMessages)
  app.post(
    '/api/messages/preflight',
    {
      bodyLimit: Math.min(maxBodyBytes, maxMessages * maxMessageBytes),
      // Checked below, with the sentences of a send.
      validatorCompiler: strictExceptBody,
      schema: {
        tags: ['messages'],
        security: [{ token: [] }],
        operationId: 'preflightMessages',
        summary: 'What would become of a message, or of up to 1000, without sending them',
        body: Type.Union([MessageBody, MessageBodies(maxMessages)], { examples: MessageBody.examples }),
        response: { 200: Preflights, ...errorResponses(400, 401, 413, 415, 422, 429, 503) },
      },
    },
    async ({ body, staff }) => {
      const isBulk = isList(body)
      const read = isBulk ? readMessages(body) : readMessage(body)
      const pathOf = isBulk ? (index: number) => `messages.${index}.` : () => ''
      return { data: readResult(await preflight(options, staff.tenant, read, pathOf)) }
    },
  )
}

/** Whether a body is one of `POST /api/messages/bulk`. */
const isList = (body: unknown): boolean =>
  Array.isArray(body) || (typeof body === 'object' && body !== null && Object.hasOwn(body, 'messages'))

const check = TypeCompiler.Compile(MessageBody)

const readMessage = (body: unknown): ReadMessages =>
  check.Check(body)
    ? { bodies: [body], errors: new ErrorList() }
    : { bodies: [undefined], errors: listErrors(check, body ?? {}) }

const readResult = (result: Preflighted): Preflight[] => {
  switch (result.kind) {
    case 'examined':
      return result.messages
    case 'refused':
      throw invalid(result.errors.errors, undefined, result.errors.more)
    case 'orders_away':
      throw httpError('unavailable', ordersUnavailable, { retryAfterSeconds: 2 })
  }
}
