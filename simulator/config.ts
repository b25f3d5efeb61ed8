import { LogLevel, Port } from '@courier/shared/config.ts'
import { demonstration } from '@courier/shared/demonstration.ts'
import { type Static, Type } from '@sinclair/typebox'
import { Behaviour, defaultBehaviour } from './basics/behaviour.ts'

const { properties } = Behaviour

/** Lists the environment variables that the process reads, besides NODE_ENV and those that notifier files name. */
export const Settings = Type.Object({
  HOST: Type.String({ default: '127.0.0.1', description: 'the address to listen on; 0.0.0.0 for all' }),
  SIMULATOR_PORT: Port(3002, 'the port of the simulator'),
  LOG_LEVEL: LogLevel,
  DEMO_ACCESS_TOKEN: Type.String({
    default: demonstration.accessToken,
    maxLength: 512,
    pattern: '^[\\x21-\\x7e]{1,512}$',
    description: 'the access token of the demo account',
    secret: true,
    must: 'be 1 to 512 printable ASCII characters without blanks',
  }),
  DEMO_APP_SECRET: Type.String({
    default: demonstration.appSecret,
    description: 'the secret that signs the webhooks of the demo account',
    secret: true,
  }),
  SIMULATOR_ACCOUNTS: Type.String({
    default: '',
    description: "the tenants' notifier files, comma-separated: their numbers and tokens work beside the demo's",
  }),
  WEBHOOK_URL: Type.String({
    default: defaultBehaviour.webhook_url ?? 'none',
    maxLength: 2048,
    pattern: '^(https?://.+|none)$',
    description: 'where webhooks go; none sends none',
    must: 'be an http:// or https:// address, or none',
  }),
  SIMULATOR_DELAY_FACTOR: Type.String({
    default: String(defaultBehaviour.delay_factor),
    maxLength: 40,
    pattern: '^([0-9]|[1-9][0-9])(\\.[0-9]+)?$|^100$',
    description: 'multiplies the delays of the status webhooks; 0 sends them at once',
    must: 'be a number, 0 to 100',
  }),
  SIMULATOR_ANSWER_LATENCY_MS: { ...properties.answer_latency_ms, default: defaultBehaviour.answer_latency_ms },
  SIMULATOR_THROUGHPUT_PER_SECOND: {
    ...properties.throughput_per_second,
    default: defaultBehaviour.throughput_per_second,
  },
})
export type Settings = Static<typeof Settings>

export const readBehaviour = (settings: Settings): Partial<Behaviour> => ({
  webhook_url: settings.WEBHOOK_URL === 'none' ? null : settings.WEBHOOK_URL,
  delay_factor: Number(settings.SIMULATOR_DELAY_FACTOR),
  answer_latency_ms: settings.SIMULATOR_ANSWER_LATENCY_MS,
  throughput_per_second: settings.SIMULATOR_THROUGHPUT_PER_SECOND,
})
