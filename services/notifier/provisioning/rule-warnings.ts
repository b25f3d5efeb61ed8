import { findSendingChannels } from '../channels/queries.ts'
import type { Tx } from '../database/tables.ts'
import { type Rule, templateOf } from '../events/rules.ts'
import { chooseChannel } from '../messages/check.ts'
import { isOpenPlaceholder } from '../messages/placeholders.ts'
import { checkTemplate } from '../templates/check-parameters.ts'
import { findTemplates } from '../templates/queries.ts'

/** What is legal in rules and keeps their messages from being sent. Templates are those of the last sync. */
export const warnOfRules = async (tx: Tx, tenant: string, rules: readonly Rule[]): Promise<string[]> => {
  const channels = await findSendingChannels(tx, tenant)
  const warnings: string[] = []
  for (const [index, rule] of rules.entries()) {
    const path = `rules.${index}`
    if (!isUsualEvent(rule.event))
      warnings.push(`${path}.on: ${rule.event} is none of the standard statuses, key_1 to key_21. ${ownSet}`)
    for (const part of ['header', 'body'] as const)
      for (const [place, text] of rule[part].entries())
        if (isOpenPlaceholder(text)) warnings.push(`${path}.${part}.${place}: {{ and }} are not in pairs`)
    const wabaId = chooseChannel(rule.phoneNumberId, channels)?.wabaId
    const known = wabaId ? await findTemplates(tx, tenant, wabaId, [rule.template]) : undefined
    const errors = known ? checkTemplate(known, templateOf(rule), `${path}.`) : {}
    for (const sentence of Object.values(errors).flat()) warnings.push(`${path}: ${sentence}`)
  }
  return warnings
}

/** The notifier does not know it: orders has it. */
const ownSet =
  "It makes messages only if the tenant's own set has it: GET /api/public/merchant/order/status-list of orders lists that set."

const isUsualEvent = (event: string): boolean => event.startsWith('order.') || /^key_([1-9]|1[0-9]|2[01])$/.test(event)
