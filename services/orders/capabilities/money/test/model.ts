// Keeps a company's books by double entry, apart from the product: tests play both and compare them. Amounts are whole
// numbers of the smallest unit of the currency; percentages are hundredths of a percent.

export interface ModelTerms {
  readonly codFeePercent: number
  readonly codFeeMin: number
  readonly returnFee: number
  readonly eachReturnKg: number
  readonly taxPercent: number
  readonly withholdingPercent: number
  /** Takes the place of `taxPercent`. */
  readonly taxes?: readonly ModelTax[]
}

/** Describes a tax with a name, whose base includes the amounts of the taxes `below`. */
export interface ModelTax {
  readonly name: string
  readonly percent: number
  readonly below?: readonly string[]
}
export type Levied = ReadonlyMap<string, { readonly taxable: number; readonly amount: number }>

/** Levies taxes on a value, in their order, each rounded once. */
export const levy = (taxes: readonly ModelTax[], value: number): Levied => {
  const levied = new Map<string, { taxable: number; amount: number }>()
  for (const { name, percent, below = [] } of taxes) {
    const taxable = below.reduce((sum, other) => sum + (levied.get(other)?.amount ?? 0), value)
    levied.set(name, { taxable, amount: percentOf(taxable, percent) })
  }
  return levied
}

export const totalOf = (levied: Levied): number => [...levied.values()].reduce((sum, { amount }) => sum + amount, 0)

/** Holds what a parcel costs its merchant. */
export interface Charges {
  readonly delivery: number
  readonly codFee: number
  readonly returnFee: number
  readonly tax: number
  /** Holds the parts of `tax` that have accounts of their own. */
  readonly levied?: Levied
}

const withTax = (terms: ModelTerms, charges: Omit<Charges, 'tax'>): Charges => {
  const value = charges.delivery + charges.codFee + charges.returnFee
  if (!terms.taxes) return { ...charges, tax: percentOf(value, terms.taxPercent) }
  const levied = levy(terms.taxes, value)
  return { ...charges, tax: totalOf(levied), levied }
}

/** Takes a percentage of an amount, in hundredths of a percent, rounded half up. */
export const percentOf = (amount: number, percent: number): number =>
  Math.sign(amount) * Number((BigInt(Math.abs(amount)) * BigInt(percent) * 2n + 10_000n) / 20_000n)

export const priceDelivery = (terms: ModelTerms, delivery: number, paid: number): Charges => {
  const codFee = paid > 0 ? Math.max(percentOf(paid, terms.codFeePercent), terms.codFeeMin) : 0
  return withTax(terms, { delivery, codFee, returnFee: 0 })
}

export const priceReturn = (terms: ModelTerms, kilograms: number): Charges => {
  const returnFee = terms.returnFee + Math.max(0, Math.ceil(kilograms) - 1) * terms.eachReturnKg
  return withTax(terms, { delivery: 0, codFee: 0, returnFee })
}

export class Books {
  readonly #balances = new Map<string, number>()
  readonly terms: ModelTerms

  constructor(terms: ModelTerms) {
    this.terms = terms
  }

  /** Moves an amount from `credit` to `debit`; below zero, the other way round. */
  post(debit: string, credit: string, amount: number): void {
    if (!Number.isSafeInteger(amount)) throw new Error(`${amount} is not a whole number of the smallest unit`)
    this.#balances.set(debit, this.balance(debit) + amount)
    this.#balances.set(credit, this.balance(credit) - amount)
  }

  /** Returns debits less credits. */
  balance(account: string): number {
    return this.#balances.get(account) ?? 0
  }

  /** Lists the accounts that are not at 0, by name. */
  balances(): [account: string, balance: number][] {
    return [...this.#balances].filter(([, balance]) => balance !== 0).toSorted(([a], [b]) => (a < b ? -1 : 1))
  }

  /** Returns what the company owes a merchant and does not hold back. */
  owed(merchant: number): number {
    return -this.balance(`merchant:${merchant}`)
  }

  deliver(merchant: number, { delivery, paid, holder }: { delivery: number; paid: number; holder: string }): Charges {
    const charges = priceDelivery(this.terms, delivery, paid)
    this.post(holder, `merchant:${merchant}`, paid)
    this.charge(merchant, charges)
    this.post(`merchant:${merchant}`, 'withholding', percentOf(paid, this.terms.withholdingPercent))
    return charges
  }

  return(merchant: number, kilograms: number): Charges {
    const charges = priceReturn(this.terms, kilograms)
    this.charge(merchant, charges)
    return charges
  }

  /** Books charges with their tax, or with a negative sign takes them back. */
  charge(merchant: number, { delivery, codFee, returnFee, tax, levied }: Charges): void {
    this.post(`merchant:${merchant}`, 'delivery_revenue', delivery + codFee)
    this.post(`merchant:${merchant}`, 'returns_revenue', returnFee)
    if (levied) this.levy(merchant, 'tax', levied)
    else this.post(`merchant:${merchant}`, 'tax', tax)
  }

  /** Books taxes, or what is withheld, to accounts of their own. */
  levy(merchant: number, account: 'tax' | 'withholding', levied: Levied): void {
    for (const [name, { amount }] of levied) this.post(`merchant:${merchant}`, `${account}:${name}`, amount)
  }
}
