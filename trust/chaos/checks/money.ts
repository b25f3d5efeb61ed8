import type { Check } from '../evidence.ts'

/** Requires one line with its COD for each delivered parcel, none for another, and transfers that equal the lines. */
export const moneyIsBookedOnce: Check = ({ orders, money, brokenLedger }) => {
  const lines = Map.groupBy(money, ({ waybill }) => waybill)
  const wrong = orders.flatMap(({ waybill, status, cod }) => {
    const booked = (lines.get(waybill) ?? []).map(line => line.cod).join()
    return booked === (status === 'key_13' ? String(cod) : '')
      ? []
      : [`${waybill} is ${status} with the COD ${cod}, and its lines have ${booked || 'nothing'}`]
  })
  return [...wrong, ...brokenLedger.map(found => `the check of the ledger found ${found}`)]
}
