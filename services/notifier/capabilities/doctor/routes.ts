import { refusesKeys } from '@courier/shared/edge/idempotency.ts'
import { errorResponses, invalid, notFound } from '@courier/shared/errors/errors.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { type DoctorDependencies, diagnose, subscribe } from './diagnose.ts'
import { Line } from './lines.ts'

const params = Type.Object({ phone_number_id: Type.String() })
const Diagnosis = Type.Object({ data: Type.Array(Line) }, { title: 'Diagnosis' })

/** Serves the doctor's checks of a number, and the one remedy that is a request to the API. */
export const doctorRoutes: FastifyPluginAsyncTypebox<DoctorDependencies> = async (app, options) => {
  const DiagnoseChannel = {
    operationId: 'diagnoseChannel',
    summary: 'Find out whether messaging works on the number',
    description: 'Reads the number, its token, subscription and callback with the messaging API; changes nothing.',
    params,
    response: { 200: Diagnosis, ...errorResponses(404) },
  }
  app.get('/api/channels/:phone_number_id/doctor', { schema: DiagnoseChannel }, async request => {
    const data = await diagnose(options, request.staff.tenant, request.params.phone_number_id)
    if (!data) throw notFound('channel')
    return { data }
  })

  const SubscribeChannel = {
    operationId: 'subscribeChannel',
    summary: 'Subscribe the app to the account of the number',
    description: 'Without the subscription the messaging API sends no webhooks of the account.',
    params,
    response: { 200: Diagnosis, ...errorResponses(404) },
  }
  app.post(
    '/api/channels/:phone_number_id/subscribe',
    { ...refusesKeys, schema: SubscribeChannel },
    async ({ staff: { tenant, actor }, params: { phone_number_id: id }, log }) => {
      const result = await subscribe(options, tenant, id, actor)
      if (!result) throw notFound('channel')
      if (result.kind === 'refused') throw invalid({ subscription: [result.reason] })
      log.info({ phone_number_id: id }, 'channel.subscribed')
      return { data: (await diagnose(options, tenant, id)) ?? [] }
    },
  )
}
