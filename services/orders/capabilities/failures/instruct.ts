import type { Actor } from '@courier/shared/postgres/audit.ts'
import { type Acted, refuse } from '../../core/actions/action.ts'
import type { Tx } from '../../core/database/tables.ts'
import { findActor, type Mover, nameMover, nameStatus } from '../../core/moves/check-moves.ts'
import { limitLockWait } from '../../core/moves/move.ts'
import { findStatuses, fromWaiting } from '../../core/statuses/status-queries.ts'
import type { OrderRow } from '../../core/tracking/order-rows.ts'
import { lockOrder, writeEdit } from '../editing/edit-order.ts'
import { readEdit } from '../editing/read-edit.ts'
import { findOpenAttempt, type InstructionAction, type OpenAttempt, type Party, parties } from './attempts.ts'
import type { GivenInstruction } from './schema.ts'

/** Describes an instruction for a parcel whose delivery failed. */
export interface Instruction {
  readonly tenant: string
  readonly waybill: string
  readonly giver: Mover
  readonly action: InstructionAction
  /** Is YYYY-MM-DD; `reschedule` always has it. */
  readonly date: string | null
  /** Only `change_address` has it. */
  readonly address: string | null
  readonly note: string | null
  readonly by: Actor
}

/**
 * Stores an instruction and makes it the current one. Staff override the customer, and the customer overrides the
 * merchant; a later instruction of the same party replaces the earlier one. Customers and merchants may instruct until
 * the deadline. Runs in the caller's transaction, and writes nothing when it is refused.
 */
export const instruct = async (tx: Tx, instruction: Instruction): Promise<Acted<GivenInstruction>> => {
  const { tenant, waybill, giver, action, address } = instruction
  const [, order] = await Promise.all([limitLockWait(tx), lockOrder(tx, { tenant, waybill, editor: giver })])
  if (!order) return { kind: 'unknown', what: 'waybill' }
  const attempt = await findOpenAttempt(tx, tenant, waybill)
  if (!attempt) {
    const status = nameStatus(order.status_key, await findStatuses(tx, tenant))
    return refuse('waybill_number', `${waybill} is ${status}: no failed delivery waits for an instruction.`)
  }
  const party = findActor(giver)
  const refusal = refuseLate(attempt, party) ?? refuseOverruled(attempt, party) ?? (await refuseDate(tx, instruction))
  if (refusal) return refusal
  if (action === 'change_address' && address !== null) {
    const refused = await changeAddress(tx, instruction, order, address)
    if (refused) return refused
  }
  await writeInstruction(tx, { ...instruction, party })
  return { kind: 'done', data: { waybill_number: waybill, attempt: attempt.attempt_no }, objects: [waybill] }
}

const refuseLate = ({ is_late, due_at }: OpenAttempt, party: Party) =>
  is_late && party !== 'staff'
    ? refuse('action', `Instructions were due by ${due_at}. Ask the courier company.`)
    : undefined

const refuseOverruled = ({ action, given_as }: OpenAttempt, party: Party) =>
  given_as !== null && parties.indexOf(given_as) > parties.indexOf(party)
    ? refuse('action', `The ${given_as} already chose ${action}, which you cannot override. Ask the courier company.`)
    : undefined

const refuseDate = async (tx: Tx, { tenant, date }: Instruction) => {
  if (date === null) return undefined
  const [{ first, last }] = (await tx.rows(daysSql, [tenant])) as [{ first: string; last: string }]
  return date < first || date > last ? refuse('date', `The date must be from ${first} to ${last}.`) : undefined
}

/** Selects the first and last possible day of another attempt: a parcel waits for 30 days at most. */
const daysSql = `
  select today::text as first, (today + 30)::text as last
  from (select (now() at time zone time_zone)::date as today from tenants where tenant_id = $1) days`

/** Changes the address while the parcel waits, since recipients may be away from home. The city and the price stay. */
const changeAddress = async (tx: Tx, { tenant, waybill, giver, by }: Instruction, order: OrderRow, address: string) => {
  const read = readEdit('merchant', { customer_address: address })
  if (read.kind === 'refused') return refuse('address', (read.errors.errors.customer_address ?? []).join(' '))
  const { changes } = read
  const state = { ...order, ...changes.values }
  if (state.customer_address === order.customer_address) return undefined
  const edit = { tenant, waybill, editor: giver, changes, ifMatch: undefined, by }
  await writeEdit(tx, edit, order, state, ['customer_address'])
  return undefined
}

interface Written extends Pick<Instruction, 'tenant' | 'waybill' | 'action' | 'date' | 'note'> {
  readonly party: Party
  readonly giver?: Mover
}

/** Stores an instruction. Reads the clock while the order is locked: the times never go backwards for a parcel. */
const writeInstruction = async (tx: Tx, { tenant, waybill, action, date, note, party, giver }: Written) => {
  const actor = giver ? findActor(giver) : 'staff'
  const values = [tenant, waybill, action, date, note, party, giver ? nameMover(giver) : null, actor]
  await tx.client.query({ name: 'write_instruction', text: writeInstructionSql, values })
}

const writeInstructionSql = `
  with clock as materialized (
    select clock_timestamp() as now
  ), held as (
    update attempts set action = $3, on_date = $4::date, note = $5, given_as = $6
    where tenant_id = $1 and waybill_number = $2 and is_open returning tenant_id, waybill_number, attempt_no,
      merchant_id
  ), given as (
    insert into instructions (tenant_id, waybill_number, instruction_no, attempt_no, action, on_date, note, given_as,
      given_by, given_at)
    select held.tenant_id, held.waybill_number, 1 + coalesce((
        select max(earlier.instruction_no) from instructions earlier where earlier.tenant_id = $1
          and earlier.waybill_number = $2
      ), 0), held.attempt_no, $3, $4::date, $5, $6, $7, clock.now from held, clock returning tenant_id
  )
  insert into log (tenant_id, merchant_id, type, waybill_numbers, status_keys, actor, note, happened_at, is_relayed,
    details)
  select orders.tenant_id, held.merchant_id, 'order.instructed', array[orders.waybill_number], array[orders.status_key],
    $8, $5, clock.now, true,
    jsonb_strip_nulls(jsonb_build_object('action', $3::text, 'date', $4::text, 'given_as', $6::text))
  from orders, held, clock where orders.tenant_id = $1 and orders.waybill_number = $2 returning log.tenant_id`

/** Limits how many late failures one transaction of housekeeping decides. */
const decidedAtOnce = 100

/** Sorts by waybill, the order in which moves lock. */
const lateSql = `
  select * from (
    select orders.waybill_number, instruction_default as action
    ${fromWaiting} join tenants on tenants.tenant_id = attempts.tenant_id
    where attempts.tenant_id = $1 and action is null and due_at < now() order by attempt_id
      limit ${decidedAtOnce}
  ) late order by waybill_number`

/** Applies the company's default to failed deliveries that nobody decided in time; returns how many it found. */
export const decideLate = async (tx: Tx, tenant: string): Promise<number> => {
  const late = await tx.rows<{ waybill_number: string; action: InstructionAction }>(lateSql, [tenant])
  await limitLockWait(tx)
  for (const { waybill_number: waybill, action } of late) {
    await lockOrder(tx, { tenant, waybill, editor: { isCustomer: true } })
    const attempt = await findOpenAttempt(tx, tenant, waybill)
    // The order may have left its late failure, and failed again, before it was locked.
    if (attempt?.action === null && attempt.is_late)
      await writeInstruction(tx, { tenant, waybill, action, date: null, note: null, party: 'company' })
  }
  return late.length
}
