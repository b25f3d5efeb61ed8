import { type Actor, audit } from '@courier/shared/postgres/audit.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import { listMissingFixes } from '@courier/shared/security-fixes.ts'
import { judgeNumber, judgeToken, wordFailure } from '../../core/channels/health.ts'
import { type ChannelDependencies, createAppSecretLister } from '../../core/channels/secrets.ts'
import { noToken, readWithToken } from '../../core/channels/view.ts'
import { findTenant } from '../../core/conversations/queries.ts'
import type { Tx } from '../../core/database/tables.ts'
import { countReached } from '../account-limits/portfolio.ts'
import { findBillingRule } from '../costs/billing-rules.ts'
import { findDay, findPrice } from '../costs/price.ts'
import { countService, findTariffs } from '../costs/queries.ts'
import {
  fromVerdict,
  judgeCallback,
  judgeFields,
  judgeInbound,
  judgeLimit,
  judgePrice,
  judgeRouting,
  judgeSecrets,
  judgeSignature,
  judgeStatuses,
  judgeSubscription,
  judgeTemplates,
  judgeTexts,
  judgeUpdates,
  type Line,
} from './lines.ts'
import { countRules, findSignals, findSilentSince, listUnapproved } from './queries.ts'
import { judgeVersion } from './version.ts'

export interface DoctorDependencies extends Pick<ChannelDependencies, 'pool' | 'keyring' | 'api'> {
  /** Is the address at which the API reaches the notifier; without it only the path of the callback is compared. */
  readonly publicUrl: string | undefined
}

/**
 * Finds out whether messaging works on a number: reads what is stored about it, then asks the API. Changes nothing.
 * Returns undefined for an unknown number.
 */
export const diagnose = async (
  dependencies: DoctorDependencies,
  tenant: string,
  phoneNumberId: string,
): Promise<Line[] | undefined> => {
  const stored = await inTenant(dependencies.pool, tenant, (tx: Tx) =>
    readStored(tx, dependencies, tenant, phoneNumberId),
  )
  if (!stored) return undefined
  const { accessToken, signals, silentSince, rules, unapproved, price } = stored
  const asked = accessToken === undefined ? [] : await askApi(dependencies, stored, accessToken)
  const lines: Line[] = accessToken === undefined ? [{ check: 'token', state: 'wrong', text: noToken }] : asked
  const known: Line[] = [
    { check: 'signature', ...judgeSignature(signals) },
    { check: 'statuses', ...judgeStatuses(signals, silentSince) },
    { check: 'inbound', ...judgeInbound(signals) },
    { check: 'routing', ...judgeRouting(signals) },
    { check: 'templates', ...judgeTemplates(rules, unapproved) },
    { check: 'price', ...judgePrice(price) },
    { check: 'updates', ...judgeUpdates(await listMissingFixes(dependencies.pool)) },
  ]
  return [...lines, ...known]
}

const readStored = async (tx: Tx, { keyring }: DoctorDependencies, tenant: string, phoneNumberId: string) => {
  const known = await readWithToken(tx, keyring, { tenant, phoneNumberId })
  if (!known) return undefined
  const now = new Date()
  const settings = await findTenant(tx, tenant)
  const tariffs = await findTariffs(tx, tenant)
  const { freeServiceMessages: free } = findBillingRule(findDay(now, tariffs.timeZone))
  const next = { category: 'utility', country: settings?.country, at: now, isWindowOpen: false }
  return {
    channel: known.channel,
    now,
    accessToken: known.newest?.accessToken,
    appSecret: (await createAppSecretLister(keyring)(tx, [{ tenant, phoneNumberId }], true))[0]?.[0],
    signals: await findSignals(tx, tenant, phoneNumberId),
    silentSince: await findSilentSince(tx, tenant, phoneNumberId),
    rules: await countRules(tx, tenant),
    unapproved: await listUnapproved(tx, tenant, phoneNumberId),
    texts: { sent: free > 0 ? await countService(tx, tenant, phoneNumberId) : 0, free },
    price: findPrice(tariffs, next),
    used: await countReached(tx, tenant, phoneNumberId),
  }
}

type Stored = NonNullable<Awaited<ReturnType<typeof readStored>>>

const askApi = async (
  { api, publicUrl }: DoctorDependencies,
  { channel, appSecret, texts, now, used }: Pick<Stored, 'channel' | 'appSecret' | 'texts' | 'now' | 'used'>,
  accessToken: string,
): Promise<Line[]> => {
  const { phone_number_id: id, waba_id: wabaId } = channel
  const [number, token, callback, limit, apps, payment] = await Promise.all([
    api.phoneNumber({ accessToken }, id),
    api.debugToken({ accessToken }),
    api.callback({ accessToken }, id),
    api.portfolio({ accessToken }, id),
    wabaId === null ? undefined : api.subscribedApps({ accessToken }, wabaId),
    wabaId === null ? undefined : api.paymentMethod({ accessToken }, wabaId),
  ])
  const appId = token.kind === 'received' ? token.value.app_id : null
  const fields = appId && appSecret ? await api.subscribedFields(appId, appSecret) : undefined
  const served = number.kind === 'received' || number.kind === 'refused' ? number.servedVersion : null
  const version = judgeVersion(api.version, served, now)
  return [
    { check: 'token', ...fromVerdict(judgeToken(token, wabaId, now), 'The access token is valid, with both scopes.') },
    { check: 'number', ...fromVerdict(judgeNumber(number, token), 'The number is registered and CONNECTED.') },
    { check: 'secrets', ...judgeSecrets(channel) },
    { check: 'subscription', ...judgeSubscription(wabaId, apps, token) },
    { check: 'callback', ...judgeCallback(callback, publicUrl) },
    { check: 'fields', ...judgeFields(fields) },
    { check: 'version', state: version.isLate ? 'warning' : 'ok', text: version.text },
    { check: 'limit', ...judgeLimit(limit, used) },
    { check: 'texts', ...judgeTexts(texts, payment) },
  ]
}

type Subscribed = { kind: 'subscribed' } | { kind: 'refused'; reason: string }

/** Subscribes the app of the newest token to the account of a number; undefined for an unknown number. */
export const subscribe = async (
  { pool, keyring, api }: DoctorDependencies,
  tenant: string,
  phoneNumberId: string,
  by: Actor,
): Promise<Subscribed | undefined> => {
  const found = await inTenant(pool, tenant, (tx: Tx) => readWithToken(tx, keyring, { tenant, phoneNumberId }))
  if (!found) return undefined
  const { channel, newest } = found
  if (!newest) return { kind: 'refused', reason: noToken }
  if (channel.waba_id === null) return { kind: 'refused', reason: 'The channel has no waba_id: set it first.' }
  const response = await api.subscribe({ accessToken: newest.accessToken }, channel.waba_id)
  if (response.kind !== 'received') return { kind: 'refused', reason: wordFailure(response) }
  await inTenant(pool, tenant, (tx: Tx) => audit(tx, tenant, by, 'channel.subscribed', phoneNumberId))
  return { kind: 'subscribed' }
}
