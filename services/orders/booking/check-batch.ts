import { ErrorList, required, selectedInvalid } from '@courier/shared/errors/field-errors.ts'
import type { Catalogue } from '../catalogue/catalogue.ts'
import type { City } from '../catalogue/cities.ts'
import { Findings, type Refusal } from '../catalogue/findings.ts'
import { findPrices } from '../catalogue/price-parcels.ts'
import { charge, type Rate } from '../catalogue/rate-card.ts'
import { batchPaths } from './batch-paths.ts'
import type { Batch, Order, ReadableBatch } from './read-batch.ts'

/** An order that may be created: its destination is known and it has a price. */
export interface PricedOrder {
  readonly order: Order
  readonly destination: City
  /** Hundredths of the tenant's currency unit. */
  readonly charge: number
}

export interface CheckedBatch {
  readonly businessId: string
  readonly origin: City
  readonly orders: readonly PricedOrder[]
}

export type Verdict = { kind: 'accepted'; batch: CheckedBatch } | Refusal

/**
 * Finds every error of a batch except existing waybills (docs/merchants/contract.md#errors), or its cities and prices.
 * Pure: the verdict holds for that version of the catalogue.
 */
export const checkBatch = (batch: Batch, catalogue: Catalogue, merchantId: string): Verdict => {
  const findings = new Findings(catalogue.cities, new ErrorList())
  const { origin, destinations, rates } = examine(batch, catalogue, merchantId, findings)
  if (findings.list.count > 0 || !origin) return findings.refusal()
  const orders = batch.orders.map((order, index) => ({
    order: catalogue.secondaryPhone ? order : { ...order, customerSecondaryPhone: undefined },
    destination: destinations[index] as City,
    charge: charge(rates[index] as Rate, order.weightKg),
  }))
  return { kind: 'accepted', batch: { businessId: batch.businessId, origin, orders } }
}

/** Adds the errors of those parts of a batch whose shape is right to the `errors` of its shape. */
export const checkRest = (
  rest: ReadableBatch,
  errors: ErrorList,
  catalogue: Catalogue,
  merchantId: string,
): Refusal => {
  const findings = new Findings(catalogue.cities, errors)
  examine(rest, catalogue, merchantId, findings)
  return findings.refusal()
}

const examine = (batch: ReadableBatch, catalogue: Catalogue, merchantId: string, findings: Findings) => {
  const { businessId, orders } = batch
  if (businessId !== undefined && catalogue.merchantOfBusiness.get(businessId) !== merchantId)
    findings.list.add('general_data.merchant_business_id', selectedInvalid('merchant_business_id'))
  const destinations = orders.map(order => order?.destination)
  const found = findPrices({ origin: batch.origin, destinations }, catalogue, merchantId, findings, batchPaths)
  checkWaybills(orders, catalogue, findings.list)
  return found
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
