import { addAmounts } from '@courier/shared/currency.ts'
import { closed, oneOf } from '@courier/shared/schemas.ts'
import { type Static, Type } from '@sinclair/typebox'
import type { Tx } from '../../../core/database/tables.ts'
import { guardFormula, quoteCell } from '../papers/csv.ts'
import type { AccountDetails } from './bank-accounts.ts'

// Writes the file of a batch as the bank takes it (docs/money.md#the-file-for-the-bank).

const batchFields = ['batch_no', 'made_on', 'currency', 'count', 'sum'] as const
/** Lists the fields of the file that needs no template, in their order. */
export const csvFields = [
  ...(['batch_no', 'invoice_no', 'merchant_name', 'amount', 'currency'] as const),
  ...(['bank', 'branch', 'holder', 'number', 'reference'] as const),
]
const paymentFields = [...csvFields, 'plain_number', 'line_no', 'made_on'] as const
type Field = (typeof batchFields)[number] | (typeof paymentFields)[number]

const Column = <Name extends Field>(names: readonly Name[]) =>
  closed({
    field: Type.Optional(oneOf(names)),
    text: Type.Optional(Type.String({ maxLength: 100, must: 'be a text of at most 100 characters' })),
    width: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, must: 'be 1 to 200 characters' })),
    align: Type.Optional(oneOf(['left', 'right'])),
    pad: Type.Optional(Type.String({ pattern: '^[ -~]$', maxLength: 1, must: 'be one ASCII character' })),
  })
const Line = <Name extends Field>(names: readonly Name[]) =>
  Type.Array(Column(names), { minItems: 1, maxItems: 100, must: 'list 1 to 100 columns' })
const Lines = Type.Optional(Type.Array(Line(batchFields), { maxItems: 10, must: 'list at most 10 lines' }))

/** Describes the file for the bank, in the company file. */
export const BankFile = closed({
  /** undefined: columns have fixed widths. */
  separator: Type.Optional(oneOf([',', ';', '|', '\t'], { must: 'be a comma, semicolon, bar or tab' })),
  quote: Type.Optional(oneOf(['needed', 'always'])),
  line_ending: Type.Optional(oneOf(['crlf', 'lf'])),
  extension: Type.Optional(Type.String({ pattern: '^[a-z0-9]{1,8}$', maxLength: 8, must: 'be letters, such as txt' })),
  date: Type.Optional(
    oneOf([
      ...(['YYYY-MM-DD', 'YYYYMMDD', 'YYMMDD', 'DD/MM/YYYY', 'DD-MM-YYYY', 'DD.MM.YYYY'] as const),
      ...(['DDMMYYYY', 'DDMMYY', 'MM/DD/YYYY'] as const),
    ]),
  ),
  /** undefined: as many as the currency has. */
  decimals: Type.Optional(Type.Integer({ minimum: 0, maximum: 4, must: 'be 0 to 4' })),
  point: Type.Optional(oneOf(['.', ',', ''], { must: 'be a point, a comma or empty' })),
  header: Lines,
  columns: Line(paymentFields),
  trailer: Lines,
})
export type BankFile = Static<typeof BankFile>
export type Column = NonNullable<BankFile['trailer']>[number][number] | BankFile['columns'][number]

const csv: BankFile = {
  separator: ',',
  header: [csvFields.map(text => ({ text }))],
  columns: csvFields.map(field => ({ field })),
}

/** Reads the company's template. */
export const readBankFile = async (tx: Tx, tenant: string): Promise<BankFile> => {
  const text = 'select bank_file from tenants where tenant_id = $1'
  const { rows } = await tx.client.query<{ bank_file: string | null }>(text, [tenant])
  return rows[0]?.bank_file ? JSON.parse(rows[0].bank_file) : csv
}

export interface Payment {
  readonly invoice_no: string
  readonly invoice_ref_no: string
  readonly merchant_name: string
  readonly total: number
  readonly currency: string
  readonly account: AccountDetails
}
type Values = Partial<Readonly<Record<Field, string>>>

export const writeDate = (date: BankFile['date'], day: string): string => {
  const [year = '', month = '', of = ''] = day.split('-')
  return (date ?? 'YYYY-MM-DD')
    .replace('YYYY', year)
    .replace('YY', year.slice(2))
    .replace('MM', month)
    .replace('DD', of)
}

/** Writes an amount; `apply` refuses a template with fewer decimals than the currency has. */
const toAmount = ({ decimals, point = '.' }: BankFile, amount: number, ofCurrency: number): string =>
  amount.toFixed(decimals ?? ofCurrency).replace('.', point)

const toPayment = (file: BankFile, { account, ...payment }: Payment, decimals: number): Values => ({
  ...account,
  invoice_no: payment.invoice_no,
  reference: payment.invoice_ref_no,
  merchant_name: payment.merchant_name,
  currency: payment.currency,
  amount: toAmount(file, payment.total, decimals),
  plain_number: account.number.replaceAll(/[ -]/g, ''),
})

const toText = ({ field, text = '' }: Column, values: Values): string =>
  field === undefined ? text : guardFormula(values[field] ?? '')

/** Says why a column does not hold a text, which is never cut; undefined: it does. */
export const refuseText = (file: BankFile, { field, width }: Column, text: string): string | undefined => {
  const name = field ?? 'the text'
  if (width !== undefined && [...text].length > width)
    return `The file for the bank has ${width} characters for ${name}, which has ${[...text].length}.`
  return file.separator === undefined && /[^ -~]/.test(text)
    ? `A file for the bank with fixed widths has only ASCII characters, and ${name} has others.`
    : undefined
}

type Unfit = { readonly kind: 'unfit'; readonly why: string }

const refuseLine = (file: BankFile, line: readonly Column[], values: Values): string | undefined =>
  line.map(column => refuseText(file, column, toText(column, values))).find(why => why !== undefined)

/** Says why the file cannot hold a payment; undefined: it can. */
export const refusePayment = (file: BankFile, payment: Payment, decimals: number): string | undefined =>
  refuseLine(file, file.columns, toPayment(file, payment, decimals))

const toCell = (file: BankFile, column: Column, values: Values): string => {
  const { width = 0, align, pad = ' ' } = column
  const text = toText(column, values)
  const padding = pad.repeat(Math.max(0, width - [...text].length))
  const padded = align === 'right' ? padding + text : text + padding
  return file.separator ? quoteCell(padded, file.separator, file.quote === 'always') : padded
}

interface Batch {
  readonly batch_no: string
  readonly made_on: string
  readonly currency: string
  readonly decimals: number
}

/** Writes the file of a batch, or says which value does not fit. */
export const writeBankFile = (
  file: BankFile,
  { decimals, ...batch }: Batch,
  payments: readonly Payment[],
): Unfit | { readonly kind: 'written'; readonly text: string } => {
  const made_on = writeDate(file.date, batch.made_on)
  const sum = toAmount(file, addAmounts(payments.map(({ total }) => total)), decimals)
  const whole = { ...batch, made_on, count: String(payments.length), sum }
  const lines: (readonly [readonly Column[], Values])[] = [
    ...(file.header ?? []).map(line => [line, whole] as const),
    ...payments.map((payment, index) => {
      const values = { ...toPayment(file, payment, decimals), batch_no: batch.batch_no, made_on }
      return [file.columns, { ...values, line_no: String(index + 1) }] as const
    }),
    ...(file.trailer ?? []).map(line => [line, whole] as const),
  ]
  const why = lines.map(([line, values]) => refuseLine(file, line, values)).find(each => each !== undefined)
  if (why) return { kind: 'unfit', why }
  const ending = file.line_ending === 'lf' ? '\n' : '\r\n'
  const toLine = ([line, values]: (typeof lines)[number]) =>
    line.map(column => toCell(file, column, values)).join(file.separator ?? '') + ending
  return { kind: 'written', text: lines.map(toLine).join('') }
}
