import type { FieldErrors } from '@courier/shared/errors/errors.ts'
import { closed, oneOf } from '@courier/shared/schemas.ts'
import { type Static, Type } from '@sinclair/typebox'
import { Day } from '../../../core/actions/fields.ts'

// Describes several taxes and withholdings in the company file (docs/money.md#several-taxes,
// #withholding-by-table), and says what is wrong with them.

export const Percent = Type.Number({
  minimum: 0,
  maximum: 100,
  must: 'be a percentage from 0 to 100 with at most two decimals',
})
const TaxName = Type.String({
  maxLength: 20,
  pattern: '^[A-Z][A-Z0-9_]{0,19}$',
  must: 'be 1 to 20 capital letters, digits and _, such as VAT',
})
export const Goods = Type.String({
  maxLength: 30,
  pattern: '^[a-z][a-z0-9_-]{0,29}$',
  must: 'be 1 to 30 of a-z, 0-9, _ and -',
})
/** A rate holds from its day on, until the next one of the same conditions. */
const rate = { from: Day, percent: Percent }
const conditions = {
  goods: Type.Optional(Goods),
  registered: Type.Optional(Type.Boolean()),
  payment: Type.Optional(oneOf(['cash', 'digital'])),
}
const Tax = closed({
  name: TaxName,
  on_top_of: Type.Optional(Type.Array(TaxName, { minItems: 1, maxItems: 10 })),
  rates: Type.Array(closed(rate), { minItems: 1, maxItems: 100 }),
})
const Withholding = closed({
  name: TaxName,
  rates: Type.Array(closed({ ...rate, ...conditions }), { minItems: 1, maxItems: 200 }),
})
type Table = readonly (Static<typeof Withholding> & { readonly on_top_of?: readonly string[] })[]
type Rate = Table[number]['rates'][number]

export const taxTables = {
  /** Sets taxes on charges, each computed on them and on the taxes that it is `on_top_of`. */
  taxes: Type.Optional(Type.Array(Tax, { minItems: 1, maxItems: 10 })),
  /** Sets what is withheld: the first conditions that fit a parcel, with their newest rate. */
  withholding: Type.Optional(Type.Array(Withholding, { minItems: 1, maxItems: 10 })),
}
interface Given {
  readonly taxes?: Table
  readonly withholding?: Table
  readonly tax_percent?: number
  readonly withholding_percent?: number
}

export const toTableColumns = ({ taxes, withholding }: Given) => ({
  taxes: taxes ? JSON.stringify(taxes) : null,
  withholding: withholding ? JSON.stringify(withholding) : null,
})

/** Lists what is wrong with the tables of a company file. */
export const checkTaxTables = (tenant: Given): FieldErrors => {
  const errors: FieldErrors = {}
  for (const [field, shortForm] of [['taxes', 'tax_percent'] as const, ['withholding', 'withholding_percent'] as const])
    if (tenant[field] && tenant[shortForm]) errors[`tenant.${shortForm}`] = [`Give ${shortForm} or ${field}, not both.`]
  for (const field of ['taxes', 'withholding'] as const)
    for (const [index, tax] of (tenant[field] ?? []).entries()) {
      const path = `tenant.${field}.${index}`
      const above = (tenant[field] ?? []).slice(0, index).map(({ name }) => name)
      if (above.includes(tax.name)) errors[`${path}.name`] = [`${tax.name} appears twice.`]
      const unknown = tax.on_top_of?.find(name => !above.includes(name))
      if (unknown) errors[`${path}.on_top_of`] = [`${unknown} is no tax that stands above ${tax.name}.`]
      for (const [at, rate] of tax.rates.entries()) {
        const wrong = refuseRate(rate, tax.rates.slice(0, at))
        if (wrong) errors[`${path}.rates.${at}.${wrong[0]}`] = [wrong[1]]
      }
    }
  return errors
}

const listConditions = ({ from: _from, percent: _percent, ...conditions }: Rate) => Object.entries(conditions)

/** Says which field of a rate is wrong, and why: its day, or rates above it that leave no parcel to it. */
const refuseRate = (rate: Rate, above: readonly Rate[]): [string, string] | undefined => {
  const time = Date.parse(rate.from)
  if (Number.isNaN(time) || new Date(time).toISOString().slice(0, 10) !== rate.from)
    return ['from', `${rate.from} is no day of the calendar: correct it.`]
  const own = new Map(listConditions(rate))
  const fits = (other: Rate) => listConditions(other).every(([name, value]) => own.get(name as never) === value)
  const isSame = (other: Rate) => fits(other) && listConditions(other).length === own.size
  if (above.some(other => isSame(other) && other.from === rate.from))
    return ['from', `Another rate of the same conditions begins on ${rate.from}: leave one out.`]
  const wider = above.findIndex(other => fits(other) && !isSame(other))
  if (wider >= 0) return ['percent', `It never holds, since rate ${wider} above it fits all its parcels: move it up.`]
  return undefined
}
