import { ErrorList, required, selectedInvalid } from '@courier/shared/errors/field-errors.ts'
import { type PhoneReading, readPhone } from '@courier/shared/phone-number.ts'
import type { Catalogue } from '../catalogue/catalogue.ts'
import { findPrices, type Refusal } from '../catalogue/price-parcels.ts'
import { charge, type Rate } from '../catalogue/rate-card.ts'
import type { City } from '../places/city.ts'
import type { Batch, Order, ReadableBatch } from './read-batch.ts'

/** Describes an order that may be created: it has a destination and a price. */
export interface PricedOrder {
  readonly order: Order
  readonly destination: City
  readonly phone: PhoneReading
  /** Is in ten-thousandths of the tenant's currency unit. */
  readonly charge: number
}

export interface CheckedBatch {
  readonly businessId: string
  readonly origin: City
  /** Is the country by which the phone numbers were read. */
  readonly country: string
  readonly orders: readonly PricedOrder[]
}

export type Verdict = { kind: 'accepted'; batch: CheckedBatch } | Refusal

/**
 * Finds every error of a batch except existing waybills (docs/merchants/contract.md#errors), or its cities and prices.
 * `errors` already holds the errors in the batch's shape; errors in its readable parts are added. The verdict holds for
 * this version of the catalogue only.
 */
export const checkBatch = (
  batch: Batch | ReadableBatch,
  catalogue: Catalogue,
  merchantId: string,
  errors = new ErrorList(),
): Verdict => {
  const { businessId = '' } = batch
  if (batch.businessId !== undefined && catalogue.merchantOfBusiness.get(businessId) !== merchantId)
    errors.add('general_data.merchant_business_id', selectedInvalid('merchant_business_id'))
  const bookingRefusal = catalogue.bookingRefusals.get(merchantId)
  if (bookingRefusal) errors.add('merchant', bookingRefusal)
  const parcels = { origin: batch.origin, destinations: batch.orders.map(order => order?.destination) }
  const { origin, destinations, rates, refusal } = findPrices(parcels, catalogue, merchantId, errors)
  checkWaybills(batch.orders, catalogue, errors)
  if (errors.count > 0 || !origin) return refusal
  const orders = (batch as Batch).orders.map((order, index) => ({
    order: catalogue.secondaryPhone ? order : { ...order, customerSecondaryPhone: undefined },
    destination: destinations[index] as City,
    phone: readPhone(order.customerPhone, catalogue.country),
    charge: charge(rates[index] as Rate, order.weightKg),
  }))
  return { kind: 'accepted', batch: { businessId, origin, country: catalogue.country, orders } }
}

const checkWaybills = (orders: readonly (Order | undefined)[], { waybills }: Catalogue, errors: ErrorList): void => {
  const seen = new Set<string>()
  for (const [index, order] of orders.entries()) {
    if (!order) continue
    const { waybill } = order
    const path = `order_data.${index}.waybill_number`
    if (waybill === undefined) {
      if (waybills.mode === 'manual') errors.add(path, required(path))
    } else if (!waybills.format.matches(waybill)) {
      const hint = `Waybills look like ${waybills.format.description}.`
      errors.add(
        'errors',
        `The waybill ${waybill} does not match the requested format. ${hint} It is in order_data.${index}.`,
      )
    } else if (seen.has(waybill)) {
      errors.add(path, 'The waybill number field has a duplicate value.')
    } else {
      seen.add(waybill)
    }
  }
}
