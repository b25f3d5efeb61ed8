import { acceptJson } from '@courier/shared/edge/json-body.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type pg from 'pg'
import { addAction } from '../../../core/actions/action.ts'
import { addDecided } from '../ledger/decided-routes.ts'
import { Correction, decideCorrection, listSql, makeCorrection, NewCorrection } from './corrections.ts'

/** Serves staff: lists corrections of the books, makes them, and lets a second person decide. */
export const correctionRoutes: FastifyPluginAsyncTypebox<{ pool: pg.Pool }> = async (app, { pool }) => {
  acceptJson(app)
  addDecided(app, pool, {
    path: '/ledger/correction',
    names: ['Correction', 'Corrections'],
    called: 'a correction',
    noun: 'correction',
    id: 'correction_id',
    data: Correction,
    summary: 'List corrections of the books, newest first',
    message: 'Correction Decided Successfully',
    listSql,
    decide: decideCorrection,
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
}
