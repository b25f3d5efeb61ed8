import { acceptJson } from '@courier/shared/edge/json-body.ts'
import { errorResponses, httpError, invalid, notFound } from '@courier/shared/errors/errors.ts'
import { audit } from '@courier/shared/postgres/audit.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import { type Keyring, tryOpen } from '@courier/shared/vault.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from '@sinclair/typebox'
import type pg from 'pg'
import { hasFourEyes } from '../../../core/access/find-staff.ts'
import { addAction } from '../../../core/actions/action.ts'
import type { Tx } from '../../../core/database/tables.ts'
import { formatField, jsonOrCsv, sendFile } from '../papers/csv.ts'
import { requireKeys } from './bank-account-routes.ts'
import { AccountDetails } from './bank-accounts.ts'
import { csvFields } from './bank-file.ts'
import { makeBatch, NewBatch, openFile, readFile } from './make-batch.ts'
import { Batch, BatchWithItems, findBatch, listBatches, readBatchLines } from './payout-batches.ts'
import {
  BatchCancellation,
  BatchFailure,
  BatchRelease,
  BatchSettlement,
  cancelBatch,
  failInvoices,
  releaseBatch,
  settleBatch,
} from './payout-steps.ts'
import { DueInvoice, LeftOut, readDue } from './payouts.ts'

interface PayoutOptions {
  readonly pool: pg.Pool
  /** undefined: WEBHOOK_KEYS is not set. */
  readonly keyring: Keyring | undefined
  /** Is called after invoices are paid, for merchants' webhooks. */
  readonly onChanged: (tenant: string) => void
}

const PayRun = Type.Object(
  {
    due: Type.Array(DueInvoice),
    left_out: Type.Array(LeftOut),
    four_eyes: Type.Boolean({
      description: 'false: one person alone may compensate, settle disputes, take their own cash and approve invoices.',
    }),
    batches: Type.Array(Batch, { description: 'At most 100: those that are not ended, then the newest.' }),
  },
  { title: 'PayRun' },
)
const BatchLine = Type.Composite(
  [
    Type.Object({
      invoice_no: Type.String(),
      merchant_name: Type.String(),
      amount: Type.Number({ examples: [15451.8] }),
    }),
    Type.Partial(AccountDetails, { description: '' }),
  ],
  { title: 'PayoutLine' },
)
/** Describes a row of the file, unless the company file has another one. */
const FileRow = Type.Object(Object.fromEntries(csvFields.map(field => [field, Type.String()])))
const BatchParams = Type.Object({ batch_no: Type.String({ maxLength: 100 }) })
/** Serves staff: lists what is due, and takes batches of payments from their making to the bank's reference. */
export const payoutRoutes: FastifyPluginAsyncTypebox<PayoutOptions> = async (app, { pool, keyring, onChanged }) => {
  acceptJson(app)
  const listing = {
    operationId: 'getPayRun',
    summary: 'List the invoices that are due, why others are left out, and batches of payments',
    response: { 200: Type.Object({ data: PayRun }) },
  }
  app.get('/payout', { schema: listing }, async ({ staff: { tenant } }) => ({
    data: await inTenant(pool, tenant, (tx: Tx) => readPayRun(tx, tenant, requireKeys(keyring))),
  }))
  const reading = {
    operationId: 'getPayoutBatch',
    summary: 'Read a batch of payments; as CSV, its file for the bank',
    description:
      'The file is as the company file describes it, by default CSV, and the same bytes each time. It shows the numbers of accounts: each read is audited. It needs a batch that was released.',
    params: BatchParams,
    querystring: Type.Object({ format: formatField('json', 'csv') }),
    response: {
      200: jsonOrCsv('The batch; as CSV, the file.', BatchWithItems, FileRow, {
        'text/plain': { schema: Type.String({ examples: ['H20261129PAY-00001\r\n'] }) },
      }),
      ...errorResponses(404),
    },
  }
  app.get('/payout/:batch_no', { schema: reading }, async (request, reply) => {
    const { tenant, actor } = request.staff
    const { batch_no } = request.params
    const data = await inTenant(pool, tenant, (tx: Tx) => findBatch(tx, tenant, batch_no))
    if (!data) throw notFound('batch')
    if (request.query.format !== 'csv') return { data }
    const text = await inTenant(pool, tenant, async (tx: Tx) => {
      const file = await readFile(tx, tenant, batch_no)
      if (!file) throw invalid({ format: ['A second person must release the batch before the bank gets its file.'] })
      await audit(tx, tenant, actor, 'payout.read', batch_no)
      return tryOpen(() => openFile(requireKeys(keyring), tenant, file))
    })
    if (text === undefined) throw httpError('unavailable', 'No key in WEBHOOK_KEYS opens the file of the batch.')
    return sendFile(reply, data.file_name, text)
  })
  const seeing = {
    operationId: 'listPayoutLines',
    summary: 'List what a batch pays, with whole accounts, to check them before its release',
    description: 'Each read is audited. Only somebody who read them may release the batch.',
    params: BatchParams,
    response: { 200: Type.Object({ data: Type.Array(BatchLine) }), ...errorResponses(404) },
  }
  app.get('/payout/:batch_no/lines', { schema: seeing }, ({ staff: { tenant, actor }, params: { batch_no } }) =>
    inTenant(pool, tenant, async (tx: Tx) => {
      const data = await readBatchLines(tx, requireKeys(keyring), tenant, batch_no)
      if (!data) throw notFound('batch')
      await audit(tx, tenant, actor, 'payout.seen', batch_no)
      return { data }
    }),
  )
  const batch = { data: BatchWithItems, params: BatchParams }
  addAction(app, pool, {
    ...batch,
    params: Type.Object({}),
    path: '/payout',
    operationId: 'makePayoutBatch',
    action: 'payout.made',
    message: 'Batch Made Successfully',
    summary: 'Make a batch of payments for a bank',
    description:
      'Takes invoices that are due, all of the named ones or none, and locks them: no other batch has them, and they cannot be cancelled.',
    body: NewBatch,
    act: (tx, call) => makeBatch(tx, requireKeys(keyring), call),
  })
  addAction(app, pool, {
    ...batch,
    path: '/payout/:batch_no/release',
    operationId: 'releasePayoutBatch',
    action: 'payout.released',
    message: 'Batch Released Successfully',
    summary: 'Release a batch: its file may go to the bank',
    description: 'A second person must release it, who read its lines with their accounts.',
    body: BatchRelease,
    act: releaseBatch,
  })
  addAction(app, pool, {
    ...batch,
    path: '/payout/:batch_no/cancel',
    operationId: 'cancelPayoutBatch',
    action: 'payout.cancelled',
    message: 'Batch Cancelled Successfully',
    summary: 'Cancel a batch that is not released',
    body: BatchCancellation,
    act: cancelBatch,
  })
  addAction(app, pool, {
    ...batch,
    path: '/payout/:batch_no/fail',
    operationId: 'failPayouts',
    action: 'payout.failed',
    message: 'Payments Returned Successfully',
    summary: 'Return invoices that the bank did not pay to those that are due',
    description: 'A repetition of the request changes nothing.',
    body: BatchFailure,
    act: failInvoices,
  })
  addAction(app, pool, {
    ...batch,
    path: '/payout/:batch_no/settle',
    operationId: 'settlePayoutBatch',
    action: 'payout.settled',
    message: 'Batch Settled Successfully',
    summary: 'Book that the bank paid a batch',
    description: 'Books all its invoices but those that failed. A repetition of the request changes nothing.',
    body: BatchSettlement,
    onDone: onChanged,
    act: settleBatch,
  })
}

const readPayRun = async (tx: Tx, tenant: string, keyring: Keyring): Promise<Static<typeof PayRun>> => {
  const { due, leftOut } = await readDue(tx, tenant, keyring)
  return {
    due: due.map(({ total: amount, ...row }) => ({ ...row, amount })),
    left_out: leftOut,
    four_eyes: await hasFourEyes(tx, tenant),
    batches: await listBatches(tx, tenant),
  }
}
