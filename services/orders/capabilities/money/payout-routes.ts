import { acceptJson } from '@courier/shared/edge/json-body.ts'
import { httpError } from '@courier/shared/errors/errors.ts'
import { audit } from '@courier/shared/postgres/audit.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import { type Keyring, VaultError } from '@courier/shared/vault.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from '@sinclair/typebox'
import type pg from 'pg'
import { type Acted, addAction, type Call, defineBody, refuseAny, refuseValues } from '../../core/actions/action.ts'
import { Day } from '../../core/actions/fields.ts'
import type { Tx } from '../../core/database/tables.ts'
import {
  AccountConfirmation,
  AccountDetails,
  BankAccount,
  changeAccount,
  confirmAccount,
  findAccount,
  newestAccountsSql,
  openAccount,
  usableAtSql,
} from './bank-accounts.ts'
import { formatField, jsonOrCsv, sendCsv } from './csv.ts'
import { MerchantParams } from './fields.ts'
import { depositInvoice, Invoice, isNumber, payment } from './invoices.ts'
import { lockParcels } from './parcels.ts'

interface PayoutOptions {
  readonly pool: pg.Pool
  /** undefined: WEBHOOK_KEYS is not set. */
  readonly keyring: Keyring | undefined
  /** Is called after invoices are paid, for merchants' webhooks. */
  readonly onChanged: (tenant: string) => void
}

const Payout = Type.Object(
  {
    invoice_no: Type.String(),
    merchant_name: Type.String(),
    amount: Type.Number({ examples: [15451.8] }),
    currency: Type.String(),
    ...AccountDetails.properties,
    reference: Type.String({ description: 'Appears on the merchant’s bank statement.', examples: ['MI-0001'] }),
  },
  { title: 'Payout' },
)
const LeftOut = Type.Object({
  invoice_no: Type.String(),
  merchant_name: Type.String(),
  total: Type.Number({ examples: [900] }),
  why: Type.String({ examples: ['The merchant has no bank account.'] }),
})
const PayRun = Type.Object({ payouts: Type.Array(Payout), left_out: Type.Array(LeftOut) }, { title: 'PayRun' })
type PayRun = Static<typeof PayRun>
const PayRunQuery = Type.Object({
  format: formatField('json', 'csv'),
  date: Type.Optional({ ...Day, description: 'Leaves out invoices approved after this day. Default: today.' }),
})
const PaidRun = defineBody('PaidRun', {
  invoice_nos: Type.Array(Type.String({ maxLength: 100 }), {
    minItems: 1,
    maxItems: 1000,
    examples: [['CFX-26-02-00001']],
  }),
  ...payment,
})
const path = '/merchant/:merchant_id/bank-account'

const requireKeys = (keyring: Keyring | undefined): Keyring => {
  if (keyring) return keyring
  throw httpError('unavailable', 'Bank accounts are not set up here: the operator sets WEBHOOK_KEYS.')
}

/** Keeps bank accounts of merchants, and lists the payments that a bank is to make. */
export const payoutRoutes: FastifyPluginAsyncTypebox<PayoutOptions> = async (app, { pool, keyring, onChanged }) => {
  acceptJson(app)
  app.get(
    path,
    {
      schema: {
        operationId: 'getBankAccount',
        summary: 'Read the newest bank account of a merchant',
        params: MerchantParams,
        response: {
          200: Type.Object({
            data: Type.Union([BankAccount, Type.Null()], { description: 'null: the merchant has none.' }),
          }),
        },
      },
    },
    async ({ staff: { tenant }, params: { merchant_id } }) => {
      const data = await inTenant(pool, tenant, (tx: Tx) => findAccount(tx, tenant, merchant_id))
      return { data: data ?? null }
    },
  )
  const account = { params: MerchantParams, data: BankAccount }
  addAction(app, pool, {
    ...account,
    path,
    operationId: 'changeBankAccount',
    action: 'bank_account.changed',
    message: 'Bank Account Changed Successfully',
    summary: 'Change the bank account of a merchant',
    description: 'A second person must confirm the account. Nothing is paid to the merchant for 48 hours.',
    body: AccountDetails,
    act: (tx, call) => changeAccount(tx, requireKeys(keyring), call),
  })
  addAction(app, pool, {
    ...account,
    path: `${path}/confirm`,
    operationId: 'confirmBankAccount',
    action: 'bank_account.confirmed',
    summary: 'Confirm a changed bank account',
    message: 'Bank Account Confirmed Successfully',
    body: AccountConfirmation,
    act: confirmAccount,
  })
  const schema = {
    operationId: 'getPayRun',
    summary: 'List the approved invoices that a bank is to pay',
    description: 'Shows the numbers of accounts: each read is audited.',
    querystring: PayRunQuery,
    response: { 200: jsonOrCsv('The pay run; as CSV, the list for a bank.', PayRun, Payout) },
  }
  app.get('/payout', { schema }, async ({ staff: { tenant, actor }, query }, reply) => {
    refuseValues(PayRunQuery.properties, query)
    const keys = requireKeys(keyring)
    const data = await inTenant(pool, tenant, async (tx: Tx) => {
      const run = await readPayRun(tx, tenant, keys, query.date)
      const numbers = run.payouts.map(({ invoice_no }) => invoice_no)
      if (numbers.length > 0) await audit(tx, tenant, actor, 'payout.read', numbers)
      return run
    })
    return query.format === 'csv' ? sendCsv(reply, 'payouts.csv', data.payouts, Payout) : { data }
  })
  addAction(app, pool, {
    path: '/payout',
    operationId: 'markPayRun',
    action: 'invoice.deposited',
    message: 'Invoices Deposited Successfully',
    summary: 'Book that a bank paid invoices',
    description: 'Books all of them, or none, and then lists every error. A repetition of the request changes nothing.',
    body: PaidRun,
    data: Type.Array(Invoice),
    onDone: onChanged,
    act: markPaid,
  })
}

const markPaid = async (tx: Tx, call: Call<Static<typeof PaidRun>>): Promise<Acted<Invoice[]>> => {
  const { invoice_nos } = call.body
  const data: Invoice[] = []
  const objects: string[] = []
  const errors: Record<string, string[]> = {}
  await lockRun(tx, call.tenant, invoice_nos)
  for (const [index, id] of invoice_nos.entries()) {
    const paid = await depositInvoice(tx, { ...call, id })
    if (paid.kind === 'unknown') errors[`invoice_nos.${index}`] = [`There is no invoice ${id}.`]
    else if (paid.kind === 'refused' && paid.errors.paid_on) errors.paid_on = [...paid.errors.paid_on]
    else if (paid.kind === 'refused') errors[`invoice_nos.${index}`] = Object.values(paid.errors).flat()
    else {
      data.push(paid.data)
      objects.push(...paid.objects)
    }
  }
  return refuseAny(errors) ?? { kind: 'done', data, objects }
}

/**
 * Locks the invoices, then all of their parcels, both in sorted order, so that neither another pay run nor a move
 * deadlocks with this one.
 */
const lockRun = async (tx: Tx, tenant: string, numbers: readonly string[]): Promise<void> => {
  const { rows } = await tx.client.query(
    `select invoice_id from invoices where tenant_id = $1 and (invoice_no = any($2) or invoice_ref_no = any($2))
      order by invoice_id for no key update`,
    [tenant, numbers.filter(number => isNumber.test(number))],
  )
  const text = 'select distinct waybill_number from money_lines where tenant_id = $1 and invoice_id = any($2::uuid[])'
  const { rows: lines } = await tx.client.query(text, [tenant, rows.map(row => row.invoice_id)])
  await lockParcels(
    tx,
    tenant,
    lines.map(row => row.waybill_number),
  )
}

interface Due {
  readonly invoice_no: string
  readonly invoice_ref_no: string
  readonly merchant_name: string
  readonly total: number
  readonly currency: string
  readonly merchant_id: string
  readonly version: number | null
  readonly key_id: string
  readonly sealed: Buffer
  readonly is_confirmed: boolean
  readonly is_usable: boolean
}

const readPayRun = async (tx: Tx, tenant: string, keyring: Keyring, date: string | undefined): Promise<PayRun> => {
  const { rows } = await tx.client.query<Due>(dueSql, [tenant, date])
  const run: PayRun = { payouts: [], left_out: [] }
  for (const due of rows) {
    const { invoice_no, merchant_name, total, currency, invoice_ref_no: reference } = due
    const found = findDetails(keyring, tenant, due)
    if (typeof found === 'string') run.left_out.push({ invoice_no, merchant_name, total, why: found })
    else run.payouts.push({ invoice_no, merchant_name, amount: total, currency, ...found, reference })
  }
  return run
}

/** Opens the account to pay, or says why there is none. */
const findDetails = (keyring: Keyring, tenant: string, due: Due): AccountDetails | string => {
  if (due.version === null) return 'The merchant has no bank account.'
  if (!due.is_confirmed) return 'A second person must confirm the bank account.'
  if (!due.is_usable) return 'The bank account changed in the last 48 hours.'
  try {
    return openAccount(keyring, tenant, { ...due, version: due.version })
  } catch (error) {
    if (!(error instanceof VaultError)) throw error
    return 'The bank account was sealed with a key that is not in WEBHOOK_KEYS.'
  }
}

const dueSql = `
  select invoice_no, invoice_ref_no, merchants.name as merchant_name, total::float8, currency,
    invoices.merchant_id::text, account.version, key_id, sealed,
    confirmed_by is not null as is_confirmed, ${usableAtSql} <= now() as is_usable
  from invoices join tenants on tenants.tenant_id = invoices.tenant_id
    join merchants on merchants.tenant_id = invoices.tenant_id and merchants.merchant_id = invoices.merchant_id
    left join (${newestAccountsSql}) account on account.merchant_id = invoices.merchant_id
  where invoices.tenant_id = $1 and invoices.state = 'approved' and total > 0
    and ($2::date is null or decided_at < ($2::date + 1)::timestamp at time zone time_zone)
  order by invoices.invoice_id for share of invoices`
