import type { Static } from '@sinclair/typebox'
import { normaliseCategory } from '../../core/messaging-api/read-json.ts'
import { findBillingRule } from './billing-rules.ts'
import type { PriceView } from './price-view.ts'

/** Lists the categories of tariffs, as webhooks spell them (docs/contributors/messaging-api.md#pricing). */
export const pricedCategories = [
  'marketing',
  'utility',
  'authentication',
  'authentication_international',
  'marketing_lite',
  'service',
] as const

/** Stands for every country without a tariff of its own. */
export const anyCountry = '*'

export interface Tariff {
  readonly category: string
  /** Is an ISO 3166 code, or `*`. */
  readonly country: string
  /** Names a day by the clocks of the tenant, such as 2026-01-31. */
  readonly from: string
  /** Is an exact decimal, such as 0.0165. */
  readonly price: string
}

export interface TenantTariffs {
  /** Names a currency such as USD; null means that the tenant has no tariffs. */
  readonly currency: string | null
  readonly timeZone: string
  readonly tariffs: readonly Tariff[]
}

export interface PricedMessage {
  /** Names the category of its template, in any letter case; undefined or null mean unknown. */
  readonly category: string | null | undefined
  readonly country: string | undefined
  readonly at: Date
  /** Is true if the recipient wrote to the number within 24 hours (`isOpen` of conversations/conversation.ts). */
  readonly isWindowOpen: boolean
  /** Counts the service messages that the number has sent this month (`countService`); 0 if omitted. */
  readonly serviceMessages?: number
}

/**
 * Prices a delivered message by the tenant's tariffs (docs/staff/costs.md); the amount is null without a tariff, never
 * 0.
 */
export const findPrice = (
  { currency, timeZone, tariffs }: TenantTariffs,
  { category: given, country, at, isWindowOpen, serviceMessages = 0 }: PricedMessage,
): Static<typeof PriceView> => {
  if (!given) return { amount: null, currency, category: null, is_free: false, reason: 'no_category' }
  const category = normaliseCategory(given)
  const day = findDay(at, timeZone)
  const rule = findBillingRule(day)
  const free = (reason: 'open_window' | 'free_quota') => ({ amount: '0', currency, category, is_free: true, reason })
  if (isWindowOpen && category === 'utility' && !rule.billsUtilityInWindow) return free('open_window')
  if (category === 'service' && rule.serviceTariff === null) return free('open_window')
  if (category === 'service' && serviceMessages < rule.freeServiceMessages) return free('free_quota')
  const exact = chooseTariff(tariffs, category, country, day)
  const instead = category === 'service' && rule.serviceTariff
  const tariff = exact ?? (instead ? chooseTariff(tariffs, instead, country, day) : undefined)
  return { amount: tariff?.price ?? null, currency, category, is_free: false, reason: tariff ? 'tariff' : 'no_tariff' }
}

/** Prefers the country's own tariff to one for every country, then the latest; `tariffJoin` does the same in SQL. */
export const chooseTariff = (
  tariffs: readonly Tariff[],
  category: string,
  country: string | undefined,
  day: string,
): Tariff | undefined => {
  const findLatest = (wanted: string | undefined) =>
    tariffs
      .filter(tariff => tariff.category === category && tariff.country === wanted && tariff.from <= day)
      .reduce<Tariff | undefined>(
        (latest, tariff) => (latest && latest.from > tariff.from ? latest : tariff),
        undefined,
      )
  return findLatest(country) ?? findLatest(anyCountry)
}

const formats = new Map<string, Intl.DateTimeFormat>()

/** Returns the day by the clocks of a time zone, such as 2026-01-31. Throws RangeError for an unknown time zone. */
export const findDay = (at: Date, timeZone: string): string => {
  const format = formats.get(timeZone) ?? new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short' })
  formats.set(timeZone, format)
  return format.format(at)
}
