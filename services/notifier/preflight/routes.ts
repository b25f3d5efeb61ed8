import { strictExceptBody } from '@courier/shared/edge/validator.ts'
import { errorResponses } from '@courier/shared/errors/errors.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type { WaybillDependencies } from '../messages/about-waybill.ts'
import { createBatchReader, readOne } from '../messages/batch.ts'
import { MessageBodies, MessageBody } from '../messages/schema.ts'
import { refusal } from '../messages/send-routes.ts'
import { maxMessageBytes } from '../messaging-api/message-template.ts'
import { preflight } from './preflight.ts'
import { Preflights } from './view.ts'

interface PreflightOptions extends WaybillDependencies {
  /** The limit of one request; 1000 by default. */
  maxMessages?: number | undefined
  /** The limit of one request; 5 MiB by default. */
  maxBodyBytes?: number | undefined
}

/** Predicts the outcome of a send. */
export const preflightRoutes: FastifyPluginAsyncTypebox<PreflightOptions> = async (app, options) => {
  const { maxMessages = 1000, maxBodyBytes = 5_242_880 } = options
  const readBatch = createBatchReader(maxMessages)
  app.post(
    '/api/messages/preflight',
    {
      bodyLimit: Math.min(maxBodyBytes, maxMessages * maxMessageBytes),
      // The handler checks the body, with the sentences of a send.
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
      const result = await preflight(options, staff.tenant, isBulk(body) ? readBatch(body) : readOne(body))
      if (result.kind !== 'examined') throw refusal(result)
      return { data: result.messages }
    },
  )
}

/** Returns true for a body of `POST /api/messages/bulk`. */
const isBulk = (body: unknown): boolean =>
  Array.isArray(body) || (typeof body === 'object' && body !== null && Object.hasOwn(body, 'messages'))
