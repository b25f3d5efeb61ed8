import type { FieldErrors } from '@courier/shared/errors/errors.ts'
import { closed } from '@courier/shared/schemas.ts'
import type { Static, TArray, TObject, TProperties } from '@sinclair/typebox'
import type { Tx } from '../database/tables.ts'
import type { Row } from './sync.ts'
import { MerchantsFile, TenantFile } from './tenant-file.ts'

/** Defines fields of one object of a company file, and returns the columns that follow; absent fields reset theirs. */
interface Fields<Properties extends TProperties = TProperties> {
  readonly fields: Properties
  readonly toColumns: (given: Static<TObject<Properties>>) => Row
}

/** Keeps the types of fields and columns together. */
export const defineFields = <Properties extends TProperties>(
  fields: Properties,
  toColumns: Fields<Properties>['toColumns'],
): Fields => ({ fields, toColumns: toColumns as Fields['toColumns'] })

export interface CompanyPart {
  /** Adds to the settings, `tenant`. */
  readonly tenant?: Fields
  /** Adds to each of `rate_cards`. */
  readonly rateCard?: Fields
  /** Adds to each of `merchants`. */
  readonly merchant?: Fields
  /** Adds to each of the `businesses` of a merchant. */
  readonly business?: Fields
  /** Returns what is wrong with a file whose shape is right, by the path of the file. */
  readonly check?: (file: TenantFile) => FieldErrors
  /** Returns what the stored rows do not allow, by the path of the file. */
  readonly checkStored?: (tx: Tx, file: TenantFile | MerchantsFile) => Promise<FieldErrors>
  /** Returns what a valid file leaves open, for `apply` to say. */
  readonly warn?: (file: TenantFile) => string[]
  /** Runs before the rows change; the function that it returns runs after, and lists what the audit is to keep. */
  readonly beforeChange?: (tx: Tx, tenant: string) => Promise<() => Promise<readonly string[]>>
}

export type CompanyParts = readonly CompanyPart[]

export const coreFile: CompanyParts = []

type Place = 'tenant' | 'rateCard' | 'merchant' | 'business'

/** Returns the columns that all parts have for an object of the file. */
export const toPartColumns = (parts: CompanyParts, place: Place, given: object): Row =>
  Object.assign({}, ...parts.map(part => part[place]?.toColumns(given as never)))

export const mergeErrors = async (found: readonly (Promise<FieldErrors> | FieldErrors | undefined)[]) =>
  Object.assign({}, ...(await Promise.all(found))) as FieldErrors

const extend = (schema: TObject, parts: CompanyParts, place: Place): TObject =>
  closed(Object.assign({ ...schema.properties }, ...parts.map(part => part[place]?.fields)))

/** Extends a merchant with its businesses. */
const extendMerchant = ({ properties }: TObject, parts: CompanyParts): TObject => {
  const { businesses } = properties as { businesses: TArray<TObject> }
  const items = extend(businesses.items, parts, 'business')
  return extend(closed({ ...properties, businesses: { ...businesses, items } }), parts, 'merchant')
}

export const defineTenantFile = (parts: CompanyParts) => {
  const { tenant, rate_cards, merchants, ...others } = TenantFile.properties
  return closed({
    tenant: extend(tenant, parts, 'tenant'),
    ...others,
    rate_cards: { ...rate_cards, items: extend(rate_cards.items, parts, 'rateCard') },
    merchants: { ...merchants, items: extendMerchant(merchants.items, parts) },
  })
}

export const defineMerchantsFile = (parts: CompanyParts) => {
  const { tenant, merchants } = MerchantsFile.properties
  return closed({ tenant, merchants: { ...merchants, items: extendMerchant(merchants.items, parts) } })
}
