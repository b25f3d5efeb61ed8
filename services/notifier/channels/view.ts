import { type Static, Type } from '@sinclair/typebox'
import type { Tx } from '../database/tables.ts'
import type { findChannel } from './queries.ts'

const orNull = <S extends Parameters<typeof Type.Union>[0][number]>(schema: S) => Type.Union([schema, Type.Null()])
const Last4 = (description: string) => orNull(Type.String({ description }))

/** A channel as staff reads it: of its secrets, the last four characters at most. */
export const Channel = Type.Object(
  {
    phone_number_id: Type.String(),
    name: Type.String(),
    plan: Type.Union([Type.Literal('free'), Type.Literal('paid')]),
    default: Type.Boolean(),
    state: Type.Union([Type.Literal('active'), Type.Literal('paused')]),
    paused_reason: orNull(Type.String()),
    access_token_last4: Last4('Empty for one so short that its end gives it away.'),
    next_access_token_last4: Last4('The newer token of a rotation, until it has worked.'),
    app_secret_last4: Last4('As with the access token.'),
    next_app_secret_last4: Last4('The newer secret of a rotation: webhooks may be signed with either.'),
    registered_at: orNull(Type.String()),
    checked_at: orNull(Type.String({ description: 'When a check was last green.' })),
    waba_id: orNull(Type.String({ description: 'The account that owns the templates.' })),
    messages_per_second: Type.Number(),
  },
  { title: 'Channel' },
)
export type Channel = Static<typeof Channel>

export type ChannelRow = NonNullable<Awaited<ReturnType<typeof findChannel>>>

/** Shows channels of a tenant. */
export const showChannels = async (tx: Tx, tenant: string, rows: readonly ChannelRow[]): Promise<Channel[]> => {
  const secrets = await tx
    .selectFrom('secrets')
    .select(['phone_number_id', 'kind', 'slot', 'last4'])
    .where('tenant_id', '=', tenant)
    .execute()
  const last4s = new Map(secrets.map(row => [`${row.phone_number_id} ${row.kind} ${row.slot}`, row.last4]))
  return rows.map(row => show(row, name => last4s.get(`${row.phone_number_id} ${name}`) ?? null))
}

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
  registered_at: row.registered_at?.toISOString() ?? null,
  checked_at: row.checked_at?.toISOString() ?? null,
  waba_id: row.waba_id,
  messages_per_second: row.rate,
})
