import { acceptJson } from '@courier/shared/edge/json-body.ts'
import { invalid } from '@courier/shared/errors/errors.ts'
import { listCursor, PageOf } from '@courier/shared/lists/cursor.ts'
import { inTenant, readInTenant } from '@courier/shared/postgres/database.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type { FastifyInstance } from 'fastify'
import { readScope } from '../../core/access/merchant.ts'
import { addAction } from '../../core/actions/action.ts'
import { isoTime } from '../../core/database/iso-time.ts'
import type { Tx } from '../../core/database/tables.ts'
import type { ChangeOptions } from '../../core/moves/move.ts'
import { fromWaiting } from '../../core/statuses/status-queries.ts'
import { isWaybill } from '../../core/tracking/read-orders.ts'
import { instruct } from './instruct.ts'
import { findReasons, reasonedKeys, usualReasons } from './reasons.ts'
import { exampleFailure, FailedDelivery, FailuresQuery, GivenInstruction, InstructionBody } from './schema.ts'

/** Lets merchants decide what happens to their parcels whose delivery failed. */
export const merchantInstructionRoutes: FastifyPluginAsyncTypebox<ChangeOptions> = async (app, options) => {
  addInstructions(app, options, 'instructOrder')
  addFailures(app, options, 'listFailedDeliveries')
  addReasons(app, options, 'listFailureReasons')
}

/** Lets staff give instructions for any parcel, and override those of customers and merchants. */
export const staffInstructionRoutes: FastifyPluginAsyncTypebox<ChangeOptions> = async (app, options) => {
  addInstructions(app, options, 'instructAnyOrder')
  addFailures(app, options, 'listAllFailedDeliveries')
  addReasons(app, options, 'listStaffFailureReasons')
}

const addInstructions = (app: FastifyInstance, { pool, onChanged }: ChangeOptions, operationId: string): void => {
  acceptJson(app)
  addAction(app, pool, {
    path: '/order/:waybill/instruction',
    operationId,
    action: 'order.instructed',
    summary: 'Say what happens after a failed delivery',
    message: 'Instruction Stored Successfully',
    description:
      'Staff override the customer, and the customer overrides the merchant; a later instruction of the same party replaces the earlier one.',
    params: Type.Object({ waybill: Type.String({ maxLength: 100 }) }),
    body: InstructionBody,
    data: GivenInstruction,
    onDone: onChanged,
    act: async (tx, { tenant, merchantId, person, by, id: waybill, body }) => {
      refuseIncomplete(body)
      const giver = merchantId === null ? { staffName: by.name } : { merchantId, person }
      const { action, date = null, address = null } = body
      const instruction = { tenant, waybill, giver, action, date, address, note: body.note || null, by }
      return isWaybill.test(waybill) ? instruct(tx, instruction) : { kind: 'unknown', what: 'waybill' }
    },
  })
}

const refuseIncomplete = ({ action, date, address }: InstructionBody): void => {
  const errors: Record<string, string[]> = {}
  if (action === 'reschedule' && date === undefined) errors.date = ['State the date: the action is reschedule.']
  if (action === 'return' && date !== undefined) errors.date = ['Leave this out: a return has no date.']
  if (action === 'change_address' && address === undefined) errors.address = ['State the new address.']
  if (action !== 'change_address' && address !== undefined)
    errors.address = ['Leave this out, or make the action change_address.']
  if (Object.keys(errors).length > 0) throw invalid(errors)
}

const addReasons = (app: FastifyInstance, { pool }: ChangeOptions, operationId: string): void => {
  const Reason = Type.Object({ code: Type.String(), name: Type.String() }, { title: 'FailureReason' })
  const Reasons = Type.Object(
    {
      data: Type.Array(Reason),
      status_keys: Type.Array(Type.String(), { description: 'The statuses whose moves may carry a reason.' }),
    },
    { examples: [{ data: [usualReasons[0]], status_keys: reasonedKeys }] },
  )
  const schema = {
    operationId,
    summary: "List the company's reasons for failed deliveries",
    response: { 200: Reasons },
  }
  app.get('/order/failure-reasons', { schema }, async request => {
    const { tenant } = readScope(request)
    const data = await inTenant(pool, tenant, (tx: Tx) => findReasons(tx, tenant))
    return { data, status_keys: reasonedKeys }
  })
}

const cursors = listCursor(/^[1-9]\d{0,17}$/)

const addFailures = (app: FastifyInstance, { pool }: ChangeOptions, operationId: string): void => {
  const schema = {
    operationId,
    summary: 'List parcels whose delivery failed, oldest first',
    querystring: FailuresQuery.schema,
    response: { 200: PageOf(FailedDelivery, 'FailedDeliveries', exampleFailure) },
  }
  app.get('/order/failed-deliveries', { schema }, async request => {
    const { tenant, merchantId } = readScope(request)
    const { instructed } = FailuresQuery.read(request.query as object)
    const { after, limit } = cursors.read(request.query as object)
    const values = [tenant, merchantId, after[0], instructed && instructed === 'true', limit + 1]
    const rows = await readInTenant<Row>(pool, tenant, { name: 'list_failures', text: failuresSql, values })
    return cursors.toPage(rows.map(toView), limit, ({ id }) => [id])
  })
}

interface Row extends Omit<FailedDelivery, 'reason'> {
  readonly id: string
  readonly reason_code: string | null
  readonly failure_reasons: string | null
}

const failuresSql = `
  select attempt_id as id, attempts.waybill_number, order_no, status_key, customer_name,
    customer_phone, cod, currency, attempt_no as attempt, reason_code, failure_reasons,
    ${isoTime('failed_at')} as failed_at, ${isoTime('due_at')} as due_at,
    case when action is not null then
      json_build_object('action', action, 'date', on_date::text, 'note', note, 'given_as', given_as) end as instruction
  ${fromWaiting} join tenants on tenants.tenant_id = attempts.tenant_id
  where attempts.tenant_id = $1 and ($2::bigint is null or attempts.merchant_id = $2)
    and ($3::bigint is null or attempt_id > $3) and ($4::boolean is null or (action is not null) = $4)
  order by attempt_id limit $5`

const toView = ({ reason_code: code, failure_reasons, ...row }: Row) => {
  const reasons: typeof usualReasons = failure_reasons ? JSON.parse(failure_reasons) : usualReasons
  const name = reasons.find(reason => reason.code === code)?.name
  return { ...row, reason: code === null ? null : { code, name: name ?? code } }
}
