import type { FieldErrors } from '@courier/shared/http/errors.ts'
import { badText, isBadText, label, validationErrors } from '@courier/shared/http/field-errors.ts'
import type { TString } from '@sinclair/typebox'
import { TypeCompiler } from '@sinclair/typebox/compiler'
import { isSupportedCountry } from 'libphonenumber-js'
import { Pin, Secret, VerifyToken } from '../channels/fields.ts'
import { type ChannelChange, defaultMessagesPerSecond } from '../channels/store.ts'
import type { Rule } from '../events/rules.ts'
import { isTimeZone } from '../messages/hours.ts'
import { placeholderError } from '../messages/placeholders.ts'
import { NotifierFile } from './notifier-file.ts'

/** A file whose secrets are in the clear, wherever they stood. */
export interface TenantConfig {
  readonly tenant: NotifierFile['tenant']
  readonly channels: readonly ChannelChange[]
  /** undefined: the rules stay as they are. */
  readonly rules: readonly Rule[] | undefined
}

export type CheckedFile = { kind: 'accepted'; file: TenantConfig } | { kind: 'refused'; errors: FieldErrors }

type Environment = Record<string, string | undefined>
type Add = (path: string, sentence: string) => void

const check = TypeCompiler.Compile(NotifierFile)

/** Checks the shape and content of a notifier file, and reads secrets from the environment. Shows no secret. */
export const checkFile = (value: unknown, environment: Environment): CheckedFile => {
  if (!check.Check(value)) return { kind: 'refused', errors: validationErrors(check, value) }
  const errors: FieldErrors = {}
  const add: Add = (path, sentence) => {
    errors[path] = [...(errors[path] ?? []), sentence]
  }
  checkTexts(value, '', add)
  if (!isSupportedCountry(value.tenant.country))
    add('tenant.country', `There are no phone numbers of a country ${value.tenant.country}.`)
  if (value.tenant.time_zone !== undefined && !isTimeZone(value.tenant.time_zone))
    add('tenant.time_zone', `There is no time zone ${value.tenant.time_zone}.`)
  checkHours(value.tenant.send_between, 'tenant', add)
  checkChannels(value, add)
  checkRules(value, add)
  const channels = value.channels.map((channel, index) =>
    toChannelChange(channel, `channels.${index}`, environment, add),
  )
  if (Object.keys(errors).length > 0) return { kind: 'refused', errors }
  return { kind: 'accepted', file: { tenant: value.tenant, channels, rules: value.rules?.map(toRule) } }
}

const checkTexts = (value: unknown, path: string, add: Add): void => {
  if (typeof value === 'string' && isBadText(value)) add(path, badText(path))
  if (typeof value !== 'object' || value === null) return
  for (const [name, inner] of Object.entries(value)) checkTexts(inner, path ? `${path}.${name}` : name, add)
}

const checkHours = (between: string[] | undefined, path: string, add: Add): void => {
  if (between && (between[0] === between[1] || between[0] === '24:00'))
    add(`${path}.send_between`, 'The send between field must be two different times; only the end may be 24:00.')
}

const checkChannels = ({ channels }: NotifierFile, add: Add): void => {
  const ids = channels.map(channel => channel.phone_number_id)
  for (const [index, id] of ids.entries())
    if (ids.indexOf(id) < index) add(`channels.${index}.phone_number_id`, `The phone number id ${id} is there twice.`)
  if (channels.filter(channel => channel.default).length > 1)
    add('channels', 'A tenant has one default channel at most.')
}

/** A request carries up to 500 events, and all their messages must be written before its timeout. */
const maxRulesOfEvent = 5

type GivenRule = NonNullable<NotifierFile['rules']>[number]

const checkRules = ({ rules = [] }: NotifierFile, add: Add): void => {
  const names = rules.map(nameOf)
  const events = rules.map(({ on }) => on)
  for (const [index, rule] of rules.entries()) {
    if (events.slice(0, index).filter(on => on === rule.on).length >= maxRulesOfEvent)
      add(`rules.${index}.on`, `At most ${maxRulesOfEvent} rules may be on ${rule.on}.`)
    checkHours(rule.send_between, `rules.${index}`, add)
    for (const [place, event] of (rule.supersedes ?? []).entries())
      if (!events.includes(event)) add(`rules.${index}.supersedes.${place}`, `No rule is on ${event}.`)
    if (names.indexOf(nameOf(rule)) < index) add(`rules.${index}`, `The rule ${nameOf(rule)} is there twice.`)
    for (const part of ['header', 'body'] as const)
      for (const [place, text] of (rule[part] ?? []).entries()) {
        const error = placeholderError(text)
        if (error) add(`rules.${index}.${part}.${place}`, error)
      }
  }
}

const nameOf = ({ on, template, language }: GivenRule): string => `${on}: ${template} ${language}`

const toRule = (rule: GivenRule): Rule => ({
  event: rule.on,
  template: rule.template,
  language: rule.language,
  header: rule.header ?? [],
  body: rule.body ?? [],
  phoneNumberId: rule.channel ?? null,
  holdsUntilOpen: rule.hold_until_open ?? false,
  sendBetween: (rule.send_between as [string, string] | undefined) ?? null,
  supersedes: rule.supersedes ?? [],
  expiresAfterHours: rule.expires_after_hours ?? null,
})

type Given = string | { env: string }

const toChannelChange = (
  channel: NotifierFile['channels'][number],
  path: string,
  environment: Environment,
  add: Add,
): ChannelChange => {
  const read = (field: string, given: Given, schema: TString): string =>
    typeof given === 'string' ? given : fromEnvironment(`${path}.${field}`, given.env, schema, environment, add)
  return {
    phoneNumberId: channel.phone_number_id,
    name: channel.name,
    plan: channel.plan,
    isDefault: channel.default ?? false,
    wabaId: channel.waba_id ?? null,
    messagesPerSecond: channel.messages_per_second ?? defaultMessagesPerSecond,
    accessToken: read('access_token', channel.access_token, Secret),
    appSecret: read('app_secret', channel.app_secret, Secret),
    verifyToken: read('verify_token', channel.verify_token, VerifyToken),
    pin: channel.pin === undefined ? undefined : read('pin', channel.pin, Pin),
  }
}

const compiled = new Map([Secret, VerifyToken, Pin].map(schema => [schema, TypeCompiler.Compile(schema)]))

const fromEnvironment = (path: string, name: string, schema: TString, environment: Environment, add: Add): string => {
  const value = environment[name]
  if (!value) add(path, `The ${label(path)} is in the environment variable ${name}, which is not set.`)
  else if (!compiled.get(schema)?.Check(value) || isBadText(value))
    add(path, `The ${label(path)} in the environment variable ${name} must ${schema.must}.`)
  return value ?? ''
}
