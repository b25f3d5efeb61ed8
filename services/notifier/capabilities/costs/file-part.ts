import { isDate } from '@courier/shared/lists/dates.ts'
import { closed, oneOf } from '@courier/shared/schemas.ts'
import { type Static, Type } from '@sinclair/typebox'
import { isSupportedCountry } from 'libphonenumber-js'
import type { Add, FilePart } from '../../core/provisioning/file-part.ts'
import type { NotifierFile } from '../../core/provisioning/notifier-file.ts'
import { applyBudget, applyTariffs } from './apply.ts'
import { anyCountry, pricedCategories, type Tariff } from './price.ts'
import { findTariffs } from './queries.ts'

/** A decimal is text: a JSON number would lose precision. */
const Decimal = Type.String({
  maxLength: 20,
  pattern: '^(0|[1-9]\\d{0,8})(\\.\\d{1,6})?$',
  must: 'be a decimal number in quotes, such as "0.0165"',
})

const GivenTariff = closed({
  category: oneOf(pricedCategories),
  country: Type.Optional(
    Type.String({
      maxLength: 2,
      pattern: '^([A-Z]{2}|\\*)$',
      must: `be a country code such as LK, or ${anyCountry}`,
    }),
  ),
  from: Type.String({ maxLength: 10, pattern: '^2\\d{3}-\\d\\d-\\d\\d$', must: 'be a date such as 2026-01-31' }),
  price: Decimal,
})

const maxTariffs = 2000

const tenantFields = {
  budget: Type.Optional(
    closed({
      monthly: Decimal,
      warn_at_percent: Type.Optional(
        Type.Integer({ minimum: 1, maximum: 100, must: 'be a whole number from 1 to 100' }),
      ),
    }),
  ),
}
const fileFields = {
  tariffs: Type.Optional(
    Type.Array(GivenTariff, { maxItems: maxTariffs, must: `be a list of at most ${maxTariffs} tariffs` }),
  ),
}

type PricedFile = NotifierFile & { tenant: { budget?: Static<typeof tenantFields.budget>; currency?: string } } & {
  tariffs?: Static<typeof fileFields.tariffs>
}

export const listTariffs = ({ tariffs }: PricedFile): Tariff[] | undefined =>
  tariffs?.map(({ country = anyCountry, ...tariff }) => ({ ...tariff, country }))

/** Adds tariffs and the budget to the company file. */
export const costsPart: FilePart = {
  file: fileFields,
  tenant: tenantFields,
  check: (file: PricedFile, add) => checkTariffs(listTariffs(file) ?? [], add),
  beforeRules: (tx, { tenant }: PricedFile) => applyBudget(tx, tenant.id, tenant.budget),
  afterRules: async (tx, file: PricedFile) => {
    const { id, budget, currency } = file.tenant
    const changes = await applyTariffs(tx, id, listTariffs(file))
    const hasPrices = budget || (await findTariffs(tx, id)).tariffs.length > 0
    return hasPrices && !currency ? { errors: { 'tenant.currency': [needsCurrency] } } : { changes }
  },
}

const needsCurrency = 'The currency field is required: the tenant has tariffs or a budget.'

/** Adds the errors of tariffs that their schema does not detect. */
const checkTariffs = (tariffs: readonly Tariff[], add: Add): void => {
  const latest = new Map<string, string>()
  for (const [index, { category, country, from }] of tariffs.entries()) {
    const path = `tariffs.${index}`
    if (!isDate(from)) add(`${path}.from`, `There is no day ${from}.`)
    if (country !== anyCountry && !isSupportedCountry(country))
      add(`${path}.country`, `There are no phone numbers for a country ${country}.`)
    const name = `${category} ${country}`
    const before = latest.get(name)
    if (before === from) add(path, `The tariff ${name} from ${from} is there twice.`)
    else if (before && before > from)
      add(`${path}.from`, `Tariffs ${name} must be in the order of their dates: ${before} comes before.`)
    latest.set(name, from)
  }
}
