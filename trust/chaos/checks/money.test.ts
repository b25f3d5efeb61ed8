import type { Evidence, StoredOrder } from '../evidence.ts'
import { any, change, find, testChecks } from '../test/spoil.ts'
import * as money from './money.ts'

/** Delivers the first order, and books these amounts for it. */
const deliver = ({ orders, money }: Evidence, book: (order: StoredOrder) => number[]): void => {
  change(orders, any, { status: 'key_13' })
  const order = find(orders, any)
  money.push(...book(order).map(cod => ({ waybill: order.waybill, cod })))
}

testChecks(money, {
  moneyIsBookedOnce: {
    'a delivered parcel has no line': evidence => deliver(evidence, () => []),
    'a parcel was booked twice': evidence => deliver(evidence, ({ cod }) => [cod, cod]),
    'another amount was booked': evidence => deliver(evidence, ({ cod }) => [cod + 1]),
    'a parcel that was not delivered has a line': ({ orders, money }) => money.push(find(orders, any)),
    'the check of the ledger found something': ({ brokenLedger }) => brokenLedger.push('unequal 018f'),
  },
})
