import { addAmounts } from '@courier/shared/currency.ts'
import { type Static, Type } from '@sinclair/typebox'
import { sum } from '../ledger/fields.ts'

// Adds up taxes and withholdings that have names, by name and rate (docs/money.md#several-taxes).

export const BookedTax = Type.Object(
  {
    name: Type.String({ examples: ['VAT'] }),
    percent: Type.Number({ examples: [18] }),
    taxable: sum('What the rate was taken of, with the taxes below it.', 461.25),
    amount: sum('The tax.', 83.03),
  },
  { title: 'BookedTax' },
)
export type BookedTax = Static<typeof BookedTax>

export const bookedTaxes = (description: string) => Type.Array(BookedTax, { description, examples: [[]] })

/** Adds lists up, in the order in which names and rates first appear. */
export const sumTaxes = (lists: readonly (readonly BookedTax[])[]): BookedTax[] =>
  [...Map.groupBy(lists.flat(), ({ name, percent }) => `${name} ${percent}`).values()].map(of => ({
    ...(of[0] as BookedTax),
    taxable: addAmounts(of.map(({ taxable }) => taxable)),
    amount: addAmounts(of.map(({ amount }) => amount)),
  }))

export const negate = (taxes: readonly BookedTax[]): BookedTax[] =>
  taxes.map(tax => ({ ...tax, taxable: -tax.taxable || 0, amount: -tax.amount || 0 }))

export const listNames = (lists: readonly (readonly BookedTax[])[]): string[] => [
  ...new Set(lists.flatMap(taxes => taxes.map(({ name }) => name))),
]

interface Taxed {
  readonly taxes: readonly BookedTax[]
  readonly withheld: readonly BookedTax[]
}

/** Returns columns for a CSV file with lines: of each tax and withholding that any of them has. */
export const listTaxColumns = (lines: readonly Taxed[]): readonly (readonly [string, (line: Taxed) => unknown])[] =>
  (['taxes', 'withheld'] as const).flatMap(kind =>
    listNames(lines.map(line => line[kind])).flatMap(name => {
      const account = `${kind === 'taxes' ? 'tax' : 'withholding'}:${name}`
      const find = (line: Taxed) => line[kind].find(tax => tax.name === name)
      return [
        [`${account} percent`, (line: Taxed) => find(line)?.percent],
        [`${account} taxable`, (line: Taxed) => find(line)?.taxable],
        [account, (line: Taxed) => find(line)?.amount],
      ] as const
    }),
  )
