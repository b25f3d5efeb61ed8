import { findPhoneCountry } from '../../core/conversations/phone-number.ts'
import { type Tx, toColumns } from '../../core/database/tables.ts'
import type { LockedMessage } from '../../core/platform-webhooks/message-queries.ts'
import type { Pricing, Report } from '../../core/platform-webhooks/settle.ts'

interface PricedReport {
  readonly message: LockedMessage
  readonly report: Report & { readonly pricing: Pricing }
}

/** Stores the first pricing of each send of the reported messages. */
export const storePrices = (tx: Tx, reported: ReadonlyMap<LockedMessage, readonly Report[]>) => {
  const prices = [...reported].flatMap(([message, reports]) => selectPrices(message, reports))
  if (prices.length === 0) return undefined
  return tx.rows({ name: 'store_prices', text: pricesSql, values: toPriceColumns(prices) })
}

/** Returns the first pricing of each send of a message. */
const selectPrices = (message: LockedMessage, reports: readonly Report[]): PricedReport[] => {
  const priced = reports.filter(report => report.pricing !== undefined).sort((a, b) => a.at.getTime() - b.at.getTime())
  const first = new Map(priced.toReversed().map(report => [report.providerMessageId, report]))
  return [...first.values()].map(report => ({ message, report: report as PricedReport['report'] }))
}

const pricesSql = `
  insert into message_prices (tenant_id, message_id, provider_message_id, priced_at, category, is_free, type, country,
    template, merchant, phone_number_id)
  select * from unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[], $5::text[], $6::boolean[], $7::text[],
    $8::text[], $9::text[], $10::text[], $11::text[])
  on conflict do nothing`

const toPriceColumns = (prices: readonly PricedReport[]): unknown[][] => {
  const rows = prices.map(({ message, report: { pricing, ...report } }) => ({
    ...report,
    ...pricing,
    ...message,
    providerMessageId: report.providerMessageId,
    country: findPhoneCountry(message.recipient),
    template: message.templateName ?? '',
  }))
  return [
    ...toColumns(rows, 'tenant', 'messageId', 'providerMessageId', 'at', 'category', 'isFree', 'type', 'country'),
    ...toColumns(rows, 'template', 'merchant', 'phoneNumberId'),
  ]
}
