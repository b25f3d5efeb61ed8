import { type Applied, compare } from '@courier/shared/cli/changes.ts'
import { findSendingChannels } from '../channels/queries.ts'
import type { Tx } from '../database/tables.ts'
import { findRules, type Rule } from '../events/queries.ts'
import { warnOfRules } from './rule-warnings.ts'

/** Replaces the tenant's rules by these, in this order, none paused; undefined keeps them. Hold `lockTenant`. */
export const applyRules = async (tx: Tx, tenant: string, wanted: readonly Rule[] | undefined): Promise<Applied> => {
  if (!wanted) return { kind: 'applied', changes: [] }
  const channels = (await findSendingChannels(tx, tenant)).map(({ phoneNumberId }) => phoneNumberId)
  const errors = Object.fromEntries(
    wanted.flatMap(({ phone_number_id: id }, index) =>
      id !== null && !channels.includes(id) ? [[`rules.${index}.channel`, [`There is no channel ${id}.`]]] : [],
    ),
  )
  if (Object.keys(errors).length > 0) return { kind: 'refused', errors }
  const changes = compare('rule', placesOf(await findRules(tx, tenant)), placesOf(wanted))
  if (changes.length > 0) await replaceRules(tx, tenant, wanted)
  return { kind: 'applied', changes, warnings: await warnOfRules(tx, tenant, wanted) }
}

const nameOf = ({ event, template, language, text }: Rule): string =>
  `${event}: ${text === null ? `${template} ${language}` : 'text'}`

/** Indexes rules by event, template and language, which identify a rule; one at another index has changed. */
const placesOf = (rules: readonly Rule[]) =>
  new Map(rules.map((rule, place) => [nameOf(rule), JSON.stringify([place, rule])]))

const replaceRules = async (tx: Tx, tenant: string, rules: readonly Rule[]): Promise<void> => {
  await tx.deleteFrom('rules').where('tenant_id', '=', tenant).execute()
  if (rules.length === 0) return
  await tx
    .insertInto('rules')
    .values(
      rules.map((rule, position) => ({
        ...rule,
        tenant_id: tenant,
        position,
        components: JSON.stringify(rule.components),
      })),
    )
    .execute()
}
