import { decimalsSql } from '@courier/shared/currency.ts'
import { readCurrency } from '../../core/actions/amounts.ts'
import type { Tx } from '../../core/database/tables.ts'
import { nameMover } from '../../core/moves/check-moves.ts'
import type { LockedMove, MovePoint, WantedMove } from '../../core/moves/move-points.ts'
import { findLineKind, isBeforeMoney, refuseBooking } from '../../core/statuses/check-set.ts'
import { findBooking } from '../../core/statuses/statuses.ts'
import {
  type Collection,
  checkCollection,
  collectionFields,
  collectionParameters,
  hasFraction,
  readCollection,
} from './collection.ts'
import { transfersOfMovesSql } from './ledger.ts'
import { findBooked, wordBooked } from './parcels.ts'
import { findPerson } from './people.ts'
import { reverseBooking } from './reverse.ts'
import { agreedTermsSql } from './terms.ts'

// Books the money of a move: COD, charges, fees, tax (docs/money.md). $1 is the tenant, $2 the waybills, $3 the mover's
// name. Reads each table once, not once for each parcel: a full join is never a nested loop, and `offset 0` makes
// Postgres keep the terms by merchant.

/**
 * Selects the parcels with the company's terms. Leaves out parcels with a line of this kind that was not reversed, so
 * each is booked once.
 */
const parcelsSql = (kind: string, reversal: string, columns: string, more = ''): string => `
        select moved.waybill_number, moved.merchant_id, today.*, agreed.*, ${columns},
          1 + coalesce(lines, 0) as line_no
        from moved full join (
          select waybill_number, count(*)::integer as lines,
            count(*) filter (where kind = '${kind}') > count(*) filter (where kind = '${reversal}') as is_booked
          from money_lines where tenant_id = $1 and waybill_number = any($2::text[]) group by 1
        ) earlier on earlier.waybill_number = moved.waybill_number ${more}
          cross join lateral (
            select journal_id, (now at time zone time_zone)::date as booked_on, tax_percent, withholding_percent,
              ${decimalsSql('currency')} as decimals
            from clock cross join tenants where tenants.tenant_id = $1 offset 0
          ) today
          cross join lateral (
            select coalesce(cod_fee_percent, 0) as fee_percent, coalesce(cod_fee_min, 0) as fee_min, return_fee,
              each_return_kg
            from (${agreedTermsSql}) terms
          ) agreed
        where is_booked is not true`

const common = `tenant_id, waybill_number, line_no, journal_id, merchant_id, kind, tax, booked_on, staff_name,
      tax_percent, withholding_percent`

/** Lists the columns of lines that transfers are made from. */
const returning =
  'journal_id, booked_on, merchant_id, cash_account, cod, delivery, cod_fee, return_fee, tax, withholding'

/** Inserts the lines of deliveries. $4 to $7 come from `collectionParameters`; $8 is the collector. */
const deliveryLinesSql = `
    insert into money_lines (${common}, cod, delivery, cod_fee, withholding, method, cash_account, reason)
    select $1, waybill_number, line_no, journal_id, merchant_id, 'delivered',
      round((delivery_charge + fee) * tax_percent / 100, decimals), booked_on, $3, tax_percent, withholding_percent,
      paid, delivery_charge, fee,
      round(paid * withholding_percent / 100, decimals), method, case when method = 'cash' then 'rider:' || $8::text
        when method is not null then 'clearing' end, reason
    from (
      select *, case when paid > 0 then round(greatest(paid * fee_percent / 100, fee_min), decimals) else 0 end as fee,
        case when paid > 0 then coalesce(given_method, 'cash') end as method
      from (${parcelsSql(
        'delivered',
        'delivery_reversed',
        'moved.delivery_charge, coalesce(given.amount, moved.cod) as paid, given.reason, given.method as given_method',
        `full join unnest($4::text[], $5::numeric[], $6::text[], $7::text[]) as given
          (waybill_number, amount, method, reason)
            on given.waybill_number = moved.waybill_number`,
      )}
      ) priced
    ) parcel
    returning ${returning}`

const returnFee = 'return_fee + greatest(ceil(moved.weight)::integer - 1, 0) * each_return_kg as fee'
const returnLinesSql = `
    insert into money_lines (${common}, return_fee)
    select $1, waybill_number, line_no, journal_id, merchant_id, 'returned', round(fee * tax_percent / 100, decimals),
      booked_on, $3, tax_percent, withholding_percent, fee
    from (${parcelsSql('returned', 'return_reversed', returnFee)}
    ) parcel
    where fee > 0 returning ${returning}`

const bookSql = (linesSql: string): string => `
  with clock as materialized (
    select clock_timestamp() as now, uuidv7() as journal_id
  ), moved as (
    select merchant_id, waybill_number, created_at, cod, weight, delivery_charge from orders
    where tenant_id = $1 and waybill_number = any($2::text[])
  ), lines as (${linesSql}
  )
  insert into ledger_transfers (tenant_id, journal_id, debit, credit, amount, booked_on)
  select $1, journal_id, debit, credit, amount, booked_on from (${transfersOfMovesSql('lines')}) transfer
    returning tenant_id`

const bookDeliverySql = bookSql(deliveryLinesSql)
const bookReturnSql = bookSql(returnLinesSql)

/**
 * Lists the errors of a move whose money cannot be booked, or that would let a booked order be edited or cancelled.
 * Stored sets may allow both, as long as `apply` accepted them.
 */
const checkMoney = async (tx: Tx, { tenant, waybills, statusKey }: WantedMove, locked: Promise<LockedMove>) => {
  // Most sets book at the usual statuses: reads what is booked there without a round trip of its own.
  const isLikely = findBooking({ key: statusKey }) !== 'nothing'
  const [{ to }, read] = await Promise.all([locked, isLikely ? findBooked(tx, tenant, waybills) : undefined])
  const refused = refuseBooking(to)
  if (refused) return { status_key: [`${refused} The company corrects its set of statuses.`] }
  const kind = findLineKind(findBooking(to))
  const isEarly = to !== undefined && isBeforeMoney(to.key)
  if (!kind && !isEarly) return {}
  const booked = (read ?? (await findBooked(tx, tenant, waybills))).filter(each => isEarly || each.kind === kind)
  return Object.fromEntries(
    booked.map(each => [`waybill_numbers.${waybills.indexOf(each.waybill_number)}`, [wordBooked(each)]]),
  )
}

/** Names who has the cash: the mover, or the member of staff whom the check of the move found. */
const nameCollector = async (tx: Tx, tenant: string, { collectedBy }: Collection, mover: string | null) => {
  if (collectedBy === null || collectedBy === mover) return mover
  const found = await findPerson(tx, tenant, collectedBy)
  return found.kind === 'found' ? found.name : collectedBy
}

const book = async (tx: Tx, { tenant, waybills, mover, to, given }: LockedMove): Promise<void> => {
  const booking = findBooking(to)
  if (booking === 'nothing') return
  const staffName = nameMover(mover)
  const values: unknown[] = [tenant, waybills, staffName]
  if (booking === 'return') await tx.client.query({ name: 'book_return', text: bookReturnSql, values })
  else {
    const collection = readCollection(given)
    values.push(...collectionParameters(collection), await nameCollector(tx, tenant, collection, staffName))
    await tx.client.query({ name: 'book_delivery', text: bookDeliverySql, values })
  }
}

/** Books money when an order moves to a status that says so. */
export const bookedMoves: MovePoint = {
  fields: collectionFields,
  check: async (tx, wanted, locked) => {
    const collection = readCollection(wanted.given)
    const { collectedBy } = collection
    const [found, person, move] = await Promise.all([
      checkMoney(tx, wanted, locked),
      collectedBy === null ? undefined : findPerson(tx, wanted.tenant, collectedBy),
      locked,
    ])
    const cods = new Map(move.current.map(row => [row.waybill_number, row.cod]))
    const currency = hasFraction(collection) ? await readCurrency(tx, wanted.tenant) : ''
    return {
      ...found,
      ...(person?.kind === 'refused' && { collected_by: [person.sentence] }),
      ...checkCollection(collection, findBooking(move.to), move.waybills, cods, currency),
    }
  },
  write: book,
  undo: reverseBooking,
}
