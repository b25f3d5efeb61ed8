import { acceptJson } from '@courier/shared/edge/json-body.ts'
import { cursorFields, listCursor, PageOf } from '@courier/shared/lists/cursor.ts'
import { listQuery, oneOf } from '@courier/shared/lists/filters.ts'
import { readInTenant } from '@courier/shared/postgres/database.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type pg from 'pg'
import { addAction } from '../../../core/actions/action.ts'
import {
  Correction,
  CorrectionDecision,
  correctionStates,
  decideCorrection,
  listSql,
  makeCorrection,
  NewCorrection,
} from './corrections.ts'

const CorrectionQuery = listQuery(cursorFields, { state: oneOf(correctionStates, 'Default: all.') })
const cursors = listCursor(/^\d{1,18}$/)

const steps = [
  ['approve', 'approved', 'approveCorrection', 'Approve a correction, which books it; not by whoever made it'],
  ['reject', 'rejected', 'rejectCorrection', 'Reject a correction, which then changes nothing'],
] as const

/** Serves staff: lists corrections of the books, makes them, and lets a second person decide. */
export const correctionRoutes: FastifyPluginAsyncTypebox<{ pool: pg.Pool }> = async (app, { pool }) => {
  acceptJson(app)
  const listing = {
    operationId: 'listCorrections',
    summary: 'List corrections of the books, newest first',
    querystring: CorrectionQuery.schema,
    response: { 200: PageOf(Correction, 'Corrections') },
  }
  app.get('/ledger/correction', { schema: listing }, async ({ staff: { tenant }, query }) => {
    const { state = null } = CorrectionQuery.read(query)
    const { after, limit } = cursors.read(query)
    const values = [tenant, state, after[0] ?? null, limit + 1]
    const rows = await readInTenant<Correction>(pool, tenant, { name: 'list_corrections', text: listSql, values })
    return cursors.toPage(rows, limit, row => [String(row.correction_id)])
  })
  addAction(app, pool, {
    path: '/ledger/correction',
    operationId: 'makeCorrection',
    action: 'correction.made',
    summary: 'Correct what is booked for a parcel, a merchant or a payment, once a second person approves',
    description: "Once approved, the merchant's next invoice has it as a line of its own, or the invoice is due again.",
    message: 'Correction Made Successfully',
    body: NewCorrection,
    data: Correction,
    act: makeCorrection,
  })
  for (const [step, to, operationId, summary] of steps)
    addAction(app, pool, {
      path: `/ledger/correction/:correction_id/${step}`,
      params: Type.Object({ correction_id: Type.String({ maxLength: 18, pattern: '^[0-9]+$' }) }),
      operationId,
      action: `correction.${to}`,
      summary,
      message: 'Correction Decided Successfully',
      body: CorrectionDecision,
      data: Correction,
      act: (tx, call) => decideCorrection(tx, to, call),
    })
}
