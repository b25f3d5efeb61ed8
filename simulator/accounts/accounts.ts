import { type AccessToken, type NumberChange, type PhoneNumber, scopes, type TokenChange } from './account.ts'
import type { ChannelAccount } from './read-accounts.ts'

/** Describes the number that the demo uses. Its secrets come from the settings. */
export const demoNumber: Omit<PhoneNumber, 'app_secret'> = {
  phone_number_id: '106540352242922',
  waba_id: '102290129340398',
  business_id: '2729063490586005',
  display_phone_number: '+94 11 755 5000',
  verified_name: 'Demo Couriers',
  registered: true,
  pin: '123456',
  certificate: 'demo-certificate',
  quality_rating: 'GREEN',
  subscribed: true,
}

const demoToken: Omit<AccessToken, 'access_token'> = {
  waba_ids: [demoNumber.waba_id],
  scopes: [...scopes],
  expires_at: 0,
  revoked: false,
}

export interface DemoSecrets {
  accessToken: string
  appSecret: string
}

/** Holds numbers and tokens: the demo's and others, all ready for use at once. */
export const createAccounts = ({ accessToken, appSecret }: DemoSecrets, others: readonly ChannelAccount[] = []) => {
  const numbers = new Map<string, PhoneNumber>([[demoNumber.phone_number_id, { ...demoNumber, app_secret: appSecret }]])
  const tokens = new Map<string, AccessToken>([[accessToken, { ...demoToken, access_token: accessToken }]])

  /** Adds or changes a number. A new number copies the demo's, except its phone number, and signs with its id. */
  const putNumber = (id: string, change: NumberChange = {}): void => {
    const display_phone_number = `+94 11 ${id.slice(-7).padStart(7, '5')}`
    const before = numbers.get(id) ?? { ...demoNumber, display_phone_number, app_secret: id }
    numbers.set(id, { ...before, ...change, phone_number_id: id })
  }
  /** Adds or changes a token. A new token may use the demo's account. */
  const putToken = ({ access_token, ...change }: TokenChange): void => {
    tokens.set(access_token, { ...demoToken, ...tokens.get(access_token), ...change, access_token })
  }
  for (const { phone_number_id, waba_id, name, access_token, app_secret } of others) {
    putNumber(phone_number_id, { waba_id, verified_name: name, app_secret })
    putToken({ access_token, waba_ids: [...new Set([...(tokens.get(access_token)?.waba_ids ?? []), waba_id])] })
  }
  return { numbers, tokens, putNumber, putToken }
}
export type Accounts = ReturnType<typeof createAccounts>
