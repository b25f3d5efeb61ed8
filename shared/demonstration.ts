import { Type } from '@sinclair/typebox'

/** Lists the secrets that docker compose and `npm start` have as defaults. They are public: they protect nothing. */
export const demonstration = {
  password: 'courier',
  serviceToken: 'courier-demonstration-service-token',
  credentialsKey: 'demo:ZGVtb25zdHJhdGlvbi1rZXktb2YtMzItYnl0ZXMhISE=',
  webhookKey: 'demo:ZGVtb25zdHJhdGlvbi13ZWJob29rLWtleS0zMmJ5dGU=',
  accessToken: 'demo-access-token',
  appSecret: 'demo-app-secret',
} as const

/** Says where demonstration secrets are allowed. */
export const demonstrationSettings = {
  DEMO: Type.String({
    default: 'false',
    maxLength: 5,
    pattern: '^(true|false)$',
    description: 'true allows demonstration secrets with NODE_ENV=production, as docker-compose.override.yml does',
    must: 'be true or false',
  }),
  NODE_ENV: Type.Optional(Type.String({ description: 'production refuses demonstration secrets' })),
}

interface Settings {
  readonly [name: string]: unknown
  readonly NODE_ENV?: string
  readonly DEMO?: string
  readonly MESSAGING_API_URL?: string
}

/** Returns the key of `id:base64`, without its padding. */
const readKey = (pair: string): string => pair.split(/[:=]/)[1] ?? ''

const secrets: Readonly<Record<string, string>> = {
  SERVICE_TOKEN: demonstration.serviceToken,
  DEMO_ACCESS_TOKEN: demonstration.accessToken,
  DEMO_APP_SECRET: demonstration.appSecret,
  // Anyone can open what the key seals: under any id, even as an older key.
  CREDENTIALS_KEYS: readKey(demonstration.credentialsKey),
  WEBHOOK_KEYS: readKey(demonstration.webhookKey),
}

export const findDemonstrationSecrets = (settings: Settings): string[] =>
  Object.keys(settings).filter(name => {
    const [value, secret] = [settings[name], secrets[name]]
    if (typeof value !== 'string') return false
    if (name.endsWith('_DATABASE_URL')) return hasDemonstrationPassword(value, settings.NODE_ENV)
    return secret !== undefined && value.includes(secret)
  })

/** Allows the password in the embedded Postgres of development, which listens only on this machine. */
const hasDemonstrationPassword = (url: string, nodeEnvironment: string | undefined): boolean => {
  if (!URL.canParse(url)) return false
  const { hostname, password, searchParams } = new URL(url)
  const isEmbedded = isLoopback(hostname) && nodeEnvironment !== 'production'
  return !isEmbedded && (searchParams.get('password') ?? password) === demonstration.password
}

const isLoopback = (hostname: string): boolean => /^(localhost|\[::1\]|127(\.\d+){3})$/.test(hostname)

/**
 * Implements the option `problems` of a schema of settings: a sentence for each demonstration secret where none is
 * allowed.
 */
export const demonstrationProblems = (settings: Settings): [string, string][] => {
  const reason = findReason(settings)
  if (reason === undefined) return []
  return findDemonstrationSecrets(settings).map(name => [name, `${name} ${writeSentence(name)} ${reason}: ${remedy}`])
}

const remedy = 'set a secret of your own (npm run secrets writes a .env for docker compose)'

const writeSentence = (name: string): string => {
  if (!name.endsWith('_DATABASE_URL')) return 'is the public demonstration secret, refused with'
  const password = name.replace('_MIGRATE_DATABASE_URL', '_OWNER_PASSWORD').replace('_DATABASE_URL', '_PASSWORD')
  return `has the public demonstration password (${password} of docker compose), refused with`
}

export const isProduction = ({ NODE_ENV, DEMO }: Settings): boolean => NODE_ENV === 'production' && DEMO !== 'true'

const findReason = (settings: Settings): string | undefined => {
  const { MESSAGING_API_URL: url } = settings
  if (url !== undefined && !isSimulator(url)) return 'a MESSAGING_API_URL that is not the simulator'
  return isProduction(settings) ? 'NODE_ENV=production without DEMO=true' : undefined
}

/** Returns true for a host on this machine, and for the service of docker-compose.override.yml. */
const isSimulator = (url: string): boolean => {
  const hostname = URL.canParse(url) ? new URL(url).hostname : ''
  return hostname === 'simulator' || isLoopback(hostname)
}

interface Warner {
  warn: (fields: object, text: string) => void
}

/** Logs one line in production with the names of the settings whose addresses lead a browser to its own machine. */
export const warnOfLoopback = (
  settings: Settings,
  addresses: Record<string, string | undefined>,
  logger: Warner,
): void => {
  const isLocal = (url: string) => URL.canParse(url) && isLoopback(new URL(url).hostname)
  const found = Object.keys(addresses).filter(name => addresses[name]?.split(',').every(isLocal))
  if (!isProduction(settings) || found.length === 0) return
  logger.warn({ settings: found }, 'settings.loopback: browsers elsewhere cannot reach these: set public addresses')
}

/** Logs one line with the names of the demonstration secrets, where they are allowed. */
export const warnOfDemonstration = (settings: Settings, logger: Warner): void => {
  const found = findDemonstrationSecrets(settings)
  if (found.length > 0) logger.warn({ settings: found }, 'settings.demonstration_secrets: for the simulator alone')
}
