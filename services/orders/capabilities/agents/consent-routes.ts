import { refusesKeys } from '@courier/shared/edge/idempotency.ts'
import { acceptJson } from '@courier/shared/edge/json-body.ts'
import { invalid } from '@courier/shared/errors/errors.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import { closed } from '@courier/shared/schemas.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { refuseRoles } from '../../core/access/merchant.ts'
import { refuseTooMany } from '../../core/access/program-token-routes.ts'
import type { Tx } from '../../core/database/tables.ts'
import { findResource, findReturn, type WebOptions } from './oauth-routes.ts'
import { createSeals } from './seals.ts'

const codeMs = 60_000
const useless = 'This request is for another company, or older than ten minutes. Connect the agent again.'

const schema = {
  operationId: 'decideAgent',
  summary: 'Allow or refuse an agent on the web',
  description: 'The browser then opens `url`, where the agent waits. Its token is one of those of programs.',
  body: closed(
    {
      request: Type.String({ maxLength: 12_000, description: 'The request in the address of the desk.' }),
      allow: Type.Boolean(),
      may_book: Type.Boolean({ description: 'False: the agent only reads.' }),
      days: Type.Integer({ minimum: 1, maximum: 365, must: 'be 1 to 365' }),
    },
    { title: 'AgentDecision', examples: [{ request: 'eyJu.c2ln', allow: true, may_book: false, days: 30 }] },
  ),
  response: {
    200: Type.Object({ data: Type.Object({ url: Type.String({ examples: ['https://claude.ai/callback?code=a'] }) }) }),
  },
}

/** Lets a person who may create tokens allow agents on the web (docs/merchants/agents.md#on-the-web). */
export const consentRoutes: FastifyPluginAsyncTypebox<WebOptions> = async (app, { pool, serviceToken }) => {
  const seals = createSeals(serviceToken)
  refuseRoles(app, 'clerk', 'program')
  acceptJson(app)
  app.post('/agent', { ...refusesKeys, schema }, async request => {
    const { tenant, merchantId, person } = request.merchant
    const { allow, may_book, days } = request.body
    const asked = seals.open('request', tenant, request.body.request)
    if (!asked || asked.ends_at < Date.now()) throw invalid({ request: [useless] }, { message: useless })
    if (allow) await inTenant(pool, tenant, (tx: Tx) => refuseTooMany(tx, request.merchant))
    const { state: _, ...code } = { ...asked, merchantId, personId: person?.id ?? null, may_book, days }
    const result = allow
      ? { code: seals.seal('code', tenant, { ...code, ends_at: Date.now() + codeMs }) }
      : { error: 'access_denied' }
    request.log.info(allow ? 'agent.allowed' : 'agent.refused')
    return { data: { url: findReturn(asked, findResource(request, tenant), result) } }
  })
}
