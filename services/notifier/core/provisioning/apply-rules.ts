import { type Applied, compare } from '@courier/shared/cli/changes.ts'
import type { FieldErrors } from '@courier/shared/errors/errors.ts'
import { chooseChannel, findChannels } from '../conversations/queries.ts'
import type { ChannelRow, Tx } from '../database/tables.ts'
import { findRules, type Rule } from '../events/queries.ts'
import { nameRule, toTemplate } from '../events/rules.ts'
import { isOpenPlaceholder } from '../messages/placeholders.ts'
import { type LocatedText, listTexts } from '../messaging-api/message-template.ts'
import { checkTemplate } from '../templates/check-parameters.ts'
import { findTemplates } from '../templates/queries.ts'

/** Replaces the tenant's rules with these, in this order, none paused; undefined keeps them. Requires `lockTenant`. */
export const applyRules = async (tx: Tx, tenant: string, wanted: readonly Rule[] | undefined): Promise<Applied> => {
  if (!wanted) return { kind: 'applied', changes: [] }
  const channels = await findChannels(tx, tenant)
  const known = [null, ...channels.map(({ phone_number_id }) => phone_number_id)]
  const errors: FieldErrors = {}
  for (const [index, { phone_number_id: id }] of wanted.entries())
    if (!known.includes(id)) errors[`rules.${index}.channel`] = [`There is no channel ${id}.`]
  if (Object.keys(errors).length > 0) return { kind: 'refused', errors }
  const changes = compare('rule', indexRules(await findRules(tx, tenant)), indexRules(wanted))
  if (changes.length > 0) await replaceRules(tx, tenant, wanted)
  return { kind: 'applied', changes, warnings: await warnOfRules(tx, tenant, wanted, channels) }
}

/** Indexes rules by name; a rule at another position has changed. */
const indexRules = (rules: readonly Rule[]) =>
  new Map(rules.map((rule, position) => [nameRule(rule), JSON.stringify([position, Object.entries(rule).sort()])]))

const replaceRules = async (tx: Tx, tenant: string, rules: readonly Rule[]): Promise<void> => {
  await tx.deleteFrom('rules').where('tenant_id', '=', tenant).execute()
  if (rules.length === 0) return
  const rows = rules.map((rule, position) => {
    return { ...rule, tenant_id: tenant, position, components: JSON.stringify(rule.components) }
  })
  await tx.insertInto('rules').values(rows).execute()
}

/** Warns of valid settings that prevent rules from sending messages, by the templates of the last sync. */
const warnOfRules = async (tx: Tx, tenant: string, rules: readonly Rule[], channels: readonly ChannelRow[]) => {
  const warnings: string[] = []
  for (const [index, rule] of rules.entries()) {
    const path = `rules.${index}`
    if (!isUsualEvent(rule.event))
      warnings.push(`${path}.on: ${rule.event} is not one of the standard statuses, key_1 to key_21. ${unknownEvent}`)
    if (rule.text !== null) {
      if (isOpenPlaceholder(rule.text)) warnings.push(`${path}.text: {{ and }} are not in pairs`)
      continue
    }
    for (const found of listTexts(toTemplate(rule)))
      if (isOpenPlaceholder(found.text)) warnings.push(`${path}.${findPath(rule, found)}: {{ and }} are not in pairs`)
    const wabaId = chooseChannel(rule.phone_number_id, channels)?.waba_id
    const known = wabaId ? await findTemplates(tx, tenant, wabaId, [rule.template]) : undefined
    const errors = known ? checkTemplate(known, toTemplate(rule), `${path}.`) : {}
    for (const sentence of Object.values(errors).flat()) warnings.push(`${path}: ${sentence}`)
  }
  return warnings
}

const findPath = (rule: Rule, { component, parameter, field }: LocatedText): string => {
  const { type, parameters } = component
  if (type === 'button') {
    const index = rule.components.filter(other => other.type === 'button').indexOf(component)
    return `buttons.${index}.${field === 'text' ? 'url' : field}`
  }
  if (parameter.parameter_name) return `named_body.${parameter.parameter_name}`
  return field === 'text' ? `${type}.${parameters.indexOf(parameter)}` : `header_${field.replace(/\.link$/, '')}`
}

/** Explains events that the notifier cannot check, since orders defines them. */
const unknownEvent =
  "It makes messages only if the tenant's own set has it: GET /api/public/merchant/order/status-list of orders lists that set."

const isUsualEvent = (event: string): boolean => event.includes('.') || /^key_([1-9]|1[0-9]|2[01])$/.test(event)
