import { oneOf, orNull } from '@courier/shared/schemas.ts'
import { type Static, Type } from '@sinclair/typebox'
import type { Tx } from '../database/tables.ts'
import { type ChannelRow, findChannel } from './queries.ts'

const Last4 = (description: string, ...examples: string[]) => orNull(Type.String({ description }), { examples })

/** A channel as staff reads it, with at most the last four characters of its secrets. */
export const Channel = Type.Object(
  {
    phone_number_id: Type.String({ examples: ['106540352242922'] }),
    name: Type.String({ examples: ['Demo Couriers'] }),
    plan: oneOf(['free', 'paid'], { examples: ['paid'] }),
    default: Type.Boolean(),
    state: oneOf(['active', 'paused']),
    paused_reason: orNull(Type.String()),
    access_token_last4: Last4('Empty for one so short that its end gives it away.', '4f2a'),
    next_access_token_last4: Last4('The newer token of a rotation, until it has worked.'),
    app_secret_last4: Last4('As with the access token.', '9c1e'),
    next_app_secret_last4: Last4('The newer secret of a rotation: webhooks may be signed with either.'),
    proven_at: orNull(
      Type.String({
        description: "The time since which the number is the tenant's, so that no other receives its webhooks.",
      }),
    ),
    registered_at: orNull(Type.String()),
    checked_at: orNull(Type.String({ description: 'The time when a check was last green.' })),
    waba_id: orNull(Type.String({ description: 'The account that owns the templates.' }), {
      examples: ['102290129340398'],
    }),
    messages_per_second: Type.Number({ examples: [80] }),
    webhooks: Type.Boolean({ description: 'True if it receives webhooks: it has an app secret and a verify token.' }),
  },
  { title: 'Channel' },
)
export type Channel = Static<typeof Channel>

export const showChannels = async (tx: Tx, tenant: string, rows: readonly ChannelRow[]): Promise<Channel[]> => {
  const secrets = await tx
    .selectFrom('secrets')
    .select(['phone_number_id', 'kind', 'slot', 'last4'])
    .where('tenant_id', '=', tenant)
    .execute()
  const last4s = new Map(secrets.map(row => [`${row.phone_number_id} ${row.kind} ${row.slot}`, row.last4]))
  return rows.map(row => show(row, name => last4s.get(`${row.phone_number_id} ${name}`) ?? null))
}

export const readChannel = async (tx: Tx, tenant: string, phoneNumberId: string): Promise<Channel | undefined> => {
  const row = await findChannel(tx, tenant, phoneNumberId)
  return row && (await showChannels(tx, tenant, [row]))[0]
}

export const unproven =
  'The number is not proven to be yours: where another company has proven it, that company gets its webhooks. The first message that the API accepts proves it, or a check with a token that holds the scope whatsapp_business_management.'
export const keptByAnother =
  'Another company has proven the number and gets its webhooks until the API refuses its access token: delivery and the messages of customers stay unknown.'

export const noWebhooks =
  'The channel receives no webhooks until it has app_secret and verify_token: it sends, but delivery and the messages of customers stay unknown.'

const show = (row: ChannelRow, last4Of: (name: string) => string | null): Channel => ({
  phone_number_id: row.phone_number_id,
  name: row.name,
  plan: row.plan,
  default: row.is_default,
  state: row.state,
  paused_reason: row.paused_reason,
  access_token_last4: last4Of('access_token current'),
  next_access_token_last4: last4Of('access_token next'),
  app_secret_last4: last4Of('app_secret current'),
  next_app_secret_last4: last4Of('app_secret next'),
  proven_at: row.proven_at?.toISOString() ?? null,
  registered_at: row.registered_at?.toISOString() ?? null,
  checked_at: row.checked_at?.toISOString() ?? null,
  waba_id: row.waba_id,
  messages_per_second: row.rate,
  webhooks: row.verify_token_hash.length > 0 && last4Of('app_secret current') !== null,
})
