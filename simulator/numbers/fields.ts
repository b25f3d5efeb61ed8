import type { PhoneNumber } from '../accounts/account.ts'
import { GraphError } from '../graph/errors.ts'

const defaultFields = ['verified_name', 'code_verification_status', 'display_phone_number', 'quality_rating', 'id']

/** What can be asked of a number (messaging-api 7). */
const readers: Record<string, (number: PhoneNumber) => unknown> = {
  id: number => number.phone_number_id,
  display_phone_number: number => number.display_phone_number,
  verified_name: number => number.verified_name,
  quality_rating: number => number.quality_rating,
  code_verification_status: () => 'VERIFIED',
  name_status: () => 'APPROVED',
  new_name_status: () => 'NONE',
  certificate: number => number.certificate,
  status: number => (number.registered ? 'CONNECTED' : 'DISCONNECTED'),
  platform_type: number => (number.registered ? 'CLOUD_API' : 'NOT_APPLICABLE'),
  throughput: number => ({ level: number.registered ? 'STANDARD' : 'NOT_APPLICABLE' }),
  account_mode: () => 'LIVE',
  is_official_business_account: () => false,
  is_pin_enabled: number => number.pin !== null,
  messaging_limit_tier: () => 'TIER_1K',
  whatsapp_business_manager_messaging_limit: () => 'TIER_2K',
  health_status: number => healthOf(number),
}

/** The asked fields of a number, or the default ones; throws 100 for a field that it does not have. */
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

const healthOf = (number: PhoneNumber) => {
  const own = number.registered ? number.can_send_message : 'BLOCKED'
  const entities = [
    { entity_type: 'PHONE_NUMBER', id: number.phone_number_id, can_send_message: own, ...reasonOf(number, own) },
    { entity_type: 'WABA', id: number.waba_id, can_send_message: 'AVAILABLE' },
    { entity_type: 'BUSINESS', id: '2729063490586005', can_send_message: 'AVAILABLE' },
    { entity_type: 'APP', id: demoAppId, can_send_message: 'AVAILABLE' },
  ]
  return { can_send_message: own, entities }
}

export const demoAppId = '670843887433847'

const reasonOf = (number: PhoneNumber, own: string): object => {
  if (own === 'LIMITED') return { additional_info: ['Your display name has not been approved yet.'] }
  if (own !== 'BLOCKED') return {}
  const reason = number.registered
    ? {
        error_code: 131031,
        error_description: 'The phone number has been restricted.',
        possible_solution: 'Review the account in the business manager.',
      }
    : {
        error_code: 133010,
        error_description: 'The phone number is not registered.',
        possible_solution: 'Register the phone number.',
      }
  return { errors: [reason] }
}
