import { findDecimals } from '@courier/shared/currency.ts'
import { type Keyring, VaultError } from '@courier/shared/vault.ts'
import { Type } from '@sinclair/typebox'
import type { Tx } from '../../../core/database/tables.ts'
import { type AccountDetails, newestAccountsSql, openAccount, usableAtSql } from './bank-accounts.ts'
import { readBankFile, refusePayment } from './bank-file.ts'

// Finds the invoices that are due for payment, and says why others are not (docs/money.md#the-pay-run).

export const DueInvoice = Type.Object(
  {
    invoice_no: Type.String(),
    merchant_name: Type.String(),
    amount: Type.Number({ examples: [15451.8] }),
    currency: Type.String(),
    last_four: Type.String({ description: 'The end of the number of the bank account.', examples: ['4567'] }),
  },
  { title: 'DueInvoice' },
)
export const LeftOut = Type.Object({
  invoice_no: Type.String(),
  merchant_name: Type.String(),
  total: Type.Number({ examples: [900] }),
  why: Type.String({ examples: ['The merchant has no bank account.'] }),
})

interface Candidate {
  readonly invoice_id: string
  readonly invoice_no: string
  readonly invoice_ref_no: string
  readonly merchant_id: string
  readonly merchant_name: string
  readonly state: string
  readonly total: number
  readonly currency: string
  /** Names the batch that has the invoice. */
  readonly batch_no: string | null
  readonly version: number | null
  readonly last_four: string
  readonly key_id: string
  readonly sealed: Buffer
  readonly is_confirmed: boolean
  readonly is_usable: boolean
  readonly is_objected: boolean
}

export interface Payable extends Candidate {
  readonly account: AccountDetails
}
interface Unpayable extends Candidate {
  readonly why: string
}

/** Sorts invoices, by default all approved ones, into those that are due and those that are not. */
export const readDue = async (
  tx: Tx,
  tenant: string,
  keyring: Keyring,
  ids: readonly string[] | null = null,
): Promise<{ due: Payable[]; leftOut: Unpayable[] }> => {
  const { rows } = await tx.client.query<Candidate>(candidatesSql, [tenant, ids])
  const file = await readBankFile(tx, tenant)
  const due: Payable[] = []
  const leftOut: Unpayable[] = []
  for (const row of rows) {
    const found = refuseState(row) ?? findDetails(keyring, tenant, row)
    const payment = typeof found !== 'string' && { ...row, account: found }
    const why = payment ? refusePayment(file, payment, findDecimals(row.currency)) : (found as string)
    if (payment && why === undefined) due.push(payment)
    else leftOut.push({ ...row, why: why ?? '' })
  }
  return { due, leftOut }
}

const refuseState = ({ batch_no, state, total }: Candidate): string | undefined => {
  if (batch_no) return `The batch ${batch_no} has the invoice.`
  if (state !== 'approved') return `The invoice is ${state}: only an approved one is paid.`
  return total > 0 ? undefined : 'The invoice has nothing to pay.'
}

/** Opens the account to pay, or says why there is none. */
const findDetails = (keyring: Keyring, tenant: string, row: Candidate): AccountDetails | string => {
  if (row.version === null) return 'The merchant has no bank account.'
  if (row.is_objected) return 'The merchant objected to the bank account.'
  if (!row.is_confirmed) return 'A second person must confirm the bank account.'
  if (!row.is_usable) return 'The bank account changed in the last 48 hours.'
  try {
    return openAccount(keyring, tenant, { ...row, version: row.version })
  } catch (error) {
    if (!(error instanceof VaultError)) throw error
    return 'The bank account was sealed with a key that is not in WEBHOOK_KEYS.'
  }
}

const candidatesSql = `
  select invoices.invoice_id, invoice_no, invoice_ref_no, merchants.name as merchant_name, invoices.state,
    total::float8, currency, batch_no, invoices.merchant_id::text, account.version,
    account.last_four, account.key_id, account.sealed,
    confirmed_by is not null as is_confirmed, ${usableAtSql} <= now() as is_usable,
    objected_at is not null as is_objected
  from invoices join tenants on tenants.tenant_id = invoices.tenant_id
    join merchants on merchants.tenant_id = invoices.tenant_id and merchants.merchant_id = invoices.merchant_id
    left join (${newestAccountsSql}) account on account.merchant_id = invoices.merchant_id
    left join payout_items item on item.tenant_id = invoices.tenant_id and item.invoice_id = invoices.invoice_id
      and item.state = 'open'
  where invoices.tenant_id = $1
    and (invoices.invoice_id = any($2::uuid[])
      or $2::uuid[] is null and invoices.state = 'approved' and kind in ('invoice', 'remittance'))
  order by invoices.invoice_id`
