import { addAmounts, findDecimals } from '@courier/shared/currency.ts'
import type { Static } from '@sinclair/typebox'
import type { Paper } from '../../labels/draw-paper.ts'
import { listNames, sumTaxes } from '../taxes/tax-sums.ts'
import type { DocumentKind, InvoiceLine } from './amounts.ts'
import type { Letterhead } from './invoice-versions.ts'
import { wordSum } from './words.ts'

// Composes documents for paper (docs/money.md#documents). A form is one function.

type Line = Static<typeof InvoiceLine>

export interface PaperSource {
  /** cancellation: the credit note of a cancelled invoice, whose lines are reversed. */
  readonly document: DocumentKind | 'cancellation'
  /** null: a draft. */
  readonly number: string | null
  readonly issued_on: string | null
  readonly made_on: string
  readonly references: readonly string[]
  readonly letterhead: Letterhead
  readonly total: number
  readonly charges_due: number
  readonly set_offs: readonly { readonly invoice_no: string; readonly amount: number }[]
  readonly lines: readonly Line[]
}

type Form = (source: PaperSource) => Pick<Paper, 'title' | 'from' | 'to' | 'facts' | 'notes'>

const names = {
  invoice: 'Invoice',
  tax_invoice: 'Invoice',
  credit_note: 'Credit note',
  debit_note: 'Debit note',
  remittance: 'Remittance',
  cancellation: 'Credit note',
}
const isOfCharges = ({ document }: PaperSource): boolean => /^(tax_invoice|credit_note|debit_note)$/.test(document)

/** Names a document. Only a document of charges is one of tax, and only if the company has a tax number. */
const nameDocument = (source: PaperSource): string => {
  const name = names[source.document]
  return isOfCharges(source) && source.letterhead.company_tax_number ? `Tax ${name.toLowerCase()}` : name
}

export const splitLines = (address: string | null | undefined): string[] =>
  (address ?? '').split('\n').filter(line => line)

const plainForm: Form = source => {
  const { letterhead: head, issued_on, references } = source
  const numbered = (number: string | null | undefined) => (number ? [`Tax number ${number}`] : [])
  return {
    title: nameDocument(source),
    from: [head.company, ...splitLines(head.company_address), ...numbered(head.company_tax_number)],
    to: [head.merchant_name, ...splitLines(head.merchant_address), ...numbered(head.merchant_tax_number)],
    facts: [issued_on ? `Issued on ${issued_on}` : 'Draft', ...references],
    notes: [],
  }
}

/** Prints the fields that Sri Lanka's tax office prescribes (docs/money.md#sri-lankas-form). */
const lkForm: Form = source => {
  const { letterhead: head, issued_on, references, lines, number } = source
  const toDay = (day: string) => `${day.slice(5, 7)}/${day.slice(8)}/${day.slice(0, 4)}`
  const days = lines.map(line => line.booked_on).toSorted()
  const supplied = [...new Set([days[0] ?? '', days.at(-1) ?? ''])].filter(day => day).map(toDay)
  const isRegistered = Boolean(head.merchant_tax_number) && head.merchant_tax_status !== 'unregistered'
  const name = isRegistered ? nameDocument(source) : names[source.document]
  const list = (fields: Record<string, string | null | undefined>) =>
    Object.entries(fields).flatMap(([field, value]) => (value ? [`${field}: ${value}`] : []))
  const numbers = source.lines.map(line => line.tax)
  const { charges_due } = source
  return {
    title: name.toUpperCase(),
    from: [
      head.company,
      ...splitLines(head.company_address),
      ...list({ TIN: head.company_tax_number, Telephone: head.company_phone }),
    ],
    to: [
      head.merchant_name,
      ...splitLines(head.merchant_address),
      ...list({ TIN: isRegistered ? head.merchant_tax_number : null, Telephone: head.merchant_phone }),
    ],
    facts: [
      ...list({
        [`${name} number`]: number,
        'Date of invoice': issued_on && toDay(issued_on),
        'Date of supply': supplied.join(' to '),
        'Place of supply': head.place_of_supply,
        'Mode of payment': head.sets_off ? 'Set off against cash on delivery' : 'Bank transfer',
      }),
      ...(issued_on ? [] : ['Draft']),
      ...references,
    ],
    notes: numbers.length > 0 ? [`Total in words: ${wordSum(Math.abs(charges_due), head.currency)}`] : [],
  }
}

const forms: Readonly<Record<'plain' | 'lk', Form>> = { plain: plainForm, lk: lkForm }

/** Composes a document in the company's form; that of a country is for documents of charges. */
export const composePaper = (source: PaperSource): Paper => {
  const { letterhead, document, number, issued_on, made_on } = source
  const form = isOfCharges(source) ? forms[letterhead.form ?? 'plain'] : plainForm
  const sign = document === 'credit_note' ? -1 : 1
  const word = (amount: number) => wordAmount(amount * sign, letterhead.currency)
  const columns = listColumns(source).filter(([, value]) => source.lines.some(line => word(value(line)) !== word(0)))
  const rate = source.lines.some(line => line.tax !== 0) ? [{ head: 'Tax %', isAmount: true }] : []
  return {
    ...form(source),
    number: number ?? '',
    dated: issued_on ?? made_on,
    sums: listSums(source).flatMap(([name, amount, quantity = '']) =>
      word(amount) === word(0) ? [] : [[name, quantity, word(amount)]],
    ),
    total: wordTotal(source, word),
    columns: [
      ...['Waybill', 'Booked', 'What'].map(head => ({ head, isAmount: false })),
      ...rate,
      ...columns.map(([head]) => ({ head, isAmount: true })),
    ],
    rows: source.lines.flatMap(line => {
      const amounts = columns.map(([, value]) => word(value(line)))
      if (amounts.every(amount => amount === word(0))) return []
      const kind = line.kind.replaceAll('_', ' ')
      const rates = rate.map(() => (line.tax === 0 ? '' : wordRates(line)))
      const row = [line.waybill_number ?? '', line.booked_on, kind, ...rates, ...amounts]
      return line.reason === null ? [row] : [row, line.reason]
    }),
  }
}

/** Writes the rate of a line's tax, or the rates of its taxes in their order. */
const wordRates = ({ taxes, tax_percent }: Line): string =>
  taxes.length > 0 ? taxes.map(({ percent }) => percent).join(' + ') : String(tax_percent ?? '')

/** Writes an amount with the decimals of its currency, without a sign of zero. */
export const wordAmount = (amount: number, currency: string): string => {
  const decimals = findDecimals(currency)
  const digits = { minimumFractionDigits: decimals, maximumFractionDigits: decimals }
  return (Number(amount.toFixed(decimals)) + 0).toLocaleString('en', digits)
}

type Amount = readonly [head: string, value: (line: Line) => number]

const listColumns = (source: PaperSource): readonly Amount[] => {
  const sign = isOfCharges(source) ? 1 : -1
  const charges: readonly Amount[] = [
    ['Delivery', line => sign * line.delivery],
    ['COD fee', line => sign * line.cod_fee],
    ['Return fee', line => sign * line.return_fee],
    ...listNames(source.lines.map(({ taxes }) => taxes)).map(
      (name): Amount => [name, line => sign * (line.taxes.find(tax => tax.name === name)?.amount ?? 0)],
    ),
    ['Tax', line => (line.taxes.length > 0 ? 0 : sign * line.tax)],
  ]
  if (isOfCharges(source)) return [...charges, ['Total', line => -line.net]]
  return [
    ['Collected', line => line.collected],
    ...charges,
    ['Withheld', line => -line.withholding],
    ['Compensation', line => line.compensation],
    ['Adjusted', line => line.adjustment],
    ['Held', line => -line.held],
    ['Owed', line => line.net],
  ]
}

type Sum = readonly [name: string, amount: number, quantity?: string]

const listSums = (source: PaperSource): readonly Sum[] => {
  const { lines, set_offs, letterhead, document, charges_due } = source
  const sum = (value: (line: Line) => number, of = lines) => addAmounts(of.map(value))
  const sign = isOfCharges(source) ? 1 : -1
  const charged = new Map<number | null, Line[]>()
  for (const line of lines)
    if (line.tax !== 0 && line.taxes.length === 0)
      charged.set(line.tax_percent, [...(charged.get(line.tax_percent) ?? []), line])
  const taxable = (of: readonly Line[]) =>
    addAmounts(of.flatMap(({ delivery, cod_fee, return_fee }) => [delivery, cod_fee, return_fee]))
  const taxes = [...charged].map(([rate, of]): Sum => {
    const base = wordAmount(Math.abs(taxable(of)), letterhead.currency)
    return [rate === null ? `Tax on ${base}` : `Tax, ${rate} % of ${base}`, sign * sum(line => line.tax, of)]
  })
  const listNamed = (kind: 'taxes' | 'withheld', word: string, sign: number) =>
    sumTaxes(lines.map(line => line[kind])).map(
      ({ name, percent, taxable, amount }): Sum => [
        `${name}${word}, ${percent} % of ${wordAmount(Math.abs(taxable), letterhead.currency)}`,
        sign * amount,
      ],
    )
  const withheld = listNamed('withheld', ' withheld', -1)
  const others = ['Tax', 'Total', 'Owed', ...listNames(lines.map(line => line.taxes))]
  if (withheld.length > 0) others.push('Withheld')
  const sums = listColumns(source)
    .filter(([head]) => !others.includes(head))
    .map(([head, value]): Sum => [head, sum(value), countParcels(lines.filter(line => value(line) !== 0))])
  const value: Sum[] = isOfCharges(source) ? [['Value without tax', taxable(lines)]] : []
  const apart = document === 'cancellation' ? 'Charges that you need not pay' : 'Charges that you pay separately'
  return [
    ...sums,
    ...value,
    ...listNamed('taxes', '', sign),
    ...taxes,
    ...withheld,
    ...set_offs.map(({ invoice_no, amount }): Sum => [`Set off: ${invoice_no}`, -amount]),
    ...(isOfCharges(source) ? [] : [[apart, charges_due] as const]),
  ]
}

const countParcels = (lines: readonly Line[]): string => {
  const count = new Set(lines.flatMap(line => line.waybill_number ?? [])).size
  return count === 0 ? '' : `${count} ${count === 1 ? 'parcel' : 'parcels'}`
}

/** Says who pays the total to whom. */
const wordTotal = (source: PaperSource, word: (amount: number) => string): [string, string] => {
  const { document, letterhead, total, charges_due } = source
  const { company, merchant_name: merchant, currency, sets_off } = letterhead
  if (document === 'cancellation') return [`Credited (${currency})`, word(total === 0 ? charges_due : total)]
  if (!isOfCharges(source)) return [`To be paid by ${company} to ${merchant} (${currency})`, word(total)]
  if (document === 'credit_note') return [`Total credited to ${merchant} (${currency})`, word(charges_due)]
  const how = sets_off
    ? 'Total, set off against your cash on delivery'
    : `Total, to be paid by ${merchant} to ${company}`
  return [`${how} (${currency})`, word(charges_due)]
}
