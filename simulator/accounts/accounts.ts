import { type AccessToken, type PhoneNumber, scopes } from './account.ts'
import { demoTemplates } from './demo-templates.ts'
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

/** An account that works at once. */
export const createAccounts = ({ accessToken, appSecret }: DemoSecrets): Accounts => {
  const number = { ...demoNumber, app_secret: appSecret }
  const catalogue = new Map(demoTemplates.map(template => [keyOf(template), structuredClone(template)]))
  return {
    numbers: new Map([[number.phone_number_id, number]]),
    tokens: new Map([[accessToken, { ...demoToken, access_token: accessToken }]]),
    templates: new Map([[number.waba_id, catalogue]]),
  }
}
