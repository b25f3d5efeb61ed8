import { oneOf } from '@courier/shared/schemas.ts'
import { type Static, Type } from '@sinclair/typebox'
import type { Verdict } from '../../core/channels/health.ts'
import { wordFailure } from '../../core/channels/health.ts'
import { silentMinutes } from '../../core/channels/silent.ts'
import type { Channel } from '../../core/channels/view.ts'
import type { PortfolioResponse, TokenInfo } from '../../core/messaging-api/account-responses.ts'
import type { Failed, Received } from '../../core/messaging-api/responses.ts'
import type { Signals } from './queries.ts'

export const checks = [
  'token',
  'number',
  'secrets',
  'subscription',
  'callback',
  'fields',
  'signature',
  'statuses',
  'inbound',
  'routing',
  'version',
  'limit',
  'templates',
  'price',
  'texts',
  'updates',
] as const
const states = ['ok', 'warning', 'wrong'] as const

/** Reports the result of one check: `text` says what the check found and, unless it is ok, the remedy. */
export const Line = Type.Object(
  {
    check: oneOf(checks),
    state: oneOf(states, {
      description: 'wrong: messages or their webhooks do not work; warning: they may stop, or cannot be checked.',
    }),
    text: Type.String({ examples: ['The number is registered and CONNECTED.'] }),
  },
  { title: 'DoctorLine' },
)
export type Line = Static<typeof Line>
type Result = Omit<Line, 'check'>

const ok = (text: string): Result => ({ state: 'ok', text })
const warning = (text: string): Result => ({ state: 'warning', text })
const wrong = (text: string): Result => ({ state: 'wrong', text })

/** Turns the verdict of the channel's check into a line. */
export const fromVerdict = ({ problems, warnings }: Verdict, good: string): Result => {
  const text = [...problems, ...warnings].join(' ')
  return problems.length > 0 ? wrong(text) : warnings.length > 0 ? warning(text) : ok(good)
}

export const judgeSecrets = ({ webhooks }: Channel): Result =>
  webhooks
    ? ok('App secret and verify token are stored.')
    : wrong('The channel has no app secret or no verify token, so it accepts no webhook: store both.')

export const judgeSubscription = (
  wabaId: string | null,
  apps: Received<string[]> | Failed | undefined,
  token: Received<TokenInfo> | Failed,
): Result => {
  if (wabaId === null || apps === undefined)
    return wrong('The channel has no waba_id, so the subscription of its account is unknown: set it.')
  if (apps.kind !== 'received') return warning(`The subscription could not be read. ${wordFailure(apps)}`)
  const app = token.kind === 'received' ? token.value.app_id : null
  if (app === null ? apps.value.length > 0 : apps.value.includes(app))
    return ok(`The app is subscribed to the webhooks of account ${wabaId}.`)
  return wrong(`The app is not subscribed to account ${wabaId}, so no webhook comes: subscribe it (--fix).`)
}

/** Lists what the notifier reads; without the needed ones messages of customers or their statuses are lost. */
const neededFields = ['messages', 'standby', 'messaging_handovers', 'user_preferences']
const usefulFields = [
  ...['message_template_status_update', 'template_category_update', 'message_template_quality_update'],
  ...['account_update', 'business_capability_update', 'phone_number_quality_update', 'phone_number_name_update'],
  ...['account_review_update', 'account_alerts', 'business_status_update', 'security', 'flows'],
]

export const judgeFields = (read: Received<string[]> | Failed | undefined): Result => {
  if (read === undefined)
    return warning(
      'The subscribed fields are unknown: the API names them to the app with its secret, which is missing.',
    )
  if (read.kind !== 'received') return warning(`The subscribed fields could not be read. ${wordFailure(read)}`)
  const missing = (fields: readonly string[]) => fields.filter(field => !read.value.includes(field))
  const [needed, useful] = [missing(neededFields), missing(usefulFields)]
  const all = [...needed, ...useful]
  if (all.length === 0) return ok(`The app is subscribed to every field that is read: ${read.value.join(', ')}.`)
  const text = `The app is not subscribed to ${all.join(', ')}: subscribe in its dashboard (WhatsApp, Configuration, Webhook fields).`
  return needed.includes('messages') ? wrong(text) : warning(text)
}

export const judgeRouting = (signals: Signals | undefined): Result => {
  const { standby_first_at: first, standby_at: last, owned_at: owned } = signals ?? {}
  if (!first) return ok('No other responder was seen on the number.')
  const ours = owned ? `We were the responder last at ${owned.toISOString()}.` : 'We have not been the responder yet.'
  return warning(
    `Routing is on: another responder answered first at ${first.toISOString()}, last at ${last?.toISOString()}. ${ours}`,
  )
}

export const webhookPath = '/webhooks/messaging'

export const judgeCallback = (
  read: Received<{ url: string | null }> | Failed,
  publicUrl: string | undefined,
): Result => {
  if (read.kind !== 'received') return warning(`The callback address could not be read. ${wordFailure(read)}`)
  const { url } = read.value
  const wanted = `${publicUrl?.replace(/\/$/, '') ?? 'https://YOUR-HOST'}${webhookPath}`
  if (url === null) return wrong(`The API has no callback address: enter ${wanted} on the developer site.`)
  const isNotifier = publicUrl === undefined ? url.endsWith(webhookPath) : url.replace(/\/$/, '') === wanted
  if (isNotifier) return ok(`The API posts webhooks to ${url}.`)
  return wrong(
    `The API posts webhooks to ${url}, not to ${wanted}: correct it on the developer site, or PUBLIC_URL here.`,
  )
}

export const judgeSignature = (signals: Signals | undefined): Result =>
  signals
    ? ok(`The app secret signed a webhook, last at ${signals.signed_at.toISOString()}.`)
    : warning('No webhook has come yet that the app secret signed: press Test beside a field on the developer site.')

export const judgeStatuses = (signals: Signals | undefined, silentSince: Date | null): Result => {
  if (silentSince)
    return wrong(
      `Messages that the API accepted since ${silentSince.toISOString()} have had no status for ${silentMinutes} minutes: see the lines above.`,
    )
  return signals?.status_at
    ? ok(`The last status of a message came at ${signals.status_at.toISOString()}.`)
    : warning('No status of a message has come yet: send one.')
}

export const judgeInbound = (signals: Signals | undefined): Result =>
  signals?.inbound_at
    ? ok(`The last message of a customer came at ${signals.inbound_at.toISOString()}.`)
    : warning('No message of a customer has come yet: write to the number.')

const nearlyUsed = 0.8

/** Words the limit of the portfolio, which the API names, and what is stored as used of it. */
export const judgeLimit = (read: Received<PortfolioResponse> | Failed, used: number): Result => {
  if (read.kind !== 'received') return warning(`The messaging limit could not be read. ${wordFailure(read)}`)
  const { maxPeople } = read.value
  if (maxPeople === null) return ok('The portfolio has no messaging limit.')
  if (maxPeople === undefined) return warning('The API did not say what the messaging limit of the portfolio is.')
  const text = `Templates reached ${used} of the ${maxPeople} people whom the portfolio may reach in 24 hours.`
  if (used < maxPeople * nearlyUsed) return ok(text)
  return warning(`${text} Further messages wait for room: see the business suite for a higher limit.`)
}

export const judgeTemplates = (
  rules: number,
  unapproved: readonly { template: string; language: string; status: string | null }[],
): Result => {
  if (rules === 0) return warning('No rule sends a template: add rules to the file and apply it.')
  if (unapproved.length === 0) return ok('The account has approved every template that rules send.')
  const named = unapproved.map(
    ({ template, language, status }) => `${template} (${language}) is ${status ?? 'missing'}`,
  )
  return wrong(`${named.slice(0, 10).join(', ')}: sync the templates, or have them approved.`)
}

export const judgePrice = ({ amount, currency }: { amount: string | null; currency: string | null }): Result =>
  amount === null
    ? warning('The price of the next message is unknown: add a tariff for utility messages.')
    : ok(`The next utility message costs ${amount} ${currency}.`)

/** Words how many of the month's free texts were delivered, and what happens to those above. */
export const judgeTexts = (
  { sent, free }: { sent: number; free: number },
  payment: Received<boolean> | Failed | undefined,
): Result => {
  if (free === 0) return ok('Texts cost nothing.')
  const count = `${sent} of the ${free} free texts of the number and month were delivered.`
  if (payment?.kind !== 'received')
    return warning(
      `${count} Whether the account has a payment method is unknown: without one, further texts are accepted and not delivered. ${payment ? wordFailure(payment) : 'The channel has no waba_id.'}`,
    )
  if (!payment.value)
    return warning(
      `${count} The account has no payment method, so that the API accepts further texts and does not deliver them: add one in the business suite.`,
    )
  const text = `${count} Further ones cost the rate of utility messages.`
  return sent < free * nearlyUsed ? ok(text) : warning(text)
}

/** Words what Node, Postgres and the table of fixes lack. */
export const judgeUpdates = (missing: readonly string[]): Result =>
  missing.length > 0
    ? warning(`${missing.join('. ')}.`)
    : ok('Node and Postgres have the newest security fixes that Courier knows of.')
