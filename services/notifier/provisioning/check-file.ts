import type { FieldErrors } from '@courier/shared/errors/errors.ts'
import { badText, isBadText, label, validationErrors } from '@courier/shared/errors/field-errors.ts'
import type { TString } from '@sinclair/typebox'
import { TypeCompiler } from '@sinclair/typebox/compiler'
import { isSupportedCountry } from 'libphonenumber-js'
import { Pin, Secret, VerifyToken } from '../channels/fields.ts'
import { type ChannelChange, defaultMessagesPerSecond } from '../channels/store.ts'
import type { Tariff } from '../costs/price.ts'
import type { Rule } from '../events/rules.ts'
import { isTimeZone } from '../messages/hours.ts'
import { checkHours, checkRules, toRule } from './check-rules.ts'
import { checkTariffs, toTariff } from './check-tariffs.ts'
import { NotifierFile } from './notifier-file.ts'

/** A file whose secrets are in the clear, wherever they stood. */
export interface TenantConfig {
  readonly tenant: NotifierFile['tenant']
  readonly channels: readonly ChannelChange[]
  /** undefined: the rules stay as they are. */
  readonly rules: readonly Rule[] | undefined
  /** undefined: the tariffs stay as they are. */
  readonly tariffs: readonly Tariff[] | undefined
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
    add('tenant.time_zone', `There is no time zone ${value.tenant.time_zone}: give UTC or a name such as Asia/Colombo.`)
  checkHours(value.tenant.send_between, 'tenant', add)
  checkChannels(value, add)
  checkRules(value, add)
  checkTariffs(value, add)
  const channels = value.channels.map((channel, index) =>
    toChannelChange(channel, `channels.${index}`, environment, add),
  )
  if (Object.keys(errors).length > 0) return { kind: 'refused', errors }
  const { tenant, rules, tariffs } = value
  return { kind: 'accepted', file: { tenant, channels, rules: rules?.map(toRule), tariffs: tariffs?.map(toTariff) } }
}

const checkTexts = (value: unknown, path: string, add: Add): void => {
  if (typeof value === 'string' && isBadText(value)) add(path, badText(path))
  if (typeof value !== 'object' || value === null) return
  for (const [name, inner] of Object.entries(value)) checkTexts(inner, path ? `${path}.${name}` : name, add)
}

const checkChannels = ({ channels }: NotifierFile, add: Add): void => {
  const ids = channels.map(channel => channel.phone_number_id)
  for (const [index, id] of ids.entries())
    if (ids.indexOf(id) < index) add(`channels.${index}.phone_number_id`, `The phone number id ${id} is there twice.`)
  if (channels.filter(channel => channel.default).length > 1)
    add('channels', 'A tenant has one default channel at most.')
}

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
