import type { Test } from 'tap'
import { createTokenFor } from '../access/token-commands.ts'
import type { OrdersOptions } from '../app.ts'
import type { TenantFile } from '../provisioning/tenant-file.ts'
import { type Answer, build, type CallOptions } from './build.ts'
import { batch, order, tenantFile } from './tenant.ts'

const merchant = '/api/public/merchant'

/** The small tenant, both merchants with a card; orders with waybills of the test's choice, and the calls about them. */
export const openCounter = async (t: Test, options: Partial<OrdersOptions> & { file?: TenantFile } = {}) => {
  const file = options.file ?? tenantFile()
  for (const merchant of file.merchants) merchant.rate_card = 'standard'
  const built = await build(t, { ...options, file })
  const { app, bulk, pool, token, tokenOf } = built
  const staffOf = async (staff = 'Kamal Perera', tenant = file.tenant.id) =>
    (await createTokenFor(pool, { tenant, staff })).token
  const staffToken = await staffOf()
  const booksToken = await tokenOf('books@example.com')

  const call = async (
    method: 'GET' | 'POST',
    url: string,
    body?: unknown,
    options: CallOptions = {},
  ): Promise<Answer> => {
    const given = options.token ?? token
    const answer = await app.inject({
      method,
      url,
      headers: {
        ...(given && { authorization: `Bearer ${given}` }),
        'x-tenant': options.tenant ?? file.tenant.id,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...options.headers,
      },
      ...(body !== undefined && { payload: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    return { status: answer.statusCode, headers: answer.headers, body: answer.json() }
  }

  const made = (answer: Answer): string[] => {
    if (answer.status !== 200) throw new Error(JSON.stringify(answer.body))
    return answer.body.data
  }
  /** Makes one order for each waybill; `fields` are of each. */
  const make = async (waybills: string[], fields: Record<string, unknown> = {}): Promise<string[]> =>
    made(await bulk(batch(waybills.map(waybill_number => order({ waybill_number, ...fields })))))
  /** The same for Ceylon Books. */
  const makeOfBooks = async (waybills: string[], fields: Record<string, unknown> = {}): Promise<string[]> => {
    const orders = waybills.map(waybill_number => order({ waybill_number, ...fields }))
    return made(await bulk(batch(orders, { merchant_business_id: 7300 }), { token: booksToken }))
  }

  /** Staff moves orders. */
  const move = (
    waybill_numbers: unknown,
    status_key: unknown,
    rest: Record<string, unknown> = {},
    options: CallOptions = {},
  ) =>
    call('POST', '/api/staff/order/status', { waybill_numbers, status_key, ...rest }, { token: staffToken, ...options })
  const cancel = (waybill_numbers: unknown, options: CallOptions = {}) =>
    call('POST', `${merchant}/order/cancel`, { waybill_numbers }, options)
  const get = (path: string, options: CallOptions = {}) => call('GET', `${merchant}${path}`, undefined, options)
  const staffGet = (path: string, options: CallOptions = {}) =>
    call('GET', `/api/staff${path}`, undefined, { token: staffToken, ...options })

  return { ...built, call, make, makeOfBooks, move, cancel, get, staffGet, staffOf, staffToken, booksToken }
}

/** What a 422 holds. */
export const refusal = (errors: Record<string, string[]>) => ({ message: 'The given data was invalid.', errors })
