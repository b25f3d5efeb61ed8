import { isDate } from '@courier/shared/lists/dates.ts'
import { isSupportedCountry } from 'libphonenumber-js'
import { anyCountry, type Tariff } from '../costs/price.ts'
import type { NotifierFile } from './notifier-file.ts'

type GivenTariff = NonNullable<NotifierFile['tariffs']>[number]

/** Adds the errors of a file's tariffs that its schema does not show. */
export const checkTariffs = ({ tariffs = [] }: NotifierFile, add: (path: string, sentence: string) => void): void => {
  const latest = new Map<string, string>()
  for (const [index, given] of tariffs.entries()) {
    const { category, country, from } = toTariff(given)
    const path = `tariffs.${index}`
    if (!isDate(from)) add(`${path}.from`, `There is no day ${from}.`)
    if (country !== anyCountry && !isSupportedCountry(country))
      add(`${path}.country`, `There are no phone numbers of a country ${country}.`)
    const name = `${category} ${country}`
    const before = latest.get(name)
    if (before === from) add(path, `The tariff ${name} from ${from} is there twice.`)
    else if (before && before > from)
      add(`${path}.from`, `Tariffs ${name} must be in the order of their days: ${before} is before.`)
    latest.set(name, from)
  }
}

export const toTariff = ({ category, country = anyCountry, from, price }: GivenTariff): Tariff => ({
  category,
  country,
  from,
  price,
})
