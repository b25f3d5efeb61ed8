import { strictExceptBody } from '@courier/shared/edge/validator.ts'
import { ErrorList } from '@courier/shared/errors/field-errors.ts'
import { inTenant, withoutDoubt } from '@courier/shared/postgres/database.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { findConversation } from '../../core/conversations/queries.ts'
import type { Tx } from '../../core/database/tables.ts'
import { readRequests, type WaybillDependencies } from '../../core/messages/about-waybill.ts'
import { checkBatch } from '../../core/messages/accept.ts'
import { type Batch, createBatchReader, MessageBodies, MessageBody, readOne } from '../../core/messages/schema.ts'
import { refusal } from '../../core/messages/send-routes.ts'
import { maxMessageBytes } from '../../core/messaging-api/message-template.ts'
import { findLimits } from '../account-limits/portfolio.ts'
import { findTariffs } from '../costs/queries.ts'
import { runPreflight } from './check.ts'
import { Preflights } from './view.ts'

export const preflightRoutes: FastifyPluginAsyncTypebox<WaybillDependencies> = async (app, options) => {
  const { maxMessages = 1000, maxBodyBytes = 5_242_880 } = options
  const readBatch = createBatchReader(maxMessages)
  const PreflightMessages = {
    operationId: 'preflightMessages',
    summary: 'Predict what becomes of a message, or of up to 1000, without sending them',
    body: Type.Union([MessageBody, MessageBodies(maxMessages)], { examples: MessageBody.examples }),
    response: { 200: Preflights },
  }
  // The handler checks the body and words the errors as a send does.
  app.post(
    '/api/messages/preflight',
    {
      bodyLimit: Math.min(maxBodyBytes, maxMessages * maxMessageBytes),
      validatorCompiler: strictExceptBody,
      schema: PreflightMessages,
    },
    async ({ body, staff }) => {
      const batch = isBulk(body) ? readBatch(body) : readOne(body)
      return { data: await preflight(options, staff.tenant, batch) }
    },
  )
}

/** Predicts what a send would do with each message; refuses a batch that a send would refuse as malformed. */
const preflight = async (dependencies: WaybillDependencies, tenant: string, given: Batch<MessageBody>) => {
  const isMalformed = given.errors.count > 0
  const batch = isMalformed ? given : { ...given, errors: new ErrorList() }
  const { errors, toPath } = batch
  const requests = await readRequests(dependencies, tenant, batch)
  if (!requests) throw refusal(isMalformed ? { kind: 'refused', errors } : { kind: 'orders_away' })
  const { context, checked, tariffs } = await inTenant(dependencies.pool, tenant, async (tx: Tx) => {
    return { ...(await checkBatch(tx, tenant, requests, findConversation)), tariffs: await findTariffs(tx, tenant) }
  }).catch(withoutDoubt)
  if (isMalformed || errors.isFull) throw refusal({ kind: 'refused', errors })
  const recipients = checked.flatMap(message => message?.recipient ?? [])
  const known = { ...context, tariffs, limits: await findLimits(dependencies.pool, tenant, recipients) }
  const byPath = Map.groupBy(Object.entries(errors.all), ([path]) => /^messages\.\d+\./.exec(path)?.[0] ?? '')
  return batch.messages.flatMap((body, index) => {
    const path = toPath(index)
    const found = byPath.get(path)?.map(([name, sentences]) => [name.slice(path.length), sentences])
    const examined = { request: requests.messages[index], checked: found ? undefined : checked[index] }
    return body ? [runPreflight({ body, ...examined, errors: Object.fromEntries(found ?? []) }, known)] : []
  })
}

const isBulk = (body: unknown): boolean =>
  Array.isArray(body) || (typeof body === 'object' && body !== null && Object.hasOwn(body, 'messages'))
