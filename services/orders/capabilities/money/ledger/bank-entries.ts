import { type Static, Type } from '@sinclair/typebox'
import { hasFourEyes } from '../../../core/access/find-staff.ts'
import { type Acted, type Call, defineBody, refuse } from '../../../core/actions/action.ts'
import { Reason } from '../../../core/actions/fields.ts'
import { isoTime } from '../../../core/database/iso-time.ts'
import type { Tx } from '../../../core/database/tables.ts'
import { decidedFields } from './decided-routes.ts'
import { Amount, BankReference, mostSummed, nullable } from './fields.ts'
import { foldedBalanceSql, lastFoldedSql } from './fold-and-seal.ts'
import { bookJournal } from './ledger.ts'
import { lockName, readClock } from './parcels.ts'

// Books what a bank statement has beside deposits and payments of merchants (docs/money.md#the-bank).

/** Names the accounts of each kind, debit and credit. The account that is remitted comes with the request. */
const accountsOfKind = {
  bank_fee: ['bank_fees', 'bank'],
  direct_debit: ['direct_debits', 'bank'],
  cash_found: ['bank', 'cash_differences'],
  cash_written_off: ['differences', 'cash_differences'],
} as const
type Kind = keyof typeof accountsOfKind
const kinds = Object.keys(accountsOfKind) as Kind[]

const BookedAmount = { ...Amount, minimum: -mostSummed, must: 'be an amount', examples: [250] }

export const BankEntry = Type.Object(
  {
    entry_id: Type.Integer({ examples: [1] }),
    kind: Type.String({ description: 'Also tax_remitted and withholding_remitted.', examples: ['bank_fee'] }),
    debit: Type.String({ examples: ['bank_fees'] }),
    credit: Type.String({ examples: ['bank'] }),
    amount: Type.Number({ examples: [250] }),
    bank_reference: nullable(),
    office_reference: nullable('The reference of the tax office.'),
    reason: nullable(),
    ...decidedFields,
  },
  { title: 'BankEntry' },
)
export type BankEntry = Static<typeof BankEntry>

export const NewTaxPayment = defineBody('NewTaxPayment', {
  account: Type.String({
    ...{ maxLength: 50, pattern: '^(tax|withholding)(:[!-~]+)?$', must: 'be an account of tax or withholding' },
    examples: ['tax'],
  }),
  amount: { ...BookedAmount, description: 'What was paid to the office; below zero, what it paid back.' },
  office_reference: { ...Reason, description: 'The reference of the tax office.', examples: ['VAT 2026-02'] },
  bank_reference: BankReference,
})

export const NewBankEntry = defineBody('NewBankEntry', {
  kind: Type.Union(
    kinds.map(kind => Type.Literal(kind)),
    { must: `be ${kinds.join(', ')}`, examples: ['bank_fee'] },
  ),
  amount: {
    ...BookedAmount,
    description: 'Below zero: what the bank gives back, or takes of cash that it had counted too high.',
  },
  bank_reference: Type.Optional({ ...BankReference, description: 'Only cash_written_off has none.' }),
  reason: Reason,
})

const columns = `entry_id::float8, kind, debit, credit, amount::float8, bank_reference, office_reference, reason,
  made_by, ${isoTime('made_at')} as made_at, state, decided_by, ${isoTime('decided_at')} as decided_at, booked_on::text`

/** Selects at most $4 entries below the id $3, newest first; null: of any state and id. */
export const listSql = `select ${columns} from bank_entries where tenant_id = $1 and ($2::text is null or state = $2)
  and ($3::bigint is null or entry_id < $3) order by bank_entries.entry_id desc limit $4`

interface Entry {
  readonly kind: string
  readonly debit: string
  readonly credit: string
  readonly amount: number
  readonly bank_reference?: string | undefined
  readonly office_reference?: string
  readonly reason?: string
}

/** Books what was paid to a tax office, or under `four_eyes` lets it wait for a second person. */
export const remit = (tx: Tx, { tenant, by, body }: Call<Static<typeof NewTaxPayment>>): Promise<Acted<BankEntry>> => {
  const { account: debit, ...given } = body
  return enter(tx, tenant, by.name, { ...given, kind: `${debit.split(':')[0]}_remitted`, debit, credit: 'bank' })
}

/** Books an entry of the bank, or lets it wait for a second person: a loss of cash always does. */
export const makeEntry = async (
  tx: Tx,
  { tenant, by, body }: Call<Static<typeof NewBankEntry>>,
): Promise<Acted<BankEntry>> => {
  const [debit, credit] = accountsOfKind[body.kind]
  if ((body.bank_reference === undefined) !== (body.kind === 'cash_written_off'))
    return refuse('bank_reference', 'Give the reference of the bank; cash_written_off alone has none.')
  return enter(tx, tenant, by.name, { ...body, debit, credit })
}

const enter = async (tx: Tx, tenant: string, by: string, entry: Entry): Promise<Acted<BankEntry>> => {
  const { kind, debit, credit, amount, bank_reference, office_reference, reason } = entry
  if (amount === 0) return refuse('amount', 'Give an amount above or below zero.')
  await lockName(tx, tenant, 'bank entries')
  const wrong = await refuseEntry(tx, tenant, entry)
  if (wrong) return wrong
  const { now } = await readClock(tx, tenant)
  const values = [tenant, kind, debit, credit, amount, bank_reference, office_reference, reason, by, now]
  const { rows } = await tx.client.query(insertSql, values)
  const id = rows[0].entry_id
  if (kind !== 'cash_written_off' && !(await hasFourEyes(tx, tenant))) await book(tx, tenant, id, null)
  return done(tx, tenant, id)
}

const insertSql = `
  insert into bank_entries (tenant_id, kind, debit, credit, amount, bank_reference, office_reference, reason, made_by,
    made_at, state)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 'waiting') returning entry_id::float8`

/**
 * Refuses an entry that is booked already, or that takes more from an account than it holds; what entries of its kind
 * booked may be taken back.
 */
const refuseEntry = async (tx: Tx, tenant: string, { kind, debit, credit, amount, bank_reference }: Entry) => {
  const { rows: same } = await tx.client.query(sameSql, [tenant, kind, bank_reference, debit])
  if (same[0])
    return refuse('bank_reference', `The reference ${bank_reference} has the entry ${same[0].entry_id} of this kind.`)
  const account = credit === 'cash_differences' ? credit : kind.endsWith('_remitted') ? debit : undefined
  if (!account) return undefined
  const { rows } = await tx.client.query(balanceSql, [tenant, account, kind])
  const balance: number = account === debit ? -rows[0].balance : rows[0].balance
  const isRefund = account === debit && amount < 0
  if (isRefund && account.includes(':') && !rows[0].is_booked)
    return refuse('account', `Nothing is booked in ${account}: give an account of the trial balance.`)
  const isWithin = (most: number) => Math.sign(amount) === Math.sign(most) && Math.abs(amount) <= Math.abs(most)
  return isRefund || isWithin(balance) || isWithin(-rows[0].of_kind)
    ? undefined
    : refuse('amount', `The account ${account} holds ${balance + 0}: the amount is at most that.`)
}

const sameSql = `select entry_id from bank_entries where tenant_id = $1 and kind = $2 and bank_reference = $3
  and debit = $4 and state <> 'rejected'`

const balanceSql = `
  select (${foldedBalanceSql('$2::text')} + coalesce(sum(case debit when $2 then amount else -amount end), 0))::float8
    as balance,
    (select coalesce(sum(amount), 0)::float8 from bank_entries
      where tenant_id = $1 and kind = $3 and state = 'approved' and $2 in (debit, credit)) as of_kind,
    exists (select from ledger_transfers where tenant_id = $1 and $2 in (debit, credit)) as is_booked
  from ledger_transfers where tenant_id = $1 and $2 in (debit, credit) and booked_on > ${lastFoldedSql}`

const book = async (tx: Tx, tenant: string, id: number | string, by: string | null) => {
  const { now, journalId, today } = await readClock(tx, tenant)
  await tx.client.query(decideSql, [tenant, id, 'approved', by, by && now, journalId, today])
  await bookJournal(tx, tenant, journalId, [])
}

const decideSql = `update bank_entries set state = $3, decided_by = $4, decided_at = $5, journal_id = $6, booked_on = $7
  where tenant_id = $1 and entry_id = $2`

const findEntry = async (tx: Tx, tenant: string, id: number | string): Promise<BankEntry | undefined> => {
  const text = `select ${columns} from bank_entries where tenant_id = $1 and entry_id = $2`
  return (await tx.client.query(text, [tenant, id])).rows[0]
}

const done = async (tx: Tx, tenant: string, id: number | string, isRepeated = false): Promise<Acted<BankEntry>> => ({
  kind: 'done',
  data: (await findEntry(tx, tenant, id)) as BankEntry,
  objects: isRepeated ? [] : [`bank entry ${id}`],
})

/** Approves an entry that waits, which books it, or rejects it. Whoever made it may only reject it. */
export const decideEntry = async (
  tx: Tx,
  to: 'approved' | 'rejected',
  { tenant, by, id }: Call<object>,
): Promise<Acted<BankEntry>> => {
  await lockName(tx, tenant, 'bank entries')
  const found = await findEntry(tx, tenant, id)
  if (!found) return { kind: 'unknown', what: 'bank entry' }
  const { state, made_by, decided_by, kind, debit, credit, amount } = found
  if (state === to && decided_by === by.name) return done(tx, tenant, id, true)
  if (state !== 'waiting') return refuse('entry_id', `The entry is ${state}: make another one.`)
  if (to === 'approved' && made_by === by.name)
    return refuse('entry_id', `${by.name} made it: a second person must approve it.`)
  if (to === 'rejected') {
    const { now } = await readClock(tx, tenant)
    await tx.client.query(decideSql, [tenant, id, to, by.name, now, null, null])
    return done(tx, tenant, id)
  }
  const wrong = await refuseEntry(tx, tenant, { kind, debit, credit, amount })
  if (wrong) return refuse('entry_id', Object.values(wrong.errors).flat().join(' '))
  await book(tx, tenant, id, by.name)
  return done(tx, tenant, id)
}
