import { identifyPerson } from '@courier/shared/phone-number.ts'
import { type Actor, audit } from '@courier/shared/postgres/audit.ts'
import { query } from '@courier/shared/postgres/database.ts'
import { oneOf, orNull, Time } from '@courier/shared/schemas.ts'
import { type Static, Type } from '@sinclair/typebox'
import type { Tx } from '../database/tables.ts'
import type { Person } from './conversation.ts'

export const Scope = oneOf(['all', 'marketing'], {
  must: 'be all or marketing',
  description: 'Every message, or marketing messages alone.',
  examples: ['marketing'],
})
export type OptOutScope = Static<typeof Scope>

interface OptOut extends Person {
  readonly at: Date | null
  readonly isOut: boolean
  readonly scope: OptOutScope
  readonly by: Actor
  readonly reason: string | null
}

/** Stores each opt-out or opt-in once, with an entry in the audit that names its id and not the person. */
export const recordOptOuts = async (tx: Tx, given: readonly OptOut[]): Promise<void> => {
  const rows = await query<{ id: string; tenant: string; change: 'out' | 'in'; kind: Actor['kind']; name: string }>(tx)`
    insert into opt_outs (tenant_id, phone_number_id, recipient, scope, change, at, actor_kind, actor, reason)
    select tenant, "phoneNumberId", recipient, scope, case when "isOut" then 'out' else 'in' end, coalesce(at, now()),
      by ->> 'kind', by ->> 'name', reason
    from jsonb_to_recordset(${JSON.stringify(given)}::jsonb) as given (tenant text, "phoneNumberId" text,
      recipient text, scope text, "isOut" boolean, at timestamptz, by jsonb, reason text)
    on conflict do nothing
    returning opt_out_id as id, tenant_id as tenant, change, actor_kind as kind, actor as name`
  const groups = Map.groupBy(rows, ({ tenant, change, kind, name }) => JSON.stringify([tenant, change, kind, name]))
  for (const group of groups.values()) {
    const { tenant, change, kind, name } = group[0] as (typeof rows)[number]
    const by = given.find(each => each.by.kind === kind && each.by.name === name)?.by ?? { kind, name }
    const ids = group.map(({ id }) => id)
    await audit(tx, tenant, by, change === 'out' ? 'conversation.opted_out' : 'conversation.opted_in', ids)
  }
}

export const OptOutEntry = Type.Object({
  id: Type.String({ description: 'The id by which the audit names the change.', examples: ['17'] }),
  change: oneOf(['out', 'in']),
  scope: Scope,
  at: Time(),
  by: Type.String({
    description: 'The source of the change: customer, platform or staff, followed by how it came or by a name.',
    examples: ['platform: user_preferences'],
  }),
  reason: orNull(Type.String()),
})

export const findOptOuts = (tx: Tx, { tenant, phoneNumberId, recipient }: Person) =>
  query<Static<typeof OptOutEntry>>(tx)`
    select opt_out_id as id, change, scope, at, actor_kind || ': ' || actor as "by", reason from opt_outs
    where tenant_id = ${tenant} and phone_number_id = ${phoneNumberId} and recipient = ${identifyPerson(recipient)}
    order by at desc, opt_out_id desc limit 20`
