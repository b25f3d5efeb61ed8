import { hasOneSpelling, spellWaybill } from '@courier/shared/contract/waybills.ts'
import { readInTenant } from '@courier/shared/postgres/database.ts'
import type { preValidationAsyncHookHandler } from 'fastify'
import type pg from 'pg'
import { readScope } from '../access/merchant.ts'
import { isWaybill } from './read-orders.ts'

type Fields = Record<string, unknown>

const fieldNames = ['waybill', 'waybill_number', 'filter[waybill_number]']

/** Limits the list: every route refuses more waybill numbers. */
const maxTyped = 1000

/**
 * Replaces, as a preValidation hook, the waybill numbers that people typed, in the path, the query and
 * `waybill_numbers` of the body, with the numbers of the orders that they mean. Unknown numbers only lose their blanks.
 */
export const readTypedWaybills =
  (pool: pg.Pool): preValidationAsyncHookHandler =>
  async request => {
    const { waybill_numbers: list } = (request.body ?? {}) as Fields
    const isList = Array.isArray(list) && list.length <= maxTyped
    const texts = [
      ...[request.params, request.query].flatMap(fields => findTexts(fields, fieldNames)),
      ...(isList ? findTexts(list, Object.keys(list)) : []),
    ]
    if (texts.length === 0) return
    const typed = texts.map(({ text }) => text)
    const resolve = await findSpellings(pool, readScope(request).tenant, typed)
    for (const { fields, name, text } of texts) fields[name] = resolve(text)
  }

/** Lists the fields whose text may be spelt in several ways. */
const findTexts = (from: unknown, names: readonly string[]) => {
  const fields = from as Fields
  return names.flatMap(name => {
    const text = fields[name]
    return typeof text === 'string' && !hasOneSpelling.test(text) ? { fields, name, text } : []
  })
}

/** Asks the database only about numbers with lower-case letters. */
const findSpellings = async (pool: pg.Pool, tenant: string, typed: readonly string[]) => {
  const unsure = typed.map(spellWaybill).filter(({ length }) => length > 1)
  const values = [tenant, unsure.flat().filter(waybill => isWaybill.test(waybill))]
  const query = { name: 'find_spellings', text: spellingsSql, values }
  const rows = unsure.length > 0 ? await readInTenant(pool, tenant, query) : []
  const known = new Set(rows.map(({ waybill_number }) => waybill_number))
  return (each: string): string | undefined => {
    const spellings = spellWaybill(each)
    return spellings.find(waybill => known.has(waybill)) ?? spellings[0]
  }
}

const spellingsSql = 'select waybill_number from orders where tenant_id = $1 and waybill_number = any($2::text[])'
