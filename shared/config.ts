import { readFileSync } from 'node:fs'
import { isIPv4, isIPv6 } from 'node:net'
import type { Static, TObject, TSchema } from '@sinclair/typebox'
import { Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { oneOf } from './schemas.ts'

/** Reports invalid settings: `message` names every bad variable, one per line, and never shows a secret's value. */
export class ConfigError extends Error {
  override name = 'ConfigError'
}

/** Describes a TCP port; 0 lets the system choose one. */
export const Port = (fallback: number, description: string) =>
  Type.Integer({ minimum: 0, maximum: 65535, default: fallback, description, must: 'be a port number, 0 to 65535' })

export const PositiveInteger = (fallback: number, description: string, maximum = 2147483647) =>
  Type.Integer({ minimum: 1, maximum, default: fallback, description, must: `be a whole number, 1 to ${maximum}` })

export const LogLevel = oneOf(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'], {
  default: 'info',
  description: 'how much is logged',
})

const mustBePostgresUrl =
  'be a postgres:// address of one host: a DNS name, HAProxy or PgBouncer that leads to the primary'

/**
 * Describes a URL that never appears in an error: it holds a password. Refuses libpq's lists of hosts, which pg does
 * not try in turn.
 */
export const PostgresUrl = (description: string) =>
  Type.String({
    maxLength: 4096,
    pattern: '^postgres(ql)?://.+',
    description,
    secret: true,
    isUrl: true,
    must: mustBePostgresUrl,
    problem: (url: string, name: string) => {
      const { host, searchParams } = new URL(url)
      const hosts = [host, ...searchParams.getAll('host'), ...searchParams.getAll('port')]
      return hosts.some(each => each.includes(',')) ? `${name} must ${mustBePostgresUrl} (${description})` : undefined
    },
  })

/** Authenticates the services to each other. */
export const ServiceToken = Type.String({
  maxLength: 512,
  pattern: '^[\\x21-\\x7e]{16,512}$',
  secret: true,
  description: 'the secret that authenticates orders and notifier to each other: the same in both',
  must: 'be 16 to 512 printable ASCII characters without blanks: make one with openssl rand -hex 32',
})

const proxiesMust = 'be IP addresses or networks such as 10.0.0.0/8, with commas between'

/** Returns true for an IP address, and for a network with its prefix length after a slash. */
const isProxy = (text: string): boolean => {
  const [address = '', prefix, ...rest] = text.split('/')
  const bits = isIPv4(address) ? 32 : isIPv6(address) && !address.includes('%') ? 128 : -1
  const length = prefix === undefined ? bits : /^\d{1,3}$/.test(prefix) ? Number(prefix) : 0
  // @fastify/proxy-addr refuses a prefix of 0 bits.
  return rest.length === 0 && length >= 1 && length <= bits
}

const origin = 'https?://[^\\s/,*]+'

const HttpUrl = (form: string, description: string, isSecret = false) =>
  Type.Optional(
    Type.String({
      maxLength: 2048,
      pattern: form,
      isUrl: true,
      secret: isSecret,
      description,
      must: 'be an http:// or https:// address',
    }),
  )

export const PublicUrl = (description: string) => HttpUrl('^https?://[^/?#@\\s]+(/[^?#\\s]*)?$', description)

export const ServiceUrl = (description: string) => HttpUrl('^https?://[^/?#]+/?$', description)

/** Describes the origins of the console, for orders. */
export const Origins = (description: string) =>
  Type.Optional(
    Type.String({
      maxLength: 4096,
      pattern: `^${origin}(,${origin})*$`,
      description,
      must: 'be origins such as https://portal.example, with commas between',
    }),
  )

const Bytes = (description: string) =>
  Type.Optional(Type.Integer({ minimum: 1, maximum: 2 ** 40, description, must: 'be a whole number of bytes' }))

/** Lists the settings for limits of requests, trusted proxies, CORS and the public URL. */
export const requestSettings = {
  MAX_BODY_BYTES: PositiveInteger(5_242_880, 'maximum bytes of the body of a bulk request', 104_857_600),
  MAX_BYTES_IN_FLIGHT: Bytes('maximum bytes of all bodies being received or handled'),
  ADDRESS_BYTES_IN_FLIGHT: Bytes(
    'maximum bytes of the bodies from one network address that are being received or handled',
  ),
  RATE_LIMIT_PER_MINUTE: PositiveInteger(6000, 'maximum requests per minute of one merchant or member of staff'),
  ADDRESS_LIMIT_PER_MINUTE: PositiveInteger(12_000, 'maximum requests per minute from one network address'),
  ADDRESS_REFUSALS_PER_MINUTE: PositiveInteger(60, 'maximum wrong tokens per minute from one network address'),
  TRUSTED_PROXIES: Type.Optional(
    Type.String({
      maxLength: 4096,
      description: 'the proxies in front of the service, whose X-Forwarded headers are trusted',
      must: proxiesMust,
      problem: (value: string) =>
        value.split(',').every(isProxy)
          ? undefined
          : `TRUSTED_PROXIES must ${proxiesMust}, not ${JSON.stringify(value)}`,
    }),
  ),
  CORS_ORIGINS: Type.Optional(
    Type.String({
      maxLength: 4096,
      pattern: `^(\\*|none|${origin}(,${origin})*)$`,
      description:
        'the origins of the web pages that may send requests; by default all, for merchants and the public only',
      must: 'be *, none, or origins such as https://shop.example, with commas between',
    }),
  ),
  PUBLIC_URL: PublicUrl('the URL at which callers reach the service, used in links'),
}

/** Tells what a failover of Postgres costs (docs/operators/failover.md). */
export const failoverSettings = {
  SYNCHRONOUS_STANDBY: oneOf(['true', 'false'], {
    default: 'false',
    description: 'true: a standby that is promoted has every acknowledged write',
  }),
}

/** Names the address that spans are sent to. OpenTelemetry itself reads its other variables. */
export const tracingSettings = {
  OTEL_EXPORTER_OTLP_ENDPOINT: HttpUrl(
    '^https?://[^?#\\s]+$',
    'the OpenTelemetry collector that spans are sent to, by OTLP over HTTP',
    true,
  ),
}

/** Returns the options of `createServer` that the settings give. */
export const readEdge = (settings: Static<TObject<typeof requestSettings>>) => {
  const inAll = settings.MAX_BYTES_IN_FLIGHT ?? 24 * Math.max(settings.MAX_BODY_BYTES, 5_242_880)
  return {
    trustedProxies: settings.TRUSTED_PROXIES,
    publicUrl: settings.PUBLIC_URL,
    corsOrigins: settings.CORS_ORIGINS,
    addressLimits: { requests: settings.ADDRESS_LIMIT_PER_MINUTE, refusals: settings.ADDRESS_REFUSALS_PER_MINUTE },
    bytesInFlight: { inAll, ofAddress: settings.ADDRESS_BYTES_IN_FLIGHT ?? Math.ceil(inAll / 3) },
  }
}

/**
 * Reads the variables that `schema` names. An empty variable counts as missing. A secret may be in a file instead,
 * which the variable NAME_FILE names. A property may have `problem`, which returns a sentence about a wrong value,
 * without a secret. The schema may have `problems`, which checks all values together and returns names with sentences.
 * Throws a ConfigError that lists all bad and missing variables.
 */
export const loadConfig = <S extends TObject>(
  schema: S,
  environment: Record<string, string | undefined>,
): Static<S> => {
  const given: Record<string, unknown> = {}
  const errors = new Map<string, string>()
  for (const [name, property] of Object.entries(schema.properties)) {
    const { text, error } = readText(name, property, environment)
    const value = text === undefined ? property.default : convert(property, text)
    if (value !== undefined) given[name] = value
    const isAbsent = value === undefined && !schema.required?.includes(name)
    const problem = error ?? (isAbsent ? undefined : findProblem(name, property, value))
    if (problem !== undefined) errors.set(name, problem)
  }
  const problems: [string, string][] = schema.problems?.(given) ?? []
  for (const [name, problem] of problems) if (!errors.has(name)) errors.set(name, problem)
  if (errors.size > 0) throw new ConfigError([...errors.values()].join('\n'))
  return given as Static<S>
}

/** Reads the text of a variable, or of the file that NAME_FILE names, without surrounding white space. */
const readText = (
  name: string,
  property: TSchema,
  environment: Record<string, string | undefined>,
): { text?: string; error?: string } => {
  const given = environment[name]?.trim()
  const path = property.secret ? environment[`${name}_FILE`]?.trim() : undefined
  if (!path) return given ? { text: given } : {}
  if (given) return { error: `${name} and ${name}_FILE are both set: set one of them` }
  try {
    const text = readFileSync(path, 'utf8').trim()
    return text ? { text } : { error: `${name}_FILE names an empty file: ${path}` }
  } catch (error) {
    return { error: `${name}_FILE cannot be read: ${path} (${(error as NodeJS.ErrnoException).code})` }
  }
}

/** Reads only digits as a whole number: `1e3` and `true` stay text and fail. */
const convert = (property: TSchema, text: string): unknown =>
  property.type === 'integer' && /^\d+$/.test(text) ? Number(text) : text

const findProblem = (name: string, property: TSchema, value: unknown): string | undefined => {
  if (value === undefined) return `${name} is missing: ${property.description}`
  if (Value.Check(property, value) && (!property.isUrl || URL.canParse(String(value))))
    return property.problem?.(value, name)
  const shown = property.secret ? '' : `, not ${JSON.stringify(value)}`
  return `${name} must ${property.must ?? `be a ${property.type}`}${shown} (${property.description})`
}

/** Works like `loadConfig`, but prints the errors and exits with status 1. */
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

/** Prints the errors of the settings and exits with status 1. */
export const refuseSettings = (errors: string): never => {
  process.stderr.write(`The settings are wrong; nothing was started:\n${errors.replace(/^/gm, '  ')}\n`)
  process.exit(1)
}
