import { refusesKeys } from '@courier/shared/edge/idempotency.ts'
import { errorResponses, httpError, invalid, notFound } from '@courier/shared/errors/errors.ts'
import { choice, filterRows, flag, listQuery, part, whole } from '@courier/shared/lists/filters.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type { Tx } from '../database/tables.ts'
import { Checked, checkChannel } from './check.ts'
import { ChannelBody, PhoneNumberId, Pin } from './fields.ts'
import { resumeChannel } from './queries.ts'
import { registerNumber } from './register.ts'
import type { ChannelDependencies } from './secrets.ts'
import { putChannel } from './store.ts'
import { type Channel, defineChannel, noWebhooks, readChannel, readChannels } from './view.ts'

interface ChannelsOptions extends ChannelDependencies {
  /** Runs when a channel may send, again or for the first time. */
  readonly onResumed: () => void
  readonly beforeSealing: () => Promise<void>
}

const defineViews = (points: ChannelsOptions['points'] = []) => {
  const data = defineChannel(points)
  const message = Type.String({ examples: ['Channel Updated Successfully'] })
  const description = 'Things that the channel cannot do yet.'
  const warnings = Type.Optional(Type.Array(Type.String(), { description }))
  return {
    Changed: Type.Object({ message, data, warnings }, { title: 'ChannelChanged' }),
    Channels: Type.Object({ data: Type.Array(data) }, { title: 'ChannelList' }),
  }
}
const params = Type.Object({ phone_number_id: Type.String() })

const channelFilters = {
  phone_number_id: whole<Channel>(channel => channel.phone_number_id, 'The phone number id.'),
  name: part<Channel>(channel => channel.name, 'Part of the name, in any letter case.'),
  plan: choice<Channel>(channel => channel.plan, ['free', 'paid'], 'The plan.'),
  state: choice<Channel>(channel => channel.state, ['active', 'paused'], 'The state: only active channels send.'),
  default: flag<Channel>(channel => channel.default, 'True for the default channel.'),
  waba_id: whole<Channel>(channel => channel.waba_id, 'The account.'),
}
const ChannelsQuery = listQuery({}, channelFilters)

/** The size is enough for every secret with every character escaped. */
const maxChannelBytes = 16_384
const maxCertificateLength = 10_000
const maxRegistrationBytes = 6 * maxCertificateLength + 512

const RegistrationBody = Type.Object(
  {
    pin: Pin,
    certificate: Type.String({
      minLength: 1,
      maxLength: maxCertificateLength,
      must: 'be a text of 1 to 10000 characters',
    }),
  },
  { title: 'Registration', examples: [{ pin: '123456', certificate: 'demo-certificate' }] },
)

/** Serves the numbers that send messages, and their credentials: secrets go in, and never come out. */
export const channelRoutes: FastifyPluginAsyncTypebox<ChannelsOptions> = async (app, options) => {
  const { pool, onResumed, beforeSealing, points } = options
  const { Changed, Channels } = defineViews(points)

  const ListChannels = {
    operationId: 'listChannels',
    summary: 'List the channels',
    querystring: ChannelsQuery.schema,
    response: { 200: Channels },
  }
  app.get('/api/channels', { schema: ListChannels }, async ({ staff: { tenant }, query }) => {
    const channels = await inTenant(pool, tenant, (tx: Tx) => readChannels(tx, tenant, undefined, points))
    return { data: [...filterRows(channelFilters, ChannelsQuery.read(query), channels)] }
  })

  const PutChannel = {
    operationId: 'putChannel',
    summary: 'Create a channel or change it',
    description:
      'A new channel sends at once. Its number is proven, so that no other tenant gets its webhooks, once the API accepts its access token for a read or a message.',
    params: Type.Object({ phone_number_id: PhoneNumberId }),
    body: ChannelBody,
    response: { 200: Changed },
  }
  app.put(
    '/api/channels/:phone_number_id',
    { bodyLimit: maxChannelBytes, schema: PutChannel },
    async ({ staff: { tenant, actor }, params: { phone_number_id: id }, body, log }) => {
      await beforeSealing()
      const result = await putChannel(options, tenant, { ...body, phone_number_id: id }, actor)
      if (result.kind === 'refused') throw invalid(result.errors)
      const { isNew, changed, channel: data } = result
      log.info({ phone_number_id: id, changed }, isNew ? 'channel.created' : 'channel.changed')
      onResumed()
      const message = isNew ? 'Channel Created Successfully' : 'Channel Updated Successfully'
      return { message, data, ...(!data.webhooks && { warnings: [noWebhooks] }) }
    },
  )

  const RegisterChannel = {
    operationId: 'registerChannel',
    summary: 'Register the number',
    description: 'Makes one request to the messaging API, which is never repeated: the API allows ten in 72 hours.',
    params,
    body: RegistrationBody,
    response: { 200: Changed, ...errorResponses(404) },
  }
  app.post(
    '/api/channels/:phone_number_id/register',
    { bodyLimit: maxRegistrationBytes, ...refusesKeys, schema: RegisterChannel },
    async ({ staff: { tenant, actor }, params: { phone_number_id: id }, body, log }) => {
      await beforeSealing()
      const result = await registerNumber(options, { tenant, phoneNumberId: id }, body, actor)
      if (result.kind === 'unknown_channel') throw notFound('channel')
      if (result.kind === 'refused') throw invalid({ registration: [result.reason] })
      if (result.kind !== 'registered') {
        const { error: err, kind, reason } = result
        if (err) log.error({ phone_number_id: id, err }, 'channel.registration_not_stored')
        throw httpError(kind === 'unavailable' ? kind : 'outcome_unknown', reason)
      }
      log.info({ phone_number_id: id }, 'channel.registered')
      return { message: 'Channel Registered Successfully', data: result.channel }
    },
  )

  const CheckChannel = {
    operationId: 'checkChannel',
    summary: 'Check the number and its token with the messaging API',
    description: 'If nothing is wrong, a new token replaces the old one, and a paused channel resumes.',
    params,
    response: { 200: Type.Object({ data: Checked }), ...errorResponses(404) },
  }
  app.post(
    '/api/channels/:phone_number_id/check',
    { ...refusesKeys, schema: CheckChannel },
    async ({ staff: { tenant, actor }, params: { phone_number_id: id }, log }) => {
      const result = await checkChannel(options, tenant, id, actor)
      if (!result) throw notFound('channel')
      const { checked, isResumed } = result
      const { ok, problems } = checked
      log.info({ phone_number_id: id, ok, problems: problems.length, resumed: isResumed }, 'channel.checked')
      if (isResumed) onResumed()
      return { data: checked }
    },
  )

  const ResumeChannel = {
    operationId: 'resumeChannel',
    summary: 'Lift a pause',
    params,
    response: { 200: Changed, ...errorResponses(404) },
  }
  app.post(
    '/api/channels/:phone_number_id/resume',
    { ...refusesKeys, schema: ResumeChannel },
    async ({ staff: { tenant, actor }, params: { phone_number_id: id }, log }) => {
      const before = await inTenant(pool, tenant, async (tx: Tx) => {
        const before = await readChannel(tx, tenant, id, points)
        if (before) await resumeChannel(tx, tenant, id, actor)
        return before
      })
      if (!before) throw notFound('channel')
      if (before.state === 'paused') log.info({ phone_number_id: id }, 'channel.resumed')
      onResumed()
      const data = { ...before, state: 'active' as const, paused_reason: null }
      return { message: 'Channel Resumed Successfully', data }
    },
  )
}
