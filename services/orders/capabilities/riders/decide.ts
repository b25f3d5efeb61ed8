import { acceptJson } from '@courier/shared/edge/json-body.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import { oneOf } from '@courier/shared/schemas.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from '@sinclair/typebox'
import { isOwnCash } from '../../core/access/find-staff.ts'
import { type Acted, addAction, type Call, defineBody, refuse } from '../../core/actions/action.ts'
import { Reason } from '../../core/actions/fields.ts'
import type { Tx } from '../../core/database/tables.ts'
import { type ActOptions, perform } from './acts.ts'
import { refusedSql } from './my-parcels.ts'
import { findName } from './riders.ts'
import { Act, RefusedAct } from './schema.ts'

// Lets the office decide on acts that were refused (docs/staff/riders.md#refused-acts).

const Decision = defineBody('ActDecision', {
  decision: oneOf(['applied', 'dismissed']),
  note: { ...Reason, description: 'Why; for an amount other than the COD it is the reason.' },
  amount: Type.Optional({ ...Act.properties.amount, description: 'Replaces what the rider stated.' }),
})
const Decided = Type.Object({ act_no: Type.Integer(), decision: Type.String() }, { title: 'DecidedRefusal' })

const OfficeAct = Type.Object(
  { ...RefusedAct.properties, rider: Type.String({ examples: ['Nimal'] }) },
  { title: 'OfficeAct' },
)

export const decisionRoutes: FastifyPluginAsyncTypebox<ActOptions> = async (app, options) => {
  acceptJson(app)
  const listing = {
    operationId: 'listRefusedActs',
    summary: 'List the oldest 500 acts of riders that wait for a decision',
    response: { 200: Type.Object({ data: Type.Array(OfficeAct) }) },
  }
  app.get('/rider-acts', { schema: listing }, async ({ staff: { tenant } }) => ({
    data: await inTenant(options.pool, tenant, (tx: Tx) =>
      tx.rows<Static<typeof OfficeAct>>(officeSql, [tenant, null]),
    ),
  }))
  addAction(app, options.pool, {
    path: '/rider-acts/:act_no/decide',
    params: Type.Object({ act_no: Type.String({ maxLength: 18, pattern: '^[0-9]+$' }) }),
    operationId: 'decideAct',
    action: 'act.decided',
    summary: 'Decide on a refused act',
    description:
      'applied: does what the act says, whoever has the parcel now, for its rider; dismissed: it stays undone.',
    message: 'Act Decided Successfully',
    body: Decision,
    data: Decided,
    act: (tx, call) => decide(tx, options, call),
    onDone: options.onChanged,
  })
}

const officeSql = `
  select act.*, coalesce(${findName('act.rider_id::bigint')}, '') as rider from (${refusedSql}) act order by act_no`

interface Waiting extends Pick<Act, 'id' | 'kind' | 'waybill_number'> {
  readonly rider_id: string
  readonly rider: string
  readonly happened_at: Date
  readonly fields: Partial<Act>
  readonly decision: string | null
}

const decide = async (
  tx: Tx,
  options: ActOptions,
  { tenant, by, id: actNo, body }: Call<Static<typeof Decision>>,
): Promise<Acted<Static<typeof Decided>>> => {
  const [found] = await tx.rows<Waiting>(waitingSql, [tenant, actNo])
  if (!found) return { kind: 'unknown', what: 'act' }
  if (found.decision) return refuse('decision', `The act was ${found.decision} already.`)
  const rider = { id: found.rider_id, name: found.rider }
  if (await isOwnCash(tx, tenant, rider.name, by.name))
    return refuse('decision', `${by.name} did this: somebody else must decide (four_eyes of the company).`)
  const { kind, waybill_number, happened_at, fields } = found
  const { amount = fields.amount } = body
  const act = {
    ...{ ...fields, id: found.id, kind, waybill_number, happened_at: happened_at.toISOString() },
    ...(amount !== undefined && { amount }),
  }
  const work = { tenant, rider, by, act, linkKeys: [], override: body.note }
  const refusal = body.decision === 'applied' ? await perform(tx, options, work) : undefined
  if (refusal) return refuse(refusal.code === 'amount' ? 'amount' : 'decision', refusal.message)
  await tx.client.query(decideSql, [tenant, actNo, body.decision, by.name, body.note])
  const data = { act_no: Number(actNo), decision: body.decision }
  return { kind: 'done', data, objects: [`${waybill_number} act ${actNo} ${body.decision}`] }
}

const waitingSql = `
  select act_id as id, kind, waybill_number, rider_id::text, coalesce(${findName('rider_id')}, '') as rider,
    happened_at, fields, decision
  from rider_acts where tenant_id = $1 and act_no = $2::bigint and code is not null for update`

const decideSql = `
  update rider_acts set decision = $3, decided_at = now(), decided_by = $4, decision_note = $5
  where tenant_id = $1 and act_no = $2::bigint`
