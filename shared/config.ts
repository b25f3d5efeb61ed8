import type { Static, TObject, TSchema } from '@sinclair/typebox'
import { Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'

/** The settings are wrong: `message` names every bad variable, one a line, and never shows the value of a secret. */
export class ConfigError extends Error {
  override name = 'ConfigError'
}

/** A TCP port; 0 lets the system choose one. */
export const Port = (fallback: number, description: string) =>
  Type.Integer({ minimum: 0, maximum: 65535, default: fallback, description, must: 'be a port number, 0 to 65535' })

export const PositiveInteger = (fallback: number, description: string, maximum = 2147483647) =>
  Type.Integer({ minimum: 1, maximum, default: fallback, description, must: `be a whole number, 1 to ${maximum}` })

export const LogLevel = Type.Union(
  ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'].map(level => Type.Literal(level)),
  {
    default: 'info',
    description: 'how much is logged',
    must: 'be one of trace, debug, info, warn, error, fatal, silent',
  },
)

/** A setting whose value never appears in an error: it holds a password or a key. */
export const PostgresUrl = (description: string) =>
  Type.String({
    pattern: '^postgres(ql)?://.+',
    description,
    secret: true,
    isUrl: true,
    must: 'be a postgres:// address',
  })

/** What the services know each other by. */
export const ServiceToken = Type.String({
  pattern: '^[\\x21-\\x7e]{16,512}$',
  secret: true,
  description: 'the secret that orders and notifier know each other by: the same in both',
  must: 'be 16 to 512 printable ASCII characters without blanks: make one with openssl rand -hex 32',
})

const byte = '(25[0-5]|2[0-4]\\d|1?\\d?\\d)'
const ipv4 = `${byte}(\\.${byte}){3}(/(3[0-2]|[12]?\\d))?`
const ipv6 = '[\\da-fA-F]{0,4}(:[\\da-fA-F]{0,4}){2,7}(/(12[0-8]|1[01]\\d|\\d?\\d))?'
const proxy = `(${ipv4}|${ipv6})`

/** The limits of a service's calls, and whom it believes where they come from. */
export const callSettings = {
  MAX_BODY_BYTES: PositiveInteger(5_242_880, 'how many bytes a request body may have', 104_857_600),
  RATE_LIMIT_PER_MINUTE: PositiveInteger(6000, 'how many calls one merchant or member of staff may make in a minute'),
  ADDRESS_LIMIT_PER_MINUTE: PositiveInteger(12_000, 'how many calls a minute may come from one network address'),
  ADDRESS_REFUSALS_PER_MINUTE: PositiveInteger(60, 'how many wrong tokens a minute may come from one network address'),
  TRUSTED_PROXIES: Type.Optional(
    Type.String({
      pattern: `^${proxy}(,${proxy})*$`,
      description: 'the proxies in front of the service: their X-Forwarded headers are believed',
      must: 'be IP addresses or networks such as 10.0.0.0/8, with commas between',
    }),
  ),
}

/** The address of the other service. */
export const ServiceUrl = (description: string) =>
  Type.Optional(
    Type.String({
      pattern: '^https?://[^/?#]+/?$',
      isUrl: true,
      description,
      must: 'be an http:// or https:// address',
    }),
  )

/**
 * Reads the variables that `schema` names. An empty variable counts as missing.
 * Throws ConfigError that lists all of the bad and missing ones together.
 */
export const loadConfig = <S extends TObject>(
  schema: S,
  environment: Record<string, string | undefined>,
): Static<S> => {
  const given: Record<string, unknown> = {}
  for (const [name, property] of Object.entries(schema.properties)) {
    const text = environment[name]?.trim() || undefined
    const value = text === undefined ? property.default : convert(property, text)
    if (value !== undefined) given[name] = value
  }
  const complaints = new Map<string, string>()
  for (const error of Value.Errors(schema, given)) {
    const name = error.path.split('/')[1] ?? ''
    if (!complaints.has(name)) complaints.set(name, complaint(name, schema.properties[name] as TSchema, given[name]))
  }
  for (const [name, property] of Object.entries(schema.properties))
    if (property.isUrl && typeof given[name] === 'string' && !URL.canParse(given[name]))
      complaints.set(name, complaint(name, property, given[name]))
  if (complaints.size > 0) throw new ConfigError([...complaints.values()].join('\n'))
  return given as Static<S>
}

/** Only digits are a whole number: `1e3` and `true` stay text, and fail. */
const convert = (property: TSchema, text: string): unknown =>
  property.type === 'integer' && /^\d+$/.test(text) ? Number(text) : text

const complaint = (name: string, property: TSchema, value: unknown): string => {
  if (value === undefined) return `${name} is missing: ${property.description}`
  const shown = property.secret ? '' : `, not ${JSON.stringify(value)}`
  return `${name} must ${property.must ?? `be a ${property.type}`}${shown} (${property.description})`
}

/** As `loadConfig`, for a process: prints the complaint and ends with status 1. */
export const loadConfigOrExit = <S extends TObject>(
  schema: S,
  environment: Record<string, string | undefined>,
): Static<S> => {
  try {
    return loadConfig(schema, environment)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return refuseSettings(error.message)
  }
}

/** Prints what is wrong with the settings, one a line, and ends the process with status 1. */
export const refuseSettings = (complaints: string): never => {
  process.stderr.write(`The settings are wrong, nothing was started:\n${complaints.replace(/^/gm, '  ')}\n`)
  process.exit(1)
}
