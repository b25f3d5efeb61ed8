import { query } from '@courier/shared/postgres/database.ts'
import { oneOf, orNull, Time } from '@courier/shared/schemas.ts'
import type { Keyring } from '@courier/shared/vault.ts'
import { type Static, Type } from '@sinclair/typebox'
import { sql } from 'kysely'
import type { Tx } from '../database/tables.ts'
import type { ChannelPoint } from './channel-point.ts'
import { isPhoneNumberId } from './queries.ts'
import { type ChannelRef, newestToken, type Slot } from './secrets.ts'
import type { SecretRef } from './vault.ts'

const Last4 = (description: string, ...examples: string[]) => orNull(Type.String({ description }), { examples })

/** Shows a channel to staff, with at most the last four characters of its secrets. */
const Channel = Type.Object(
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
    webhooks: Type.Boolean({
      description: 'True if the channel gets webhooks: it has an app secret and a verify token.',
    }),
  },
  { title: 'Channel' },
)
export type Channel = Static<typeof Channel>

/** Returns the schema of a channel, with the fields of capabilities. */
export const defineChannel = (points: readonly ChannelPoint[]) => {
  const added = points.map(({ fields }) => fields)
  return Type.Object(Object.assign({}, Channel.properties, ...added), { title: 'Channel' }) as typeof Channel
}

const last4 = (kind: SecretRef['kind'], slot: Slot) =>
  sql`(select last4 from secrets s where s.tenant_id = c.tenant_id and s.phone_number_id = c.phone_number_id
    and s.kind = ${kind} and s.slot = ${slot})`

export const utc = (column: string) =>
  sql`to_char(${sql.ref(column)} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`

/** Reads the tenant's channels, or only the one with that id, which may be any text. */
export const readChannels = async (
  tx: Tx,
  tenant: string,
  phoneNumberId?: string,
  points: readonly ChannelPoint[] = [],
): Promise<Channel[]> => {
  if (phoneNumberId !== undefined && !isPhoneNumberId(phoneNumberId)) return []
  const added = points.flatMap(({ columns }) => Object.entries(columns))
  const addedSql = added.map(([name, column]) => sql`, ${column} as ${sql.ref(name)}`)
  return query<Channel>(tx)`
    select phone_number_id, name, plan, is_default as "default", state, paused_reason,
      ${last4('access_token', 'current')} as access_token_last4,
        ${last4('access_token', 'next')} as next_access_token_last4,
      ${last4('app_secret', 'current')} as app_secret_last4, ${last4('app_secret', 'next')} as next_app_secret_last4,
      proven_at, registered_at, checked_at, waba_id, rate as messages_per_second,
      length(verify_token_hash) > 0 and ${last4('app_secret', 'current')} is not null as webhooks
      ${sql.join(addedSql, sql``)}
    from channels c
    where tenant_id = ${tenant} and
      (${phoneNumberId ?? null}::text is null or phone_number_id = ${phoneNumberId ?? null})
    order by phone_number_id`
}

export const readChannel = async (
  tx: Tx,
  tenant: string,
  phoneNumberId: string,
  points: readonly ChannelPoint[] = [],
) => (await readChannels(tx, tenant, phoneNumberId, points))[0]

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
