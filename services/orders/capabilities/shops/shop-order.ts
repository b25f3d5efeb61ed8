/**
 * Describes a doubt about a parcel, in the form of the desk's grid: with `ask` a person decides; `amount` is what is to
 * be collected if nothing was paid; `text` is what the shop says.
 */
export interface Mark {
  readonly field: string
  readonly code: string
  readonly ask?: true
  readonly text?: string
  readonly amount?: string
}

/** Says why an order is no parcel now. */
export type Stay = 'cancelled' | 'refunded' | 'unpaid' | 'done' | 'draft' | 'collected'

/** Holds what a shop says of one of its orders. */
export interface Said {
  /** Holds the fields of a parcel by name, as a sheet's row does; a field that the shop does not say is absent. */
  readonly values: Readonly<Record<string, string>>
  readonly marks: readonly Mark[]
  readonly stays?: Stay
}

export interface ShopOrder extends Said {
  readonly id: string
  /** undefined: the shop does not say when the order changed. */
  readonly changedAt: string | undefined
}

export interface Company {
  readonly currency: string
  /** Is the code of its country, such as LK. */
  readonly country: string
}

export type Json = Readonly<Record<string, unknown>>

export const readObject = (value: unknown): Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {}
export const readList = (value: unknown): Json[] => (Array.isArray(value) ? value.map(readObject) : [])

/** Exceeds the longest field of an order: a longer text is refused as too long at the check, never cut in silence. */
const keptCharacters = 1_100

/** Returns a text or a number as text; '' for anything else. Shows characters that Postgres refuses as lost ones. */
export const readText = (value: unknown): string =>
  typeof value === 'string' || typeof value === 'number'
    ? String(value).slice(0, keptCharacters).toWellFormed().replaceAll('\0', '\ufffd').replace(/\s+/g, ' ').trim()
    : ''

/** Joins texts that are not blank; one that repeats the text before it is left out. */
export const joinTexts = (separator: string, ...texts: readonly unknown[]): string =>
  texts
    .map(readText)
    .filter((text, index, all) => text && text !== all[index - 1])
    .join(separator)

const longestDescription = 1_000

/** Joins the items of an order; shows where a long list ends. */
export const joinItems = (items: readonly string[]): string => {
  const text = items.join(', ')
  return text.length > longestDescription ? `${text.slice(0, longestDescription - 1)}…` : text
}

/** Reads an amount that a shop's program wrote: digits, with a point before decimals. undefined: it is none. */
export const readAmount = (value: unknown): number | undefined => {
  const text = readText(value)
  return /^\d{1,12}(\.\d{1,6})?$/.test(text) ? Number(text) : undefined
}

/** Reads a time; one without a zone is UTC. */
export const readTime = (value: unknown): string | undefined => {
  const text = readText(value)
  if (!/^(19|2\d)\d\d-\d\d-\d\dT\d\d:\d\d:\d\d/.test(text)) return undefined
  const at = new Date(/(Z|[+-]\d\d:?\d\d)$/.test(text) ? text : `${text}Z`)
  return Number.isNaN(at.getTime()) ? undefined : at.toISOString()
}

export type Payment =
  | { readonly kind: 'paid' }
  | { readonly kind: 'collect'; readonly amount: number | undefined }
  /** A person decides: `text` is what the shop says, `amount` what the order costs. */
  | { readonly kind: 'unclear'; readonly text: string; readonly amount: number | undefined }

/** Writes the COD of a payment, which is asked in another currency than the company's. */
export const writeCod = (payment: Payment, currency: string, company: Company): { cod?: string; marks: Mark[] } => {
  if (payment.kind === 'paid') return { cod: '0', marks: [] }
  const { amount } = payment
  const isForeign = currency !== company.currency
  const text = joinTexts(' ', payment.kind === 'unclear' ? payment.text : '', isForeign ? currency : '')
  if (payment.kind === 'collect' && amount !== undefined && !isForeign) return { cod: String(amount), marks: [] }
  const known = amount !== undefined && !isForeign ? { amount: String(amount) } : {}
  return { marks: [{ field: 'cod', code: 'payment_unclear', ask: true, text, ...known }] }
}

export interface Place {
  readonly name: string
  readonly phone: string
  readonly address: string
  readonly city: string
  readonly state: string
  readonly postalCode: string
  readonly country: string
}

/** Writes the fields of the recipient; an address in another country than the company's is asked. */
export const writePlace = (place: Place, company: Company): { values: Record<string, string>; marks: Mark[] } => {
  const { country, ...parts } = place
  const isAbroad = country !== '' && country.toUpperCase() !== company.country
  const { name: customer_name, phone: customer_phone, address: customer_address, city: destination } = parts
  const all = { customer_name, customer_phone, customer_address, destination, state_name: parts.state }
  const marks: Mark[] = isAbroad ? [{ field: 'customer_address', code: 'abroad', ask: true, text: country }] : []
  return { values: { ...all, postal_code: parts.postalCode }, marks }
}

/** Builds what is stored of an order, without blank fields. */
export const say = (values: Readonly<Record<string, string>>, marks: readonly Mark[], stays?: Stay): Said => ({
  values: Object.fromEntries(Object.entries(values).filter(([, text]) => text !== '')),
  marks,
  ...(stays && { stays }),
})
