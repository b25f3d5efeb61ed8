import { keyOf, type Template } from '../templates/template.ts'
import type { AccessToken, PhoneNumber } from './account.ts'
import { demoNumber, demoToken } from './demo.ts'
import { demoTemplates } from './demo-templates.ts'

/** When a number was registered and deregistered, for the limits of messaging-api 2. Times as the clock's. */
export interface RegistrationHistory {
  register: { calls: number[]; blockedUntil: number }
  deregister: { calls: number[]; blockedUntil: number }
  wrongPins: number
  guessesBlockedUntil: number
}

export const newHistory = (): RegistrationHistory => ({
  register: { calls: [], blockedUntil: 0 },
  deregister: { calls: [], blockedUntil: 0 },
  wrongPins: 0,
  guessesBlockedUntil: 0,
})

/** Numbers, tokens and templates: what the messaging platform knows of its customers. */
export interface Accounts {
  numbers: Map<string, PhoneNumber>
  tokens: Map<string, AccessToken>
  /** By WABA, then by `keyOf`. */
  templates: Map<string, Map<string, Template>>
  histories: Map<string, RegistrationHistory>
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
    histories: new Map(),
  }
}

export const historyOf = (accounts: Accounts, phoneNumberId: string): RegistrationHistory => {
  const history = accounts.histories.get(phoneNumberId) ?? newHistory()
  accounts.histories.set(phoneNumberId, history)
  return history
}
