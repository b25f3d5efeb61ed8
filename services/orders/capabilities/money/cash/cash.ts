import { addAmounts } from '@courier/shared/currency.ts'
import { type Static, Type } from '@sinclair/typebox'
import { findPerson, isOwnCash } from '../../../core/access/find-staff.ts'
import { type Acted, type Call, checkEach, defineBody, refuse, refuseAny } from '../../../core/actions/action.ts'
import { Reason } from '../../../core/actions/fields.ts'
import { isoTime } from '../../../core/database/iso-time.ts'
import type { Tx } from '../../../core/database/tables.ts'
import { Amount, CollectedBy, nullable, Waybills } from '../ledger/fields.ts'
import { bookJournal } from '../ledger/ledger.ts'
import { type Clock, hasLaterSql, holderSql, lockName, lockParcels, nextLineSql, readClock } from '../ledger/parcels.ts'

// Takes cash from riders at the office, and settles handovers whose sums differ (docs/money.md#cash).

export const handoverStates = ['cleared', 'open', 'owed', 'written_off'] as const
export const Handover = Type.Object(
  {
    handover_id: Type.Integer(),
    collected_by: Type.String(),
    waybill_numbers: Type.Array(Type.String()),
    expected: Type.Number({ description: 'The cash of the parcels plus `debt`.' }),
    debt: Type.Number({ description: 'The sum that the person owed from earlier handovers.' }),
    declared: Type.Number(),
    counted: Type.Number(),
    state: Type.Union(
      handoverStates.map(state => Type.Literal(state)),
      { description: 'open: the three sums differ, and a second person must settle it.' },
    ),
    note: nullable(),
    taken_by: Type.String(),
    taken_at: Type.String(),
    settled_by: nullable(),
    settled_at: nullable(),
    settle_reason: nullable(),
  },
  { title: 'Handover' },
)
export type Handover = Static<typeof Handover>

export const handoverColumns = `handover_id::float8, collected_by, waybill_numbers, expected::float8, debt::float8,
  declared::float8, counted::float8, state, note, taken_by, ${isoTime('taken_at')} as taken_at, settled_by,
  ${isoTime('settled_at')} as settled_at, settle_reason`

const isHeldSql = `line.tenant_id = $1 and banked_by is null and kind = 'delivered' and cod > 0
    and not ${hasLaterSql('handed_over', 'delivery_reversed')}`

/**
 * Selects the lines whose cash a person has: the parcels were neither handed over nor taken back. Each part reads an
 * index of its own.
 */
export const heldSql = `
  select line.waybill_number, line.cod::float8 as cod from money_lines line
    where cash_account = 'rider:' || $2::text and held_by is null and ${isHeldSql}
  union all
  select line.waybill_number, line.cod::float8 from money_lines line
    where held_by = 'rider:' || $2::text and ${isHeldSql}
  order by waybill_number`

/** Sums what a person owes: differences of handovers settled as owed, less the debts that later handovers included. */
const debtSql = `coalesce(sum(case state when 'owed' then expected - counted else 0 end
    - case when journal_id is null then 0 else debt end), 0)::float8`

export const NewHandover = defineBody('NewHandover', {
  collected_by: { ...CollectedBy, description: 'The id or the name of a member of staff.' },
  waybill_numbers: Type.Optional({ ...Waybills, description: 'Default: all that the person holds and owes.' }),
  declared: { ...Amount, description: 'The sum that the person declares.' },
  counted: { ...Amount, description: 'The sum that you counted.' },
  note: Type.Optional(Reason),
})

/** Takes the cash of a person. A handover whose sums differ clears nothing and stays open. */
export const handOver = async (
  tx: Tx,
  { tenant, by, body }: Call<Static<typeof NewHandover>>,
): Promise<Acted<Handover>> => {
  const { declared, counted } = body
  const person = await findHolder(tx, tenant, body.collected_by)
  if (person.kind === 'refused') return refuse('collected_by', person.sentence)
  const { name } = person
  if (await isOwnCash(tx, tenant, name, by.name))
    return refuse('collected_by', `${name} has the cash: somebody else must take it (four_eyes of the company).`)
  await lockName(tx, tenant, `cash ${name}`)
  const own = await lockHeld(tx, tenant, name, 'collected_by', body.waybill_numbers)
  if ('kind' in own) return own
  const waybills = body.waybill_numbers ?? [...own.keys()]
  const debt = body.waybill_numbers ? 0 : await findDebt(tx, tenant, name)
  if (waybills.length === 0 && debt === 0) return refuse('collected_by', `${name} holds no cash.`)
  const expected = addAmounts([debt, ...waybills.map(waybill => own.get(waybill) ?? 0)])
  const clock = await readClock(tx, tenant)
  const isCleared = expected === declared && expected === counted
  const { rows } = await tx.client.query<{ handover_id: string }>(insertSql, [
    ...[tenant, name, waybills, expected, debt, declared, counted, body.note, by.name, clock.now],
    ...(isCleared ? ['cleared', clock.journalId, clock.today] : ['open', null, null]),
  ])
  const data = (await findHandover(tx, tenant, rows[0]?.handover_id ?? '')) as Handover
  if (isCleared) await clear(tx, tenant, data, clock)
  return { kind: 'done', data, objects: [`handover ${data.handover_id}`] }
}

/**
 * Finds who has cash: a person with an account, as from before names were checked, or else a member of staff, who may
 * have left.
 */
export const findHolder = async (tx: Tx, tenant: string, given: string): ReturnType<typeof findPerson> => {
  const { rows } = await tx.client.query(hasAccountSql, [tenant, given])
  return rows[0] ? { kind: 'found', id: null, name: given } : findPerson(tx, tenant, given, { isFormerToo: true })
}

const hasAccountSql = `
  select from money_lines where tenant_id = $1 and cash_account = 'rider:' || $2::text and banked_by is null
    and kind = 'delivered' and cod > 0
  union all select from money_lines where tenant_id = $1 and held_by = 'rider:' || $2::text and banked_by is null
  union all select from cash_handovers where tenant_id = $1 and collected_by = $2 limit 1`

/** Locks the parcels whose cash a person has, or refuses the request: one is named whose cash the person has not. */
export const lockHeld = async (
  tx: Tx,
  tenant: string,
  name: string,
  field: string,
  wanted: readonly string[] | undefined,
): Promise<Map<string, number> | ReturnType<typeof refuse>> => {
  const { rows: open } = await tx.client.query(openSql, [tenant, name])
  if (open[0]) return refuse(field, `Settle handover ${open[0].handover_id} of ${name} first: its sums differ.`)
  const held = await findHeld(tx, tenant, name)
  await lockParcels(tx, tenant, [...held.keys()])
  // Parcels delivered since the first read are not locked: the next handover takes them.
  const own = new Map([...(await findHeld(tx, tenant, name))].filter(([waybill]) => held.has(waybill)))
  const foreign = (waybill: string) =>
    !own.has(waybill) && `${name} holds no cash for ${waybill}: leave it out, or name the person who holds it.`
  return refuseAny(checkEach(wanted, foreign)) ?? own
}

const openSql = `select handover_id from cash_handovers where tenant_id = $1 and collected_by = $2 and state = 'open'`

const insertSql = `
  insert into cash_handovers (tenant_id, collected_by, waybill_numbers, expected, debt, declared, counted, note,
    taken_by, taken_at,
    state, journal_id, booked_on)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) returning handover_id`

const findHandover = async (tx: Tx, tenant: string, id: string, lock = ''): Promise<Handover | undefined> => {
  const text = `select ${handoverColumns} from cash_handovers where tenant_id = $1 and handover_id = $2 ${lock}`
  return (await tx.client.query<Handover>(text, [tenant, id])).rows[0]
}

const findHeld = async (tx: Tx, tenant: string, name: string): Promise<Map<string, number>> => {
  const { rows } = await tx.client.query({ name: 'find_held', text: heldSql, values: [tenant, name] })
  return new Map(rows.map(({ waybill_number, cod }) => [waybill_number, cod]))
}

const findDebt = async (tx: Tx, tenant: string, name: string): Promise<number> => {
  const text = `select ${debtSql} as debt from cash_handovers where tenant_id = $1 and collected_by = $2`
  const { rows } = await tx.client.query({ name: 'find_debt', text, values: [tenant, name] })
  return rows[0].debt
}

/** Books that the cash of a handover's parcels is at the office. The caller has locked their orders. */
const clear = async (tx: Tx, tenant: string, handover: Handover, { journalId, today }: Clock): Promise<void> => {
  const { collected_by, waybill_numbers, taken_by } = handover
  const values = [tenant, collected_by, waybill_numbers, journalId, today, taken_by]
  await tx.client.query({ name: 'hand_over', text: clearSql, values })
  await bookJournal(tx, tenant, journalId, waybill_numbers)
}

const clearSql = `
  insert into money_lines (tenant_id, waybill_number, line_no, journal_id, merchant_id, kind, handed, cash_account,
    refers_to, booked_on, staff_name)
  select $1, waybill_number, ${nextLineSql}, $4, merchant_id, 'handed_over', cod, ${holderSql}, line_no, $5, $6
  from money_lines line
  where tenant_id = $1 and waybill_number = any($3::text[]) and ${holderSql} = 'rider:' || $2::text
    and kind = 'delivered'
    and not ${hasLaterSql('handed_over', 'delivery_reversed')}
  returning tenant_id`

/** Finds the open handover that has a parcel. The parcel's line must stay until the handover is settled. */
export const findOpenHandover = async (tx: Tx, tenant: string, waybill: string): Promise<number | undefined> => {
  const text = `select handover_id::float8 from cash_handovers where tenant_id = $1 and state = 'open'
    and $2 = any(waybill_numbers)`
  const { rows } = await tx.client.query(text, [tenant, waybill])
  return rows[0]?.handover_id
}

export const Settlement = defineBody('Settlement', {
  settle_as: Type.Union([Type.Literal('owed'), Type.Literal('written_off')], { must: 'be owed or written_off' }),
  reason: Reason,
})

/** Settles an open handover as a second person decided, and clears it. */
export const settleHandover = async (
  tx: Tx,
  { tenant, by, id, body: { settle_as, reason } }: Call<Static<typeof Settlement>>,
): Promise<Acted<Handover>> => {
  const found = await findHandover(tx, tenant, id)
  if (!found) return { kind: 'unknown', what: 'handover' }
  await lockName(tx, tenant, `cash ${found.collected_by}`)
  await lockParcels(tx, tenant, found.waybill_numbers)
  const handover = (await findHandover(tx, tenant, id, 'for update')) as Handover
  if (handover.state !== 'open')
    return refuse('settle_as', `The handover is ${handover.state}: only an open one can be settled.`)
  if (await isOwnCash(tx, tenant, handover.collected_by, by.name))
    return refuse('settle_as', `${by.name} had the cash: somebody else must settle this (four_eyes of the company).`)
  if (handover.taken_by === by.name) return refuse('settle_as', 'Somebody else must settle what you took.')
  const clock = await readClock(tx, tenant)
  await tx.client.query(settleSql, [tenant, id, settle_as, reason, by.name, clock.now, clock.journalId, clock.today])
  await clear(tx, tenant, handover, clock)
  return { kind: 'done', data: (await findHandover(tx, tenant, id)) as Handover, objects: [`handover ${id}`] }
}

const settleSql = `
  update cash_handovers set state = $3, settle_reason = $4, settled_by = $5, settled_at = $6, journal_id = $7,
    booked_on = $8
  where tenant_id = $1 and handover_id = $2`
