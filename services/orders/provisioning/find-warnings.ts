import { query } from '@courier/shared/postgres/database.ts'
import { WaybillFormat } from '../catalogue/waybill-format.ts'
import type { Tx } from '../database/tables.ts'
import type { TenantFile } from './tenant-file.ts'

/** Finds settings that are valid in a file but will block booking. */
export const findWarnings = async (tx: Tx, file: TenantFile): Promise<string[]> => [
  ...(await warnOfMask(tx, file)),
  ...file.rate_cards.flatMap(card => warnOfCard(card, file)),
]

const fewNumbers = 10_000

const warnOfMask = async (tx: Tx, { tenant: { id, waybills } }: TenantFile): Promise<string[]> => {
  if (waybills.mode === 'manual') return []
  const [counter] = await query<{ next_number: string }>(tx)`
    select next_number from waybill_counters where tenant_id = ${id}`
  const { mask, capacity } = new WaybillFormat(waybills.format)
  const left = Math.max(0, capacity - Number(counter?.next_number ?? 1))
  return left < fewNumbers
    ? [`the waybill format ${mask} has ${left} numbers left; without numbers no order can be booked`]
    : []
}

const maxNamed = 5

/** Lists the cities of the file to which no zone of the card has a rate. */
const warnOfCard = ({ name, zones, rates }: TenantFile['rate_cards'][number], { states }: TenantFile): string[] => {
  const reached = new Set(rates.map(({ to }) => to))
  const zoneOfCity = new Map(
    Object.entries(zones).flatMap(([zone, members]) => (members === '*' ? [] : members.map(id => [id, zone] as const))),
  )
  const elsewhere = Object.keys(zones).find(zone => zones[zone] === '*')
  const missing = states.flatMap(state =>
    state.cities
      .filter(({ id }) => !reached.has(zoneOfCity.get(id) ?? elsewhere ?? ''))
      .map(city => `${city.name} in ${state.name}`),
  )
  if (missing.length === 0) return []
  const more = missing.length > maxNamed ? ` and ${missing.length - maxNamed} more` : ''
  return [
    `the rate card ${name} has no rate to ${missing.slice(0, maxNamed).join(', ')}${more}: orders there are refused`,
  ]
}
