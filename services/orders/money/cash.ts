import type { FieldErrors } from '@courier/shared/errors/errors.ts'
import { type Static, Type } from '@sinclair/typebox'
import { isoTime } from '../database/iso-time.ts'
import type { Tx } from '../database/tables.ts'
import { type Acted, refuse } from './action.ts'
import { bookJournal } from './ledger.ts'
import { type Clock, hasLaterSql, lockName, lockParcels, nextLineSql, readClock } from './parcels.ts'

// Cash of riders: handed over to the office, and settled where sums differ (docs/money.md#cash).

const nullable = Type.Union([Type.String(), Type.Null()])
export const Handover = Type.Object(
  {
    handover_id: Type.Integer(),
    collected_by: Type.String(),
    waybill_numbers: Type.Array(Type.String()),
    expected: Type.Number({ description: 'The cash of the parcels, and `debt`.' }),
    debt: Type.Number({ description: 'The sum that the person owed from earlier handovers.' }),
    declared: Type.Number(),
    counted: Type.Number(),
    state: Type.Union(
      ['cleared', 'open', 'owed', 'written_off'].map(state => Type.Literal(state)),
      { description: 'open: the three sums differ, and a second person must settle it.' },
    ),
    note: nullable,
    taken_by: Type.String(),
    taken_at: Type.String(),
    settled_by: nullable,
    settled_at: nullable,
    settle_reason: nullable,
  },
  { title: 'Handover' },
)
export type Handover = Static<typeof Handover>

export const handoverColumns = `handover_id::float8, collected_by, waybill_numbers, expected::float8, debt::float8,
  declared::float8, counted::float8, state, note, taken_by, ${isoTime('taken_at')} as taken_at, settled_by,
  ${isoTime('settled_at')} as settled_at, settle_reason`

/** Cash that a person holds: lines, `line`, of parcels that were not handed over or taken back. */
const heldSql = `
  select line.waybill_number, line.cod::float8 as cod from money_lines line
  where tenant_id = $1 and cash_account = 'rider:' || $2::text and banked_by is null and kind = 'delivered' and cod > 0
    and not ${hasLaterSql('handed_over', 'delivery_reversed')}
  order by waybill_number`

/** What a person owes: differences of handovers settled as owed, less the debts that later ones took in. */
const debtSql = `coalesce(sum(case state when 'owed' then expected - counted else 0 end
    - case when journal_id is null then 0 else debt end), 0)::float8`

interface HandOver {
  readonly collectedBy: string
  /** null: all that the person holds and owes. */
  readonly waybills: readonly string[] | null
  readonly declared: number
  readonly counted: number
  readonly note: string | null
}

/** Takes the cash of a person. One whose sums differ clears nothing and stays open. */
export const handOver = async (tx: Tx, tenant: string, by: string, wanted: HandOver): Promise<Acted<Handover>> => {
  const { collectedBy, declared, counted } = wanted
  await lockName(tx, tenant, `cash ${collectedBy}`)
  const { rows: open } = await tx.client.query(openSql, [tenant, collectedBy])
  if (open[0])
    return refuse('collected_by', `Settle handover ${open[0].handover_id} of ${collectedBy} first: its sums differ.`)
  const held = await findHeld(tx, tenant, collectedBy)
  await lockParcels(tx, tenant, [...held.keys()])
  // Parcels delivered since then are not locked: the next handover takes them.
  const own = new Map([...(await findHeld(tx, tenant, collectedBy))].filter(([waybill]) => held.has(waybill)))
  const errors = findForeign(wanted, own)
  if (Object.keys(errors).length > 0) return { kind: 'refused', errors }
  const waybills = wanted.waybills ?? [...own.keys()]
  const debt = wanted.waybills ? 0 : await findDebt(tx, tenant, collectedBy)
  if (waybills.length === 0 && debt === 0) return refuse('collected_by', `${collectedBy} holds no cash.`)
  const expected = toCents(waybills.reduce((sum, waybill) => sum + (own.get(waybill) ?? 0), debt))
  const clock = await readClock(tx, tenant)
  const isCleared = expected === declared && expected === counted
  const { rows } = await tx.client.query<{ handover_id: string }>(insertSql, [
    ...[tenant, collectedBy, waybills, expected, debt, declared, counted, wanted.note, by, clock.now],
    ...(isCleared ? ['cleared', clock.journalId, clock.today] : ['open', null, null]),
  ])
  if (isCleared) await clear(tx, tenant, by, { waybills, collectedBy }, clock)
  const data = (await findHandover(tx, tenant, rows[0]?.handover_id ?? '')) as Handover
  return { kind: 'done', data, objects: [`handover ${data.handover_id}`] }
}

const openSql = `select handover_id from cash_handovers where tenant_id = $1 and collected_by = $2 and state = 'open'`

const insertSql = `
  insert into cash_handovers (tenant_id, collected_by, waybill_numbers, expected, debt, declared, counted, note, taken_by, taken_at,
    state, journal_id, booked_on)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) returning handover_id`

const findHandover = async (tx: Tx, tenant: string, id: string, lock = ''): Promise<Handover | undefined> => {
  const text = `select ${handoverColumns} from cash_handovers where tenant_id = $1 and handover_id = $2 ${lock}`
  return (await tx.client.query<Handover>(text, [tenant, id])).rows[0]
}

const toCents = (sum: number): number => Number(sum.toFixed(2))

const findHeld = async (tx: Tx, tenant: string, name: string): Promise<Map<string, number>> => {
  const { rows } = await tx.client.query({ name: 'find_held', text: heldSql, values: [tenant, name] })
  return new Map(rows.map(({ waybill_number, cod }) => [waybill_number, cod]))
}

const findForeign = ({ waybills, collectedBy }: HandOver, own: ReadonlyMap<string, number>): FieldErrors =>
  Object.fromEntries(
    (waybills ?? []).flatMap((waybill, index) =>
      own.has(waybill)
        ? []
        : [
            [
              `waybill_numbers.${index}`,
              [`${collectedBy} holds no cash of ${waybill}: leave it out, or name who does.`],
            ],
          ],
    ),
  )

const findDebt = async (tx: Tx, tenant: string, name: string): Promise<number> => {
  const text = `select ${debtSql} as debt from cash_handovers where tenant_id = $1 and collected_by = $2`
  const { rows } = await tx.client.query({ name: 'find_debt', text, values: [tenant, name] })
  return rows[0].debt
}

/** Books that the cash of parcels, whose orders are locked, lies at the office. */
const clear = async (
  tx: Tx,
  tenant: string,
  by: string,
  { waybills, collectedBy }: Pick<HandOver, 'collectedBy'> & { waybills: readonly string[] },
  { journalId, today }: Clock,
): Promise<void> => {
  const values = [tenant, collectedBy, waybills, journalId, today, by]
  await tx.client.query({ name: 'hand_over', text: clearSql, values })
  await bookJournal(tx, tenant, journalId, waybills)
}

const clearSql = `
  insert into money_lines (tenant_id, waybill_number, line_no, journal_id, merchant_id, kind, handed, cash_account, refers_to, booked_on, staff_name)
  select $1, waybill_number, ${nextLineSql}, $4, merchant_id, 'handed_over', cod, cash_account, line_no, $5, $6
  from money_lines line
  where tenant_id = $1 and waybill_number = any($3::text[]) and cash_account = 'rider:' || $2::text and kind = 'delivered'
    and not ${hasLaterSql('handed_over', 'delivery_reversed')}
  returning tenant_id`

/** Finds the open handover that has a parcel: its line must stay until the handover is settled. */
export const findOpenHandover = async (tx: Tx, tenant: string, waybill: string): Promise<number | undefined> => {
  const text = `select handover_id::float8 from cash_handovers where tenant_id = $1 and state = 'open' and $2 = any(waybill_numbers)`
  const { rows } = await tx.client.query(text, [tenant, waybill])
  return rows[0]?.handover_id
}

interface Settlement {
  readonly id: string
  readonly settleAs: 'owed' | 'written_off'
  readonly reason: string
}

/** Clears an open handover by the decision of a second person. */
export const settleHandover = async (
  tx: Tx,
  tenant: string,
  by: string,
  { id, settleAs, reason }: Settlement,
): Promise<Acted<Handover>> => {
  const found = await findHandover(tx, tenant, id)
  if (!found) return { kind: 'unknown', what: 'handover' }
  await lockName(tx, tenant, `cash ${found.collected_by}`)
  await lockParcels(tx, tenant, found.waybill_numbers)
  const handover = (await findHandover(tx, tenant, id, 'for update')) as Handover
  if (handover.state !== 'open')
    return refuse('settle_as', `The handover is ${handover.state}: only an open one is settled.`)
  if (handover.taken_by === by) return refuse('settle_as', 'Somebody else must settle what you took.')
  const clock = await readClock(tx, tenant)
  await tx.client.query(settleSql, [...[tenant, id, settleAs, reason, by, clock.now, clock.journalId, clock.today]])
  const { collected_by: collectedBy, waybill_numbers: waybills } = handover
  await clear(tx, tenant, handover.taken_by, { waybills, collectedBy }, clock)
  return { kind: 'done', data: (await findHandover(tx, tenant, id)) as Handover, objects: [`handover ${id}`] }
}

const settleSql = `
  update cash_handovers set state = $3, settle_reason = $4, settled_by = $5, settled_at = $6, journal_id = $7, booked_on = $8
  where tenant_id = $1 and handover_id = $2`
