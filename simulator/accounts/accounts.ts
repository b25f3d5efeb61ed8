import { type AccessToken, type PhoneNumber, scopes } from './account.ts'
import { demoTemplates } from './demo-templates.ts'
import type { ChannelAccount } from './read-accounts.ts'
import { keyOf, type Template } from './template.ts'

/** The number that the demo works with. Its secrets come from the settings. */
export const demoNumber: Omit<PhoneNumber, 'app_secret'> = {
  phone_number_id: '106540352242922',
  waba_id: '102290129340398',
  display_phone_number: '+94 11 755 5000',
  verified_name: 'Demo Couriers',
  registered: true,
  pin: '123456',
  certificate: 'demo-certificate',
  quality_rating: 'GREEN',
}

export const demoToken: Omit<AccessToken, 'access_token'> = {
  waba_ids: [demoNumber.waba_id],
  scopes: [...scopes],
  expires_at: 0,
  revoked: false,
}

/** Numbers, tokens and templates: what the messaging platform knows of its customers. */
export interface Accounts {
  numbers: Map<string, PhoneNumber>
  tokens: Map<string, AccessToken>
  /** By WABA, then by `keyOf`. */
  templates: Map<string, Map<string, Template>>
}

export interface DemoSecrets {
  accessToken: string
  appSecret: string
}

const catalogueOf = (templates: readonly Template[]) =>
  new Map(templates.map(template => [keyOf(template), structuredClone(template)]))

/**
 * Creates the demo's account, which works at once, and others as ready as it. Their accounts have the demo's templates.
 */
export const createAccounts = (
  { accessToken, appSecret }: DemoSecrets,
  others: readonly ChannelAccount[] = [],
): Accounts => {
  const number = { ...demoNumber, app_secret: appSecret }
  const accounts: Accounts = {
    numbers: new Map([[number.phone_number_id, number]]),
    tokens: new Map([[accessToken, { ...demoToken, access_token: accessToken }]]),
    templates: new Map([[number.waba_id, catalogueOf(demoTemplates)]]),
  }
  for (const other of others) {
    const { phoneNumberId: phone_number_id, wabaId: waba_id, name: verified_name } = other
    const display_phone_number = displayNumberOf(phone_number_id)
    const own = { phone_number_id, waba_id, verified_name, display_phone_number, app_secret: other.appSecret }
    accounts.numbers.set(phone_number_id, { ...number, ...own })
    const known = accounts.tokens.get(other.accessToken) ?? { ...demoToken, waba_ids: [] }
    const waba_ids = [...new Set([...known.waba_ids, waba_id])]
    accounts.tokens.set(other.accessToken, { ...known, waba_ids, access_token: other.accessToken })
    if (!accounts.templates.has(waba_id)) accounts.templates.set(waba_id, catalogueOf(demoTemplates))
  }
  return accounts
}

/** Returns a phone number for a number that has none. */
export const displayNumberOf = (phoneNumberId: string): string => `+94 11 ${phoneNumberId.slice(-7).padStart(7, '5')}`
