import type { Actor } from '@courier/shared/audit.ts'
import { inTenant } from '@courier/shared/database.ts'
import { errorAnswers } from '@courier/shared/http/errors.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type { FastifyRequest } from 'fastify'
import type { Tx } from '../database/tables.ts'
import { Checked, checkChannel } from './check.ts'
import { type Desk, readChannel } from './desk.ts'
import { PhoneNumberId, Pin } from './fields.ts'
import { ChannelBody, putChannel } from './put.ts'
import { findChannels, resumeChannel } from './queries.ts'
import { registerNumber } from './register.ts'
import { Channel, showChannels } from './view.ts'

export interface ChannelsOptions extends Desk {
  readonly staffOf: (request: FastifyRequest) => { tenant: string; actor: Actor }
  /** Told when a paused channel may send again. */
  readonly onResumed: () => void
}

const tags = ['channels']
const security = [{ token: [] }]
const Told = Type.Object({ message: Type.String(), data: Channel })
const params = Type.Object({ phone_number_id: Type.String() })

const RegistrationBody = Type.Object({
  pin: Pin,
  certificate: Type.String({ minLength: 1, maxLength: 10_000, must: 'be a text of 1 to 10000 characters' }),
})

/** The numbers that messages are sent from, and their credentials: secrets go in, and never come out. */
export const channels: FastifyPluginAsyncTypebox<ChannelsOptions> = async (app, options) => {
  const { pool, staffOf, onResumed } = options
  const failures = (...statuses: number[]) => errorAnswers(400, 401, ...statuses, 413, 415, 429, 503)

  app.get(
    '/api/channels',
    {
      schema: {
        tags,
        summary: 'List the channels',
        security,
        response: { 200: Type.Object({ data: Type.Array(Channel) }), ...errorAnswers(400, 401, 429, 503) },
      },
    },
    async request => {
      const { tenant } = staffOf(request)
      const list = async (tx: Tx) => showChannels(tx, tenant, await findChannels(tx, tenant))
      return { data: await inTenant(pool, tenant, list) }
    },
  )

  app.put(
    '/api/channels/:phone_number_id',
    {
      schema: {
        tags,
        summary: 'Create a channel or change it',
        security,
        params: Type.Object({ phone_number_id: PhoneNumberId }),
        body: ChannelBody,
        response: { 200: Told, ...failures(422) },
      },
    },
    async request => {
      const { tenant, actor } = staffOf(request)
      const { phone_number_id: id } = request.params
      const { isNew, changed } = await putChannel(options, tenant, id, request.body, actor)
      request.log.info({ phone_number_id: id, changed }, isNew ? 'channel.created' : 'channel.changed')
      return {
        message: isNew ? 'Channel Created Successfully' : 'Channel Updated Successfully',
        data: await readChannel(pool, tenant, id),
      }
    },
  )

  app.post(
    '/api/channels/:phone_number_id/register',
    {
      schema: {
        tags,
        summary: 'Register the number',
        description: 'One call of the messaging API, never repeated: it allows ten in 72 hours.',
        security,
        params,
        body: RegistrationBody,
        response: { 200: Told, ...failures(404, 422) },
      },
    },
    async request => {
      const { tenant, actor } = staffOf(request)
      const { phone_number_id: id } = request.params
      const { pin, certificate } = request.body
      await registerNumber(options, tenant, id, { pin, certificate }, actor)
      request.log.info({ phone_number_id: id }, 'channel.registered')
      return { message: 'Channel Registered Successfully', data: await readChannel(pool, tenant, id) }
    },
  )

  app.post(
    '/api/channels/:phone_number_id/check',
    {
      schema: {
        tags,
        summary: 'Ask the messaging API how number and token are',
        description: 'When nothing is wrong, a new token replaces the old one, and a paused channel is resumed.',
        security,
        params,
        response: { 200: Type.Object({ data: Checked }), ...failures(404) },
      },
    },
    async request => {
      const { phone_number_id: id } = request.params
      const { tenant, actor } = staffOf(request)
      const { checked, isResumed } = await checkChannel(options, tenant, id, actor)
      const { ok, problems } = checked
      request.log.info({ phone_number_id: id, ok, problems: problems.length, resumed: isResumed }, 'channel.checked')
      if (isResumed) onResumed()
      return { data: checked }
    },
  )

  app.post(
    '/api/channels/:phone_number_id/resume',
    { schema: { tags, summary: 'Lift a pause', security, params, response: { 200: Told, ...failures(404) } } },
    async request => {
      const { tenant, actor } = staffOf(request)
      const { phone_number_id: id } = request.params
      const { state } = await readChannel(pool, tenant, id)
      await inTenant(pool, tenant, (tx: Tx) => resumeChannel(tx, tenant, id, actor))
      if (state === 'paused') request.log.info({ phone_number_id: id }, 'channel.resumed')
      onResumed()
      return { message: 'Channel Resumed Successfully', data: await readChannel(pool, tenant, id) }
    },
  )
}
