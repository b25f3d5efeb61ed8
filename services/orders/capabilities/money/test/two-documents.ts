import { deepStrictEqual } from 'node:assert'
import type { Test } from 'tap'
import type { TenantFile } from '../../../core/provisioning/tenant-file.ts'
import { ordersFixture, tenantFixture } from '../../../test/orders-fixture.ts'
import { preparePayer } from '../../../test/payer.ts'
import { order, shortStatuses, tenantFile } from '../../../test/tenant.ts'
import { checkLedger, listFindings } from '../ledger/check-ledger.ts'

/** Holds the terms of every merchant, in whole units of the currency and hundredths of a percent. */
export const terms = {
  codFeePercent: 100,
  codFeeMin: 20,
  returnFee: 150,
  eachReturnKg: 25,
  taxPercent: 1800,
  withholdingPercent: 200,
}

/** Builds a company with a tax number and some merchants, whose documents are two. It is a tenant of its own. */
export const startTwo = (t: Test, company: Company = {}) => start(t, company, tenantFixture)

/** Builds the same company in a database of its own. */
export const startTwoAlone = (t: Test, company: Company = {}) => start(t, company, ordersFixture)

interface Company {
  currency?: string
  merchants?: number
  money?: object
  /** Lists the merchants that pay their charges themselves. */
  apart?: number[]
}

const start = async <Fixture extends Awaited<ReturnType<typeof tenantFixture>>>(
  t: Test,
  { currency = 'LKR', merchants = 2, money = {}, apart = [] }: Company,
  open: (t: Test, options: { file: TenantFile }) => Promise<Fixture>,
) => {
  const file = { ...tenantFile(), statuses: shortStatuses }
  Object.assign(file.tenant, {
    ...{
      currency,
      tax_percent: 18,
      withholding_percent: 2,
      tax_number: 'VAT 101',
      postal_address: '1 Main Street\nKotte',
    },
    money: { payable_when: 'delivered', objection_hours: 0, ...money },
  })
  const fees = { cod_fee_percent: 1, cod_fee_min: 20, return_fee: 150, each_return_kg: 25 }
  const [card] = file.rate_cards
  const rates = card?.rates.map(rate => ({ ...rate, first_kg: 450, each_extra_kg: 90 })) ?? []
  Object.assign(card ?? {}, { ...fees, rates })
  const [first] = file.merchants
  file.merchants = Array.from({ length: merchants }, (_, n) => ({
    ...first,
    ...{
      name: `Shop ${n}`,
      email: n === 0 ? 'shop@example.com' : n === 1 ? 'books@example.com' : `shop${n}@example.com`,
    },
    ...{ charges_apart: apart.includes(n), tax_number: `TIN ${n}` },
    businesses: [{ id: 7290 + n, name: `Shop ${n}`, default: true }],
  })) as typeof file.merchants
  const fixture = await open(t, { file })
  const { bulk, move, request, staffOf, staffGet, createToken, pool, tenant } = fixture
  const [clerk, second] = [await staffOf('Chamari'), await staffOf('Ruwan')]
  const { today } = await fixture.readFacts()
  const pay = await preparePayer(fixture)
  const post = async (path: string, body: object = {}, token = clerk) => {
    const { status, body: found } = await request('POST', `/api/staff${path}`, body, { token })
    if (status !== 200) throw new Error(`${path}: ${JSON.stringify(found)}`)
    return found.data
  }
  const refused = async (path: string, body: object = {}) =>
    (await request('POST', `/api/staff${path}`, body, { token: clerk })).body.errors
  let count = 0
  /** Books a parcel of 1 kg of a merchant; its delivery costs 450. Moves it, and returns its number. */
  const book = async (n: number, cod: number, key: string, more = (_waybill: string): object => ({})) => {
    const waybill_number = `DM${95_000_000 + ++count}`
    const orders = [order({ waybill_number, cod, weight: 1, initial_status_key: 'key_2' })]
    const general_data = { merchant_business_id: `${7290 + n}`, origin_city_id: '1500' }
    const token = await createToken(file.merchants[n]?.email ?? '')
    const made = await bulk({ general_data, order_data: orders }, { token })
    if (made.status !== 200) throw new Error(JSON.stringify(made.body))
    const { status } = await move([waybill_number], key, { ...more(waybill_number) })
    if (status !== 200) throw new Error(`${key}: ${status}`)
    return waybill_number
  }
  const deliver = (n: number, cod: number, method = 'cash') =>
    book(n, cod, 'key_13', waybill => ({
      collected_by: 'Nimal',
      ...(method !== 'cash' && { collected: { [waybill]: { method } } }),
    }))
  const giveBack = (n: number) => book(n, 500, 'key_21')
  const make = (body: object = { all: true }) => post('/invoice', { ...body, until: today })
  const read = async (id: string) => (await staffGet(`/invoice/${id}`)).body.data
  const readSchedule = async (query = '') =>
    (await staffGet(`/ledger/month/documents?month=${today.slice(0, 7)}${query}`)).body
  t.afterEach(async () => {
    deepStrictEqual(listFindings(await checkLedger(pool, tenant)), [])
  })
  return { ...fixture, file, today, pay, post, refused, deliver, giveBack, make, read, readSchedule, second }
}
