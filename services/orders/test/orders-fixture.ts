import type { Teardown } from '../../../dev/test-database.ts'
import { createTokenFor } from '../core/access/token-commands.ts'
import type { TenantFile } from '../core/provisioning/tenant-file.ts'
import { type ApiResponse, build, type RequestOptions } from './build.ts'
import { buildTenant } from './build-tenant.ts'
import { batch, order, withCards } from './tenant.ts'

const merchant = '/api/public/merchant'
const riders = ['Nimal', 'Sunil', 'Kasun', 'Amal', 'Ravi', 'Tharindu']

/**
 * Builds the small tenant with a card for both merchants, and returns helpers that make orders with given waybills and
 * send requests about them.
 */
export const ordersFixture = async (t: Teardown, options: NonNullable<Parameters<typeof build>[1]> = {}) => {
  const file = withCards(options.file)
  return addHelpers(await build(t, { ...options, file }), file.tenant.id)
}

/** Returns the same for a tenant of its own in the application that the tests of this process share. */
export const tenantFixture = async (t: Teardown, { file }: { file?: TenantFile } = {}) => {
  const built = await buildTenant(t, { file: withCards(file) })
  return addHelpers(built, built.tenant)
}

type Built = Pick<Awaited<ReturnType<typeof build>>, 'bulk' | 'pool' | 'send' | 'createToken' | 'rows'>

const addHelpers = async <Builder extends Built>(built: Builder, tenant: string) => {
  const { bulk, pool, send: request, createToken } = built
  const staffOf = async (staff = 'Kamal Perera', of = tenant) =>
    (await createTokenFor(pool, { tenant: of, staff })).token
  const staffToken = await staffOf()
  // These people hold cash.
  for (const rider of tenant.startsWith('demo') ? riders : []) await staffOf(rider)
  const booksToken = await createToken('books@example.com')

  const readWaybills = (response: ApiResponse): string[] => {
    if (response.status !== 200) throw new Error(JSON.stringify(response.body))
    return response.body.data
  }
  /** Makes one order for each waybill; `fields` apply to each. */
  const make = async (waybills: string[], fields: Record<string, unknown> = {}): Promise<string[]> =>
    readWaybills(await bulk(batch(waybills.map(waybill_number => order({ waybill_number, ...fields })))))
  /** Makes one order of Ceylon Books for each waybill; `fields` apply to each. */
  const makeOfBooks = async (waybills: string[], fields: Record<string, unknown> = {}): Promise<string[]> => {
    const orders = waybills.map(waybill_number => order({ waybill_number, ...fields }))
    return readWaybills(await bulk(batch(orders, { merchant_business_id: 7300 }), { token: booksToken }))
  }

  /** Moves orders as staff. */
  const move = (
    waybill_numbers: unknown,
    status_key: unknown,
    rest: Record<string, unknown> = {},
    options: RequestOptions = {},
  ) =>
    request(
      'POST',
      '/api/staff/order/status',
      { waybill_numbers, status_key, ...rest },
      { token: staffToken, ...options },
    )
  /** Returns the company's day today, and the ids of its merchants. */
  const readFacts = async (): Promise<{ today: string; shop: number; books: number }> => {
    const selectId = (email: string) =>
      `(select merchant_id::float8 from merchants where tenant_id = '${tenant}' and email = '${email}')`
    const [facts] = await built.rows(
      `select (now() at time zone time_zone)::date::text as today, ${selectId('shop@example.com')} as shop,
        ${selectId('books@example.com')} as books from tenants where tenant_id = '${tenant}'`,
    )
    return facts
  }
  /** Moves orders as staff through the statuses with these numbers, one after the other. */
  const moveAlong = async (waybills: string | string[], keys: number[]): Promise<void> => {
    for (const key of keys) {
      const { status } = await move([waybills].flat(), `key_${key}`)
      if (status !== 200) throw new Error(`${waybills} to ${key}: ${status}`)
    }
  }
  const cancel = (waybill_numbers: unknown, options: RequestOptions = {}) =>
    request('POST', `${merchant}/order/cancel`, { waybill_numbers }, options)
  const get = (path: string, options: RequestOptions = {}) => request('GET', `${merchant}${path}`, undefined, options)
  const staffGet = (path: string, options: RequestOptions = {}) =>
    request('GET', `/api/staff${path}`, undefined, { token: staffToken, ...options })

  const helpers = { tenant, request, make, makeOfBooks, move, moveAlong, readFacts, cancel, get, staffGet }
  return { ...built, ...helpers, staffOf, staffToken, booksToken }
}

/** Returns the body of a 422. */
export const refusal = (errors: Record<string, string[]>) => ({
  message: 'The given data was invalid.',
  code: 'validation_failed',
  errors,
})
