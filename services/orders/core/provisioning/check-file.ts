import { refuseDecimals } from '@courier/shared/currency.ts'
import type { FieldErrors } from '@courier/shared/errors/errors.ts'
import { badText, isBadText, listErrors, required } from '@courier/shared/errors/field-errors.ts'
import { nameKey } from '@courier/shared/name-key.ts'
import { TypeCompiler } from '@sinclair/typebox/compiler'
import { merchantStatusKeys } from '../statuses/statuses.ts'
import { type CompanyParts, coreFile, defineMerchantsFile, defineTenantFile } from './company-part.ts'
import type { MerchantsFile, TenantFile } from './tenant-file.ts'

const compiled = new WeakMap<CompanyParts, ReturnType<typeof compile>>()

const compile = (parts: CompanyParts) => ({
  whole: TypeCompiler.Compile(defineTenantFile(parts)),
  merchants: TypeCompiler.Compile(defineMerchantsFile(parts)),
})

/** Compiles the schemas once for each list of parts. */
const findChecks = (parts: CompanyParts) => {
  const known = compiled.get(parts) ?? compile(parts)
  compiled.set(parts, known)
  return known
}

/** Returns true for a file of merchants only, which has neither states nor rate cards. */
const hasOnlyMerchants = (value: Partial<TenantFile> | null): boolean =>
  value?.merchants !== undefined && value.states === undefined && value.rate_cards === undefined

type CheckedFile = { kind: 'accepted'; file: TenantFile | MerchantsFile } | { kind: 'refused'; errors: FieldErrors }

/**
 * Checks the shape of a tenant file with the fields of all parts, and that it defines exactly once everything that it
 * refers to.
 */
export const checkFile = (value: unknown, parts = coreFile): CheckedFile => {
  const { whole, merchants } = findChecks(parts)
  const schema = hasOnlyMerchants(value as Partial<TenantFile> | null) ? merchants : whole
  if (!schema.Check(value)) return { kind: 'refused', errors: listErrors(schema, value).errors }
  const file = value as TenantFile | MerchantsFile
  const errors: FieldErrors = {}
  const add = (path: string, sentence: string): void => {
    errors[path] = [...(errors[path] ?? []), sentence]
  }
  checkValues(file, '', 'currency' in file.tenant ? file.tenant.currency : '', add)
  if (isWhole(file)) {
    checkTimeZone(file, add)
    for (const part of parts)
      for (const [path, sentences] of Object.entries(part.check?.(file) ?? {}))
        for (const each of sentences) add(path, each)
    checkCities(file, add)
    checkRateCards(file, add)
    checkStatuses(file, add)
  }
  checkMerchants(file.merchants, isWhole(file) ? new Set(file.rate_cards.map(card => card.name)) : undefined, add)
  return Object.keys(errors).length > 0 ? { kind: 'refused', errors } : { kind: 'accepted', file }
}

export const isWhole = (file: TenantFile | MerchantsFile): file is TenantFile => 'states' in file

type Add = (path: string, sentence: string) => void

/** Returns a check that adds an error at the path of every value whose key it has seen before. */
const unique = (add: Add, what: string) => {
  const seen = new Set<unknown>()
  return (path: string, value: unknown, key = value): void => {
    if (seen.has(key)) add(path, `The ${what} ${value} appears twice.`)
    seen.add(key)
  }
}

/** Checks every text and number of a file: amounts and percentages are the only numbers that may have decimals. */
const checkValues = (value: unknown, path: string, currency: string, add: Add): void => {
  if (typeof value === 'string' && isBadText(value)) add(path, badText(path))
  if (typeof value === 'number') {
    const isPercent = /[._]percent$/.test(path)
    const tooFine = isPercent ? wordTooFine(value) : refuseDecimals('The amount', value, currency)
    if (tooFine) add(path, tooFine)
  }
  if (typeof value !== 'object' || value === null) return
  for (const [name, inner] of Object.entries(value)) checkValues(inner, path ? `${path}.${name}` : name, currency, add)
}

const wordTooFine = (percentage: number): string | undefined =>
  Number(percentage.toFixed(2)) === percentage ? undefined : 'It has more than two decimals.'

const checkTimeZone = ({ tenant }: TenantFile, add: Add): void => {
  try {
    // Postgres interprets offsets and abbreviations differently.
    if (!/^(UTC|[A-Za-z_]+(\/[A-Za-z0-9_+-]+)+)$/.test(tenant.time_zone)) throw new RangeError()
    new Intl.DateTimeFormat('en', { timeZone: tenant.time_zone })
  } catch {
    add('tenant.time_zone', `There is no time zone ${tenant.time_zone}.`)
  }
}

const checkCities = ({ states }: TenantFile, add: Add): void => {
  const stateId = unique(add, 'state id')
  const stateName = unique(add, 'state name')
  const cityId = unique(add, 'city id')
  for (const [s, state] of states.entries()) {
    stateId(`states.${s}.id`, state.id)
    stateName(`states.${s}.name`, nameKey(state.name))
    const cityName = unique(add, 'city name')
    for (const [c, city] of state.cities.entries()) {
      cityId(`states.${s}.cities.${c}.id`, city.id)
      cityName(`states.${s}.cities.${c}.name`, nameKey(city.name))
    }
    for (const [c, { aliases = [] }] of state.cities.entries())
      for (const [a, alias] of aliases.entries()) cityName(`states.${s}.cities.${c}.aliases.${a}`, nameKey(alias))
  }
}

const checkRateCards = ({ states, rate_cards }: TenantFile, add: Add): void => {
  const cities = new Set(states.flatMap(state => state.cities.map(city => city.id)))
  const cardName = unique(add, 'rate card')
  for (const [index, card] of rate_cards.entries()) {
    const path = `rate_cards.${index}`
    cardName(`${path}.name`, card.name)
    checkZones(card, path, cities, add)
    const pair = unique(add, 'pair of zones')
    for (const [r, rate] of card.rates.entries()) {
      for (const end of ['from', 'to'] as const)
        if (!Object.hasOwn(card.zones, rate[end]))
          add(`${path}.rates.${r}.${end}`, `The card has no zone ${rate[end]}.`)
      pair(`${path}.rates.${r}`, `${rate.from} to ${rate.to}`, JSON.stringify([rate.from, rate.to]))
    }
  }
}

const checkZones = (card: TenantFile['rate_cards'][number], path: string, cities: Set<number>, add: Add): void => {
  const elsewhere = unique(add, 'zone of all other cities')
  const zoneCity = unique(add, 'city')
  for (const [zone, members] of Object.entries(card.zones)) {
    // The schema does not check names with a line break.
    if (!/^\S.{0,254}$/.test(zone) || isBadText(zone))
      add(`${path}.zones.${zone}`, 'The name of a zone must be a text of 1 to 255 characters in one line.')
    else if (members === '*') elsewhere(`${path}.zones.${zone}`, '*')
    else
      for (const [c, city] of members.entries()) {
        if (!cities.has(city)) add(`${path}.zones.${zone}.${c}`, `There is no city ${city} in this file.`)
        zoneCity(`${path}.zones.${zone}.${c}`, city)
      }
  }
}

/** Checks merchants. Their rate cards must be among `cards`; if undefined, the database has the cards. */
const checkMerchants = (merchants: MerchantsFile['merchants'], cards: Set<string> | undefined, add: Add): void => {
  const email = unique(add, 'e-mail address')
  const businessId = unique(add, 'business id')
  for (const [m, merchant] of merchants.entries()) {
    email(`merchants.${m}.email`, merchant.email.toLowerCase())
    if (merchant.rate_card && cards && !cards.has(merchant.rate_card))
      add(`merchants.${m}.rate_card`, `There is no rate card ${merchant.rate_card} in this file.`)
    for (const [b, business] of merchant.businesses.entries())
      businessId(`merchants.${m}.businesses.${b}.id`, business.id)
    if (merchant.businesses.filter(business => business.default).length > 1)
      add(`merchants.${m}.businesses`, 'A merchant has one default business at most.')
  }
}

type Entries = NonNullable<TenantFile['statuses']>

/** Returns true if a file replaces the set of statuses instead of renaming or recolouring some. */
export const isWholeSet = (entries: Entries): boolean => entries.some(entry => entry.moves)

const checkStatuses = ({ statuses = [] }: TenantFile, add: Add): void => {
  const once = unique(add, 'status key')
  for (const [index, { key }] of statuses.entries()) once(`statuses.${index}.key`, key)
  if (isWholeSet(statuses)) checkSet(statuses, add)
}

const checkSet = (statuses: Entries, add: Add): void => {
  const keys = new Set(statuses.map(({ key }) => key))
  const missing = merchantStatusKeys.filter(key => !keys.has(key))
  if (missing.length > 0) add('statuses', `The set lacks ${missing.join(' and ')}, which merchants' requests rely on.`)
  for (const [index, { name, moves }] of statuses.entries()) {
    const path = `statuses.${index}`
    if (name === undefined) add(`${path}.name`, required('name'))
    if (moves === undefined) add(`${path}.moves`, 'Give every status its moves for a new set, or none for new names.')
    const once = unique(add, 'move to')
    for (const [m, move] of (moves ?? []).entries()) {
      if (!keys.has(move)) add(`${path}.moves.${m}`, `There is no status ${move} in this set.`)
      once(`${path}.moves.${m}`, move)
    }
  }
}
