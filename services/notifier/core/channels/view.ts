import { query } from '@courier/shared/postgres/database.ts'
import { oneOf, orNull, Time } from '@courier/shared/schemas.ts'
import type { Keyring } from '@courier/shared/vault.ts'
import { type Static, Type } from '@sinclair/typebox'
import { sql } from 'kysely'
import type { Tx } from '../database/tables.ts'
import { NoticeView } from './notices.ts'
import { isPhoneNumberId } from './queries.ts'
import { type ChannelRef, newestToken, type Slot } from './secrets.ts'
import type { SecretRef } from './vault.ts'

const Last4 = (description: string, ...examples: string[]) => orNull(Type.String({ description }), { examples })

/** Counts people whom templates outside an open window may reach, and have reached, in 24 hours. */
const MessagingLimit = Type.Object({
  portfolio_id: Type.String({ examples: ['2729063490586005'] }),
  max_people: orNull(Type.Integer({ description: 'null: unlimited.' }), { examples: [250] }),
  used: Type.Integer({ description: 'At most a minute old.', examples: [31] }),
  read_at: Time(),
})

/** Shows a channel to staff, with at most the last four characters of its secrets. */
export const Channel = Type.Object(
  {
    phone_number_id: Type.String({ examples: ['106540352242922'] }),
    name: Type.String({ examples: ['Demo Couriers'] }),
    plan: oneOf(['free', 'paid'], { examples: ['paid'] }),
    default: Type.Boolean(),
    state: oneOf(['active', 'paused']),
    paused_reason: orNull(Type.String()),
    access_token_last4: Last4('Its last four characters; empty if they would reveal a short token.', '4f2a'),
    next_access_token_last4: Last4('The newer token of a rotation, by its last four characters, until it has worked.'),
    app_secret_last4: Last4('Its last four characters, as with the access token.', '9c1e'),
    next_app_secret_last4: Last4(
      'The newer secret of a rotation, by its last four characters: either may sign webhooks.',
    ),
    proven_at: orNull(
      Time({ description: "The time since which the number is the tenant's: no other tenant gets its webhooks." }),
    ),
    registered_at: orNull(Time()),
    checked_at: orNull(Time({ description: 'The time when a check last found no problem.' })),
    waba_id: orNull(Type.String({ description: 'The account that owns the templates.' }), {
      examples: ['102290129340398'],
    }),
    messages_per_second: Type.Number({ examples: [80] }),
    messaging_limit: orNull(MessagingLimit, {
      description: 'The limit of the portfolio, which its numbers share; null until it is known.',
    }),
    notices: Type.Array(NoticeView, { description: 'The last news of the platform about the account, newest first.' }),
    webhooks: Type.Boolean({
      description: 'True if the channel gets webhooks: it has an app secret and a verify token.',
    }),
  },
  { title: 'Channel' },
)
export type Channel = Static<typeof Channel>

const last4 = (kind: SecretRef['kind'], slot: Slot) =>
  sql`(select last4 from secrets s where s.tenant_id = c.tenant_id and s.phone_number_id = c.phone_number_id
    and s.kind = ${kind} and s.slot = ${slot})`

const utc = (column: string) => sql`to_char(${sql.ref(column)} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`
const mostNotices = 20

/** Reads the tenant's channels, or only the one with that id, which may be any text. */
export const readChannels = async (tx: Tx, tenant: string, phoneNumberId?: string): Promise<Channel[]> => {
  if (phoneNumberId !== undefined && !isPhoneNumberId(phoneNumberId)) return []
  return query<Channel>(tx)`
    select phone_number_id, name, plan, is_default as "default", state, paused_reason,
      ${last4('access_token', 'current')} as access_token_last4,
        ${last4('access_token', 'next')} as next_access_token_last4,
      ${last4('app_secret', 'current')} as app_secret_last4, ${last4('app_secret', 'next')} as next_app_secret_last4,
      proven_at, registered_at, checked_at, waba_id, rate as messages_per_second,
      (select json_build_object('portfolio_id', p.portfolio_id, 'max_people', p.max_people, 'used', p.used,
        'read_at', ${utc('p.read_at')}) from portfolios p where p.portfolio_id = c.portfolio_id) as messaging_limit,
      (select coalesce(json_agg(json_build_object('kind', n.kind, 'is_problem', n.is_problem, 'text', n.text,
        'at', ${utc('n.happened_at')}) order by n.happened_at desc), '[]') from (
          select * from account_notices n where n.tenant_id = c.tenant_id and n.waba_id = c.waba_id
          order by n.happened_at desc limit ${mostNotices}) n) as notices,
      length(verify_token_hash) > 0 and ${last4('app_secret', 'current')} is not null as webhooks
    from channels c
    where tenant_id = ${tenant} and
      (${phoneNumberId ?? null}::text is null or phone_number_id = ${phoneNumberId ?? null})
    order by phone_number_id`
}

export const readChannel = async (tx: Tx, tenant: string, phoneNumberId: string): Promise<Channel | undefined> =>
  (await readChannels(tx, tenant, phoneNumberId))[0]

/** Reads a channel with its newest token; undefined for an unknown number. */
export const readWithToken = async (tx: Tx, keyring: Keyring, { tenant, phoneNumberId }: ChannelRef) => {
  const channel = await readChannel(tx, tenant, phoneNumberId)
  return channel && { channel, newest: await newestToken(tx, keyring, { tenant, phoneNumberId }) }
}

export const noToken = 'The channel has no access token: store one.'
export const unproven =
  'The number is not proven to be yours: if another company has proven it, that company gets the webhooks of the number. The first message that the API accepts proves it, or a check with a token that holds the scope whatsapp_business_management.'
export const keptByAnother =
  'Another company has proven the number and gets its webhooks until the API refuses its access token: delivery and the messages of customers stay unknown.'

export const noWebhooks =
  'The channel receives no webhooks until it has app_secret and verify_token: it sends, but delivery and the messages of customers stay unknown.'
