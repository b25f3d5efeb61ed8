import { invalid } from '@courier/shared/errors/errors.ts'
import { selectedInvalid } from '@courier/shared/errors/field-errors.ts'
import type { PhoneNumber } from '../accounts/account.ts'
import { demoNumber, demoToken, displayNumberOf } from '../accounts/accounts.ts'
import type { World } from '../world/world.ts'
import type { NumberChange, TokenChange } from './schema.ts'

/** Finds the number with that id, or the first one; throws when there is none. */
export const pickNumber = ({ accounts }: World, id: string | undefined): PhoneNumber => {
  const number = id === undefined ? accounts.numbers.values().next().value : accounts.numbers.get(id)
  if (!number) throw invalid({ phone_number_id: [selectedInvalid('phone_number_id')] })
  return number
}

/** Adds a number or changes it. A new one copies the demo's, with its own phone number, and signs with its id. */
export const putNumber = ({ accounts }: World, id: string, change: NumberChange): void => {
  const display_phone_number = displayNumberOf(id)
  const before = accounts.numbers.get(id) ?? { ...demoNumber, display_phone_number, app_secret: id }
  accounts.numbers.set(id, { ...before, ...change, phone_number_id: id })
}

/** Adds a token or changes it. A new one may use the demo's account. */
export const putToken = ({ accounts }: World, { access_token, ...change }: TokenChange): void => {
  const before = accounts.tokens.get(access_token) ?? { ...demoToken, access_token }
  accounts.tokens.set(access_token, { ...before, ...change })
}
