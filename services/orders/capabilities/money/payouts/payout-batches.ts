import type { Keyring } from '@courier/shared/vault.ts'
import { type Static, Type } from '@sinclair/typebox'
import { type Acted, checkEach, refuseAny } from '../../../core/actions/action.ts'
import { isoTime } from '../../../core/database/iso-time.ts'
import type { Tx } from '../../../core/database/tables.ts'
import { isNumber } from '../invoices/invoices.ts'
import { nullable, sum } from '../ledger/fields.ts'
import { type AccountDetails, type AccountReference, readDetails } from './bank-accounts.ts'

// Reads and locks batches of payments (docs/money.md#the-pay-run).

export const batchStates = ['made', 'released', 'settled', 'failed', 'cancelled'] as const

export const Batch = Type.Object(
  {
    batch_no: Type.String({ examples: ['PAY-00001'] }),
    state: Type.Union(
      batchStates.map(state => Type.Literal(state)),
      { examples: ['released'] },
    ),
    total: sum('The sum of the file.', 15451.8),
    returned: sum('The part of `total` whose payment failed: those invoices are due again.', 0),
    currency: Type.String(),
    invoices: Type.Integer({ examples: [1] }),
    made_by: Type.String({ examples: ['Chamari'] }),
    made_at: Type.String(),
    released_by: nullable(),
    released_at: nullable(),
    ended_by: nullable('Names who settled or cancelled the batch, or returned its last invoice.'),
    ended_at: nullable(),
    reason: nullable(),
    bank_reference: nullable(),
    paid_on: nullable(),
    file_name: Type.String({ description: 'The name of the file for the bank.', examples: ['PAY-00001.csv'] }),
    in_doubt: Type.Boolean({
      description: 'The database was restored while the batch was open: the bank may have paid it since the backup.',
      examples: [false],
    }),
  },
  { title: 'PayoutBatch' },
)
type Batch = Static<typeof Batch>

const Item = Type.Object({
  invoice_no: Type.String(),
  invoice_ref_no: Type.String(),
  merchant_name: Type.String(),
  amount: Type.Number({ examples: [15451.8] }),
  last_four: Type.String({ examples: ['4567'] }),
  state: Type.String({ description: 'open, paid, failed or cancelled.', examples: ['open'] }),
  reason: nullable(),
})
export const BatchWithItems = Type.Composite([Batch, Type.Object({ items: Type.Array(Item) })], {
  title: 'PayoutBatchWithItems',
})
export type BatchWithItems = Static<typeof BatchWithItems>

export const maxInvoices = 1000
export const InvoiceNos = Type.Array(Type.String({ maxLength: 100 }), {
  minItems: 1,
  maxItems: maxInvoices,
  examples: [['CFX-26-02-00001']],
})
const columns = `batch_no, state, total::float8, returned::float8, currency, invoices, made_by,
  ${isoTime('made_at')} as made_at, released_by, ${isoTime('released_at')} as released_at, ended_by,
  ${isoTime('ended_at')} as ended_at, reason, bank_reference, paid_on::text,
  batch_no || '.' || coalesce(file_extension, 'csv') as file_name,
  is_in_doubt and state in ('made', 'released') as in_doubt`

/** Lists batches that are not ended, then the newest ones. */
export const listBatches = async (tx: Tx, tenant: string): Promise<Batch[]> =>
  (await tx.client.query<Batch>(listSql, [tenant])).rows

const listSql = `
  select ${columns} from payout_batches where tenant_id = $1
  order by state in ('made', 'released') desc, payout_batches.made_at desc, batch_no desc limit 100`

/** Finds a batch by its number. */
export const findBatch = async (tx: Tx, tenant: string, number: string): Promise<BatchWithItems | undefined> => {
  if (!isNumber.test(number)) return undefined
  const text = `select ${columns} from payout_batches where tenant_id = $1 and batch_no = $2`
  const { rows } = await tx.client.query<Batch>(text, [tenant, number])
  if (!rows[0]) return undefined
  const { rows: items } = await tx.client.query(itemsSql, [tenant, number])
  return { ...rows[0], items }
}

const itemsSql = `
  select invoices.merchant_id::text, account_version as version, invoice_no,
    invoice_ref_no, merchants.name as merchant_name, amount::float8, last_four, item.state, item.reason
  from payout_items item
    join invoices on invoices.tenant_id = item.tenant_id and invoices.invoice_id = item.invoice_id
    join merchants on merchants.tenant_id = invoices.tenant_id and merchants.merchant_id = invoices.merchant_id
  where item.tenant_id = $1 and batch_no = $2 order by item.invoice_id`

/** Reads what a batch pays, each item with the account that its file has, unless no key opens that. */
export const readBatchLines = async (tx: Tx, keyring: Keyring, tenant: string, number: string) => {
  const batch = await findBatch(tx, tenant, number)
  if (!batch) return undefined
  const { rows } = await tx.client.query<Static<typeof Item> & AccountReference>(itemsSql, [tenant, batch.batch_no])
  const lines: (Static<typeof Item> & Partial<AccountDetails>)[] = []
  for (const row of rows) lines.push({ ...row, ...(await readDetails(tx, keyring, tenant, row)) })
  return lines
}

export const unknownBatch = { kind: 'unknown', what: 'batch' } as const

/** Finds a batch and locks it until the transaction ends. */
export const lockBatch = async (tx: Tx, tenant: string, number: string): Promise<BatchWithItems | undefined> => {
  if (!isNumber.test(number)) return undefined
  const text = 'select from payout_batches where tenant_id = $1 and batch_no = $2 for update'
  await tx.client.query(text, [tenant, number])
  return findBatch(tx, tenant, number)
}

/** Returns the batch as the transaction wrote it. */
export const done = async (
  tx: Tx,
  tenant: string,
  batchNo: string,
  objects: readonly string[] = [batchNo],
): Promise<Acted<BatchWithItems>> => ({
  kind: 'done',
  data: (await findBatch(tx, tenant, batchNo)) as BatchWithItems,
  objects,
})

/** Refuses invoices of a request by their numbers; an empty text refuses nothing. */
export const refuseEach = (numbers: readonly string[], check: (number: string) => string) =>
  refuseAny(checkEach(numbers, check, 'invoice_nos'))

/** Locks the named invoices, by default all approved ones, in the order in which every other request locks them. */
export const lockInvoices = async (tx: Tx, tenant: string, wanted?: readonly string[]): Promise<string[]> => {
  const { rows } = await tx.client.query<{ invoice_id: string }>(
    `select invoice_id from invoices
      where tenant_id = $1 and (invoice_no = any($2) or invoice_ref_no = any($2) or invoice_id::text = any($2)
        or $2::text[] is null and state = 'approved' and kind in ('invoice', 'remittance'))
      order by invoice_id for no key update`,
    [tenant, wanted?.filter(number => isNumber.test(number))],
  )
  return rows.map(row => row.invoice_id)
}
