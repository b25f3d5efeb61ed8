import { isMerchantEvent } from '@courier/shared/contract/order-events.ts'
import { type Static, Type } from '@sinclair/typebox'
import type { Add, FilePart } from '../../core/provisioning/file-part.ts'
import type { GivenRule, NotifierFile } from '../../core/provisioning/notifier-file.ts'

const fields = {
  per: Type.Optional(Type.Literal('person', { must: 'be person' })),
  within: Type.Optional(
    Type.String({
      maxLength: 5,
      pattern: '^(([1-9]\\d{0,2}|1[0-3]\\d\\d|14[0-3]\\d|1440)m|([1-9]|1\\d|2[0-4])h)$',
      must: 'be 1m to 24h, such as 20m',
    }),
  ),
}
const Fields = Type.Object(fields)
type PerPersonRule = GivenRule & Static<typeof Fields>

/** Adds the fields of rules whose messages to a person leave as one. */
export const perPersonPart: FilePart = {
  rule: fields,
  toColumns: ({ within }: PerPersonRule) => ({ within_minutes: readMinutes(within) }),
  check: ({ rules = [] }: NotifierFile, add) => {
    for (const [index, rule] of rules.entries()) checkWindow(rule, `rules.${index}`, add)
  },
}

/** Checks a rule with one message for several parcels. Its buttons concern none of them in particular. */
const checkWindow = (rule: PerPersonRule, path: string, add: Add): void => {
  const { per, within, on, buttons = [], expires_after_hours: hours } = rule
  if ((per === undefined) !== (within === undefined))
    add(`${path}.${per ? 'within' : 'per'}`, 'A rule with one of per and within has both.')
  if (hours !== undefined && (readMinutes(within) ?? 0) >= hours * 60)
    add(`${path}.within`, 'The within field must be less than expires_after_hours.')
  if (per && isMerchantEvent(on)) add(`${path}.per`, `A rule on ${on} concerns no parcels.`)
  for (const [position, { action }] of buttons.entries())
    if (per && action !== undefined)
      add(`${path}.buttons.${position}.action`, 'A rule per person has no actions: a press concerns one parcel.')
}

const readMinutes = (within: string | undefined): number | null =>
  within === undefined ? null : Number.parseInt(within, 10) * (within.endsWith('h') ? 60 : 1)
