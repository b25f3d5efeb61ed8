import { findDecimals } from '@courier/shared/currency.ts'
import { type Keyring, openAs, sealAs } from '@courier/shared/vault.ts'
import { type Static, Type } from '@sinclair/typebox'
import { type Acted, type Call, defineBody, refuse } from '../../../core/actions/action.ts'
import type { Tx } from '../../../core/database/tables.ts'
import { lockName, readClock } from '../ledger/parcels.ts'
import { skipNumbers, takeNext } from '../papers/invoice-numbers.ts'
import { readBankFile, writeBankFile } from './bank-file.ts'
import { type BatchWithItems, done, InvoiceNos, lockInvoices, maxInvoices, refuseEach } from './payout-batches.ts'
import { type Payable, readDue } from './payouts.ts'

// Makes batches of payments, each with its file for the bank (docs/money.md#the-pay-run).

export const NewBatch = defineBody('NewPayoutBatch', {
  invoice_nos: Type.Optional(InvoiceNos),
  all: Type.Optional(
    Type.Literal(true, { must: 'be true', description: `The ${maxInvoices} oldest invoices that are due.` }),
  ),
})

/** Makes a batch of invoices that are due, and locks them in it, with the file for the bank. */
export const makeBatch = async (
  tx: Tx,
  keyring: Keyring,
  { tenant, by, body: { invoice_nos: wanted, all } }: Call<Static<typeof NewBatch>>,
): Promise<Acted<BatchWithItems>> => {
  if ((wanted === undefined) === (all === undefined)) return refuse('invoice_nos', 'Give either invoice_nos or all.')
  await lockName(tx, tenant, 'payout batches')
  const ids = await lockInvoices(tx, tenant, wanted)
  const { due, leftOut } = await readDue(tx, tenant, keyring, ids)
  if (wanted) {
    const reasons = new Map(
      [...due.map(row => ({ ...row, why: '' })), ...leftOut].flatMap(row => [
        [row.invoice_no, row.why],
        [row.invoice_ref_no, row.why],
        [row.invoice_id, row.why],
      ]),
    )
    const refused = refuseEach(wanted, number => reasons.get(number) ?? `There is no invoice ${number}.`)
    if (refused) return refused
  }
  const taken = due.slice(0, maxInvoices)
  if (taken.length === 0) return refuse('all', 'No invoice is due: GET /payout says why others are left out.')
  const made = await insertBatch(tx, keyring, tenant, by.name, taken)
  return made.kind === 'unfit' ? refuse(wanted ? 'invoice_nos' : 'all', made.why) : done(tx, tenant, made.batch_no)
}

const insertBatch = async (tx: Tx, keyring: Keyring, tenant: string, maker: string, taken: readonly Payable[]) => {
  const { now, today: made_on } = await readClock(tx, tenant)
  const batch_no = await takeNext(tx, tenant, batchMask)
  const currency = taken[0]?.currency ?? ''
  const file = await readBankFile(tx, tenant)
  const written = writeBankFile(file, { batch_no, made_on, currency, decimals: findDecimals(currency) }, taken)
  if (written.kind === 'unfit') return written
  const { keyId, sealed } = sealFile(keyring, tenant, batch_no, written.text)
  const amounts = taken.map(({ total }) => total)
  const ids = taken.map(({ invoice_id }) => invoice_id)
  const values = [amounts, currency, keyId, sealed, maker, now, file.extension]
  await tx.client.query(insertSql, [tenant, batch_no, ...values])
  const lastFours = taken.map(({ last_four }) => last_four)
  const versions = taken.map(({ version }) => version)
  await tx.client.query(insertItemsSql, [tenant, batch_no, ids, amounts, lastFours, versions])
  return { kind: 'made', batch_no } as const
}

const batchMask = 'PAY-#####'

const insertSql = `
  insert into payout_batches (tenant_id, batch_no, total, invoices, currency, key_id, sealed, made_by, made_at,
    file_extension)
  select $1, $2, sum(amount), count(*), $4, $5, $6, $7, $8, $9 from unnest($3::numeric[]) as amount returning tenant_id`

const insertItemsSql = `
  insert into payout_items (tenant_id, batch_no, invoice_id, amount, last_four, account_version)
  select $1, $2, invoice_id, amount, last_four, account_version
  from unnest($3::uuid[], $4::numeric[], $5::text[], $6::integer[])
    as taken (invoice_id, amount, last_four, account_version) returning tenant_id`

export interface SealedFile {
  readonly batch_no: string
  readonly key_id: string
  readonly sealed: Buffer
}

const reference = (tenant: string, batchNo: string) => ['courier payout files 1', tenant, batchNo]

export const sealFile = (keyring: Keyring, tenant: string, batchNo: string, text: string) =>
  sealAs(keyring, reference(tenant, batchNo), text)

/** Opens the file of a batch. Throws VaultError. */
export const openFile = (keyring: Keyring, tenant: string, { batch_no, key_id: keyId, sealed }: SealedFile): string =>
  openAs(keyring, reference(tenant, batch_no), { keyId, sealed })

/** Reads the sealed file of a batch; the bank gets it only once the batch is released. */
export const readFile = async (tx: Tx, tenant: string, batchNo: string): Promise<SealedFile | undefined> => {
  const text = `select batch_no, key_id, sealed from payout_batches where tenant_id = $1 and batch_no = $2
    and released_at is not null`
  return (await tx.client.query<SealedFile>(text, [tenant, batchNo])).rows[0]
}

/**
 * Leaves out the numbers that batches may have got since the backup, 100 for each day, and marks the batches that the
 * bank may have paid since.
 */
export const repairBatches = async (tx: Tx, tenant: string, since: Date | undefined) => {
  if (!since) return { skipped_batches: 0, batches_in_doubt: 0 }
  const skipped_batches = 100 * Math.ceil(1 + (Date.now() - since.getTime()) / 86_400_000)
  await skipNumbers(tx, tenant, [batchMask], skipped_batches)
  const text = `update payout_batches set is_in_doubt = true where tenant_id = $1 and state in ('made', 'released')`
  const { rowCount } = await tx.client.query(text, [tenant])
  return { skipped_batches, batches_in_doubt: rowCount ?? 0 }
}
