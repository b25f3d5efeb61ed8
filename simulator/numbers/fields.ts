import type { PhoneNumber } from '../accounts/account.ts'
import { GraphError } from '../graph/errors.ts'

const defaultFields = ['verified_name', 'code_verification_status', 'display_phone_number', 'quality_rating', 'id']

/** The fields that a client may request of a number (docs/contributors/messaging-api.md#numbers-and-tokens). */
const readers: Record<string, (number: PhoneNumber) => unknown> = {
  id: number => number.phone_number_id,
  display_phone_number: number => number.display_phone_number,
  verified_name: number => number.verified_name,
  quality_rating: number => number.quality_rating,
  code_verification_status: () => 'VERIFIED',
  name_status: () => 'APPROVED',
  status: number => (number.registered ? 'CONNECTED' : 'DISCONNECTED'),
  platform_type: number => (number.registered ? 'CLOUD_API' : 'NOT_APPLICABLE'),
  throughput: number => ({ level: number.registered ? 'STANDARD' : 'NOT_APPLICABLE' }),
  health_status: number => healthOf(number),
}

/** Returns the requested fields of a number, or the default ones; throws 100 for a field that it does not have. */
export const pickFields = (number: PhoneNumber, asked: string | undefined): Record<string, unknown> => {
  const names = asked ? asked.split(',').map(name => name.trim()) : defaultFields
  const picked: Record<string, unknown> = {}
  for (const name of [...names, 'id']) {
    const read = Object.hasOwn(readers, name) ? readers[name] : undefined
    if (!read)
      throw new GraphError(100, {
        message: `(#100) Tried accessing nonexisting field (${name.slice(0, 100)}) on node type (WhatsAppBusinessPhoneNumber)`,
      })
    picked[name] = read(number)
  }
  return picked
}

const healthOf = ({ registered, phone_number_id, waba_id }: PhoneNumber) => {
  const can_send_message = registered ? 'AVAILABLE' : 'BLOCKED'
  const error = {
    error_code: 133010,
    error_description: 'The phone number is not registered.',
    possible_solution: 'Register the phone number.',
  }
  const others = { WABA: waba_id, BUSINESS: '2729063490586005', APP: demoAppId }
  const entities = [
    { entity_type: 'PHONE_NUMBER', id: phone_number_id, can_send_message, ...(!registered && { errors: [error] }) },
    ...Object.entries(others).map(([entity_type, id]) => ({ entity_type, id, can_send_message: 'AVAILABLE' })),
  ]
  return { can_send_message, entities }
}

export const demoAppId = '670843887433847'
