import { errorResponses, type FieldErrors, invalid } from '@courier/shared/http/errors.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from '@sinclair/typebox'
import type pg from 'pg'
import type { Tx } from '../database/tables.ts'
import { expiresAt, isOpen } from './conversation.ts'
import { normalisePhone } from './phone-number.ts'
import { conversationOf, findCountry, findNumber } from './queries.ts'

export interface ConversationsOptions {
  pool: pg.Pool
}

const noPhone = 'The phone field must be a phone number, such as +94770000101.'

const timeOrNull = (description: string) => Type.Union([Type.String(), Type.Null()], { description })

const Conversation = Type.Object(
  {
    data: Type.Object({
      open: Type.Boolean({ description: 'Whether a message may be sent on plan free now.' }),
      last_inbound_at: timeOrNull('When the person last wrote.'),
      expires_at: timeOrNull('24 hours after that.'),
      opted_out: Type.Boolean({ description: 'Whether the person opted out.' }),
    }),
  },
  {
    title: 'Conversation',
    examples: [
      {
        data: {
          open: true,
          last_inbound_at: '2026-02-19T19:06:23.000Z',
          expires_at: '2026-02-20T19:06:23.000Z',
          opted_out: false,
        },
      },
    ],
  },
)

/** The conversation of a person with one of the tenant's numbers. */
export const conversations: FastifyPluginAsyncTypebox<ConversationsOptions> = async (app, { pool }) => {
  app.get(
    '/api/conversations/:phone',
    {
      schema: {
        tags: ['conversations'],
        operationId: 'getConversation',
        summary: 'Whether a conversation is open',
        security: [{ token: [] }],
        params: Type.Object({
          phone: Type.String({ maxLength: 40, sentence: noPhone, description: 'Phone number, in any usual spelling.' }),
        }),
        querystring: Type.Object({
          channel: Type.Optional(
            Type.String({ maxLength: 64, description: 'Phone number id; without it the default channel.' }),
          ),
        }),
        response: { 200: Conversation, ...errorResponses(400, 401, 422, 429, 503) },
      },
    },
    async request =>
      readConversation(pool, request.staff.tenant, request.params.phone, request.query.channel, new Date()),
  )
}

const readConversation = (
  pool: pg.Pool,
  tenant: string,
  phone: string,
  wanted: string | undefined,
  now: Date,
): Promise<Static<typeof Conversation>> =>
  inTenant(pool, tenant, async (tx: Tx) => {
    const [country, phoneNumberId] = await Promise.all([findCountry(tx, tenant), findNumber(tx, tenant, wanted)])
    const recipient = normalisePhone(phone, country)
    if (phoneNumberId === undefined || recipient === undefined)
      throw invalid(validationErrors(wanted, phoneNumberId, recipient))
    const known = (await conversationOf(tx, tenant, phoneNumberId, [recipient])).get(recipient)
    const { lastInboundAt = null, optedOutAt = null } = known ?? {}
    return {
      data: {
        open: isOpen(lastInboundAt, now),
        last_inbound_at: lastInboundAt?.toISOString() ?? null,
        expires_at: expiresAt(lastInboundAt)?.toISOString() ?? null,
        opted_out: optedOutAt !== null,
      },
    }
  })

const validationErrors = (
  wanted: string | undefined,
  phoneNumberId: string | undefined,
  recipient: string | undefined,
): FieldErrors => ({
  ...(phoneNumberId === undefined && {
    channel: [wanted ? 'The selected channel is invalid.' : 'Name a channel: there is no default one.'],
  }),
  ...(recipient === undefined && { phone: [noPhone] }),
})
