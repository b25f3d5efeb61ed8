import { refusesKeys } from '@courier/shared/edge/idempotency.ts'
import { type FieldErrors, invalid } from '@courier/shared/errors/errors.ts'
import { badText, isBadText } from '@courier/shared/errors/field-errors.ts'
import { normalisePhone } from '@courier/shared/phone-number.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type pg from 'pg'
import type { Tx } from '../database/tables.ts'
import { isUserId } from '../messaging-api/user-id.ts'
import { isOpen, type Person } from './conversation.ts'
import { findRecipient } from './identities.ts'
import type { Keyword } from './keywords.ts'
import { findOptOuts } from './opt-outs.ts'
import { findConversation, findNumber, findNumbers, findSettings, recordInbound, releaseHeld } from './queries.ts'
import { Conversation, conversationView, noPhone, OptOutBody, Phone } from './view.ts'

export const conversationRoutes: FastifyPluginAsyncTypebox<{ pool: pg.Pool }> = async (app, { pool }) => {
  const GetConversation = {
    operationId: 'getConversation',
    summary: 'Read whether a conversation is open and whether the person opted out',
    params: Phone,
    querystring: Type.Object({
      channel: Type.Optional(
        Type.String({ maxLength: 64, description: 'Phone number id; without it, the default channel.' }),
      ),
    }),
    response: { 200: Conversation },
  }
  app.get('/api/conversations/:phone', { schema: GetConversation }, async ({ staff, params, query }) =>
    inTenant(pool, staff.tenant, async (tx: Tx) =>
      readConversation(tx, await findPerson(tx, staff.tenant, params.phone, query.channel)),
    ),
  )

  const OptOutChange = {
    description:
      'The audit names the member of staff. Without a `channel` the change applies to every number of the tenant.',
    params: Phone,
    body: OptOutBody,
    response: { 200: Conversation },
  }
  const record = (path: 'opt-out' | 'opt-in', operationId: string, summary: string, keyword: Keyword) => {
    const schema = { ...OptOutChange, operationId, summary }
    app.post(`/api/conversations/:phone/${path}`, { ...refusesKeys, schema }, async ({ staff, params, body }) => {
      const { tenant, actor: by } = staff
      const { channel, scope = 'all', reason } = body
      if (isBadText(reason)) throw invalid({ reason: [badText('reason')] })
      return inTenant(pool, tenant, async (tx: Tx) => {
        const [first, ...others] = await findNumbers(tx, tenant, channel)
        const person = await findPerson(tx, tenant, params.phone, channel, async () => first)
        const numbers = [person.phoneNumberId, ...others]
        const change = { ...person, at: null, keyword, scope, by, reason }
        const changes = numbers.map(phoneNumberId => ({ ...change, phoneNumberId }))
        const people = await recordInbound(tx, changes)
        if (keyword === 'start')
          await releaseHeld(
            tx,
            people.filter(({ lastInboundAt, now }) => isOpen(lastInboundAt, now)),
          )
        return readConversation(tx, person)
      })
    })
  }
  record('opt-out', 'optOut', 'Record that a person opted out', 'stop')
  record('opt-in', 'optIn', 'Record that a person opted in again', 'start')
}

const readConversation = async (tx: Tx, person: Person) => {
  const { tenant, phoneNumberId, recipient } = person
  const { now } = await findSettings(tx, tenant)
  const known = (await findConversation(tx, tenant, phoneNumberId, [recipient])).get(recipient)
  return conversationView(known, await findOptOuts(tx, person), now)
}

/**
 * Finds a person by a phone number in any usual spelling, or by a user id. Throws 422 for an invalid phone or an
 * unknown channel.
 */
export const findPerson = async (
  tx: Tx,
  tenant: string,
  phone: string,
  channel: string | undefined,
  find: (...given: [Tx, string, string | undefined, string]) => Promise<string | undefined> = findNumber,
): Promise<Person> => {
  const recipient = isUserId(phone)
    ? await findRecipient(tx, tenant, phone)
    : normalisePhone(phone, (await findSettings(tx, tenant)).country)
  const phoneNumberId = await find(tx, tenant, channel, recipient ?? '')
  const errors: FieldErrors = {}
  if (phoneNumberId === undefined)
    errors.channel = [channel ? 'The selected channel is invalid.' : 'Name a channel: there is no default one.']
  if (recipient === undefined) errors.phone = [noPhone]
  if (recipient === undefined || phoneNumberId === undefined) throw invalid(errors)
  return { tenant, phoneNumberId, recipient }
}
