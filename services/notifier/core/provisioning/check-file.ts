import type { FieldErrors } from '@courier/shared/errors/errors.ts'
import { badText, isBadText, label, listErrors } from '@courier/shared/errors/field-errors.ts'
import type { TString } from '@sinclair/typebox'
import { TypeCompiler } from '@sinclair/typebox/compiler'
import { isSupportedCountry } from 'libphonenumber-js'
import { type ChannelChange, Pin, Secret, VerifyToken } from '../channels/fields.ts'
import { defaultMessagesPerSecond } from '../channels/store.ts'
import type { Rule } from '../events/queries.ts'
import { isTimeZone } from '../messages/hours.ts'
import { checkHours, checkRules, toRule } from './check-rules.ts'
import { type Add, coreFile, defineFile, type FileParts } from './file-part.ts'
import type { NotifierFile } from './notifier-file.ts'

/** Is a checked file with its secrets in the clear, from the file or the environment. */
export interface TenantConfig {
  readonly tenant: NotifierFile['tenant']
  readonly channels: readonly ChannelChange[]
  readonly rules: readonly Rule[] | undefined
  /** Holds the fields of the parts, too. */
  readonly given: NotifierFile
  readonly parts: FileParts
}

type CheckedFile = { kind: 'accepted'; file: TenantConfig } | { kind: 'refused'; errors: FieldErrors }

type Environment = Record<string, string | undefined>
/** Checks the shape and content of a notifier file, and reads secrets from the environment. Shows no secret. */
export const checkFile = (value: unknown, environment: Environment, parts = coreFile): CheckedFile => {
  const check = TypeCompiler.Compile(defineFile(parts))
  if (!check.Check(value)) return { kind: 'refused', errors: listErrors(check, value).errors }
  const errors: FieldErrors = {}
  const add: Add = (path, sentence) => {
    errors[path] = [...(errors[path] ?? []), sentence]
  }
  checkTexts(value, '', add)
  if (!isSupportedCountry(value.tenant.country))
    add('tenant.country', `There are no phone numbers for a country ${value.tenant.country}.`)
  if (value.tenant.time_zone !== undefined && !isTimeZone(value.tenant.time_zone))
    add('tenant.time_zone', `There is no time zone ${value.tenant.time_zone}: give UTC or a name such as Asia/Colombo.`)
  checkHours(value.tenant.send_between, 'tenant', add)
  checkChannels(value, add)
  checkRules(value, parts, add)
  for (const part of parts) part.check?.(value, add)
  const channels = value.channels.map((channel, index) => readSecrets(channel, `channels.${index}`, environment, add))
  if (Object.keys(errors).length > 0) return { kind: 'refused', errors }
  const rules = value.rules?.map(rule => toRule(rule, parts))
  return { kind: 'accepted', file: { tenant: value.tenant, channels, rules, given: value, parts } }
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
    add('channels', 'A tenant has at most one default channel.')
}

const secretSchemas = { access_token: Secret, app_secret: Secret, verify_token: VerifyToken, pin: Pin }
const compiled = new Map(Object.values(secretSchemas).map(schema => [schema, TypeCompiler.Compile(schema)]))

/** Returns the channel with its secrets in the clear; omitted fields get their defaults. */
const readSecrets = (channel: NotifierFile['channels'][number], path: string, environment: Environment, add: Add) => {
  const { access_token, app_secret, verify_token, pin, ...others } = channel
  const secrets: Record<string, string> = {}
  for (const [field, given] of Object.entries({ access_token, app_secret, verify_token, pin })) {
    const schema = secretSchemas[field as keyof typeof secretSchemas]
    if (typeof given === 'string') secrets[field] = given
    else if (given) secrets[field] = readVariable(`${path}.${field}`, given.env, schema, environment, add)
  }
  return { default: false, waba_id: null, messages_per_second: defaultMessagesPerSecond, ...others, ...secrets }
}

const readVariable = (path: string, name: string, schema: TString, environment: Environment, add: Add): string => {
  const value = environment[name]
  if (!value) add(path, `The ${label(path)} is in the environment variable ${name}, which is not set.`)
  else if (!compiled.get(schema)?.Check(value) || isBadText(value))
    add(path, `The ${label(path)} in the environment variable ${name} must ${schema.must}.`)
  return value ?? ''
}
