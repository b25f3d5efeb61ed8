import { component, orNull } from '@courier/shared/schemas.ts'
import { type Static, Type } from '@sinclair/typebox'
import { isoTime } from '../../core/database/iso-time.ts'
import { fromWaiting } from '../../core/statuses/status-queries.ts'
import type { Facet } from '../../core/tracking/facets.ts'

const OrderInstruction = component('OrderInstruction', {
  attempt: Type.Integer({ description: 'The number of the failed attempt, from 1.' }),
  action: Type.String({ examples: ['reschedule'] }),
  date: orNull(Type.String()),
  note: orNull(Type.String()),
  given_as: Type.String({
    description: 'merchant, customer, staff, or company, whose default applies after the deadline.',
    examples: ['customer'],
  }),
  given_by: orNull(Type.String()),
  given_at: Type.String(),
})

const fields = {
  failed_attempts: Type.Integer({ description: 'The number of failed attempts to deliver.' }),
  awaits_instruction: Type.Boolean({
    description: 'True until the parcel leaves the statuses of a failed delivery, even once an instruction was given.',
  }),
  instructions: Type.Array(OrderInstruction, {
    description: 'The instructions after failed deliveries, newest first.',
  }),
}

interface Failures {
  readonly waybill_number: string
  readonly failed_attempts: number
  readonly awaits_instruction: boolean
  readonly instructions: readonly Static<typeof OrderInstruction>[]
}

const failuresSql = `
  select waybill_number, count(*)::int as failed_attempts, exists (
      select ${fromWaiting} where attempts.tenant_id = $1 and orders.waybill_number = failed.waybill_number
    ) as awaits_instruction, (
      select coalesce(json_agg(json_build_object('attempt', attempt_no, 'action', action, 'date', on_date::text, 'note',
        note, 'given_as', given_as, 'given_by', given_by, 'given_at', ${isoTime('given_at')})
          order by instruction_no desc), '[]')
      from instructions
      where instructions.tenant_id = $1 and instructions.waybill_number = failed.waybill_number
    ) as instructions
  from attempts failed where tenant_id = $1 and waybill_number = any($2::text[]) group by waybill_number`

const inOne = {
  fields,
  view: ({ failed_attempts = 0, awaits_instruction = false, instructions = [] }: Partial<Failures> = {}) => ({
    failed_attempts,
    awaits_instruction,
    instructions,
  }),
}

/** Shows how often a delivery failed, and the instructions since. */
export const failuresFacet: Facet<Failures> = {
  existsSql: table =>
    `exists (select from attempts each where each.tenant_id = $1 and each.waybill_number = ${table}.waybill_number)`,
  read: async (read, tenant, waybills) => {
    const rows = await read<Failures>({ name: 'read_failures', text: failuresSql, values: [tenant, waybills] })
    return new Map(rows.map(row => [row.waybill_number, row]))
  },
  inOne: { merchant: inOne, staff: inOne },
}
