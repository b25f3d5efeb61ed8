import { type FieldErrors, invalid } from '@courier/shared/errors/errors.ts'
import type { Tx } from '../database/tables.ts'
import type { Person } from './conversation.ts'
import { normalisePhone } from './phone-number.ts'
import { findNumber, findSettings } from './queries.ts'
import { noPhone } from './view.ts'

/** Finds a person by a phone number in any usual spelling. Throws 422 for an unknown phone or channel. */
export const findPerson = async (
  tx: Tx,
  tenant: string,
  phone: string,
  channel: string | undefined,
  find: (...given: [Tx, string, string | undefined, string]) => Promise<string | undefined> = findNumber,
): Promise<Person> => {
  const recipient = normalisePhone(phone, (await findSettings(tx, tenant)).country)
  const phoneNumberId = await find(tx, tenant, channel, recipient ?? '')
  const errors: FieldErrors = {}
  if (phoneNumberId === undefined)
    errors.channel = [channel ? 'The selected channel is invalid.' : 'Name a channel: there is no default one.']
  if (recipient === undefined) errors.phone = [noPhone]
  if (recipient === undefined || phoneNumberId === undefined) throw invalid(errors)
  return { tenant, phoneNumberId, recipient }
}
