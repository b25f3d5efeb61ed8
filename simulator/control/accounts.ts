import { invalid } from '@courier/shared/http/errors.ts'
import { selectedInvalid } from '@courier/shared/http/faults.ts'
import type { PhoneNumber } from '../accounts/account.ts'
import { demoNumber, demoToken } from '../accounts/demo.ts'
import { keyOf, type Template } from '../templates/template.ts'
import type { World } from '../world.ts'
import type { AccountsView, NumberChange, TemplateChange, TokenChange } from './schema.ts'

/** The number of that id, or the first one; throws when there is none. */
export const pickNumber = ({ accounts }: World, id: string | undefined): PhoneNumber => {
  const number = id === undefined ? accounts.numbers.values().next().value : accounts.numbers.get(id)
  if (!number) throw invalid({ phone_number_id: [selectedInvalid('phone_number_id')] })
  return number
}

/** Adds a number or changes it. A new one is as the demo's, with a phone number of its own, and signs with its id. */
export const putNumber = ({ accounts }: World, id: string, change: NumberChange): void => {
  const display_phone_number = `+94 11 ${id.slice(-7).padStart(7, '5')}`
  const before = accounts.numbers.get(id) ?? { ...demoNumber, display_phone_number, app_secret: id }
  accounts.numbers.set(id, { ...before, ...change, phone_number_id: id })
  accounts.histories.delete(id)
}

/** Adds a token or changes it. A new one may use the demo's account. */
export const putToken = ({ accounts }: World, { access_token, ...change }: TokenChange): void => {
  const before = accounts.tokens.get(access_token) ?? { ...demoToken, access_token }
  accounts.tokens.set(access_token, { ...before, ...change })
}

/** Adds a template or changes it. A new one is approved, for any words: its body is one placeholder. */
export const putTemplate = (world: World, { waba_id, ...change }: TemplateChange): Template => {
  const account = waba_id ?? pickNumber(world, undefined).waba_id
  const catalogue = world.accounts.templates.get(account) ?? new Map<string, Template>()
  world.accounts.templates.set(account, catalogue)
  const key = keyOf({ name: change.name, language: change.language ?? 'en_US' })
  const template = { ...(catalogue.get(key) ?? newTemplate(world, change.name)), ...change }
  catalogue.set(key, template)
  return template
}

const newTemplate = ({ accounts }: World, name: string): Template => ({
  id: String(1_700_000_000_000_000 + [...accounts.templates.values()].reduce((sum, { size }) => sum + size, 0)),
  name,
  language: 'en_US',
  status: 'APPROVED',
  category: 'UTILITY',
  parameter_format: 'POSITIONAL',
  components: [{ type: 'BODY', text: '{{1}}' }],
})

/** The template of an account, by its name and language (default en_US), with the id of its account. */
export const pickTemplate = (
  world: World,
  { waba_id, name, language = 'en_US' }: { waba_id?: string; name: string; language?: string },
): { wabaId: string; template: Template } => {
  const wabaId = waba_id ?? pickNumber(world, undefined).waba_id
  const template = world.accounts.templates.get(wabaId)?.get(keyOf({ name, language }))
  if (!template) throw invalid({ name: [selectedInvalid('name')] })
  return { wabaId, template }
}

/** Everything but the secrets. */
export const viewAccounts = ({ accounts }: World): AccountsView => ({
  numbers: [...accounts.numbers.values()].map(({ app_secret: _secret, pin: _pin, ...number }) => number),
  tokens: [...accounts.tokens.values()].map(({ access_token, ...token }) => ({
    last4: access_token.slice(-4),
    ...token,
  })),
  templates: [...accounts.templates].flatMap(([waba_id, catalogue]) =>
    [...catalogue.values()].map(template => ({ waba_id, ...template })),
  ),
})
