import { sameDigits } from '@courier/shared/test/phones.ts'
import { type CountryCode, getCountryCallingCode, type PhoneNumber } from 'libphonenumber-js'
import t from 'tap'
import { onCitus } from '../../dev/test-database.ts'
import { serviceToken } from './test/build.ts'
import { ordersFixture } from './test/orders-fixture.ts'
import { batch, order, tenantFile } from './test/tenant.ts'

const { app, apply, bulk, get, staffGet, rows } = await ordersFixture(t)

/** Lists the spellings of a number of `country`, and those of a number of another country. */
const spell = (number: PhoneNumber, country: CountryCode): string[] => {
  const international = number.formatInternational()
  const arabic = number.number.replace(/\d/g, digit => String.fromCodePoint(0x660 + Number(digit)))
  const all = [international, `(${number.number.replace(/(?=.{4}$)/, ')-')}`, arabic]
  const isOwn = number.countryCallingCode === getCountryCallingCode(country)
  const national = number.formatNational()
  return isOwn ? [national, national.replace(/\D/g, ''), `00${number.number.slice(1)}`, ...all] : all
}

t.equal(sameDigits.length, 40)

// The statements are the same for all countries, so Citus runs those of every fourth.
const countries = process.argv.includes(onCitus) ? sameDigits.filter((_, index) => index % 4 === 0) : sameDigits

for (const [index, { country, one, other }] of countries.entries())
  t.test(`${country}: people whose numbers share nine digits are strangers, everywhere`, async t => {
    t.equal(one.number.slice(-9), other.number.slice(-9))
    await rows('truncate orders cascade')
    await apply(tenantFile({ country, checks: { duplicate: 'refuse' } }))
    await rows('update tenants set recipient_history = true')
    const book = (phones: string[], query = '', cod = 0) => {
      const fields = { initial_status_key: 'key_2' }
      const orders = phones.map((customer_phone, n) => order({ customer_phone, cod: cod && cod + n, ...fields }))
      return bulk(batch(orders), { query })
    }
    const list = async (query: string, phone: string, from = query === 'phone' ? get : staffGet) => {
      const { body } = await from(`/order?${query}=${encodeURIComponent(phone)}`)
      return body.data.map((row: { waybill_number: string }) => row.waybill_number).toSorted()
    }
    const [spelt, others] = [spell(one, country), spell(other, country)] as [string[], string[]]

    const both = await book([spelt[0], others[0]] as string[], '?dry_run=1')
    t.strictSame([both.status, both.body.warnings], [200, undefined], 'they are strangers within a batch')
    const found: string[] = (await book(spelt, '', 1)).body.data
    await rows(`update orders set created_at = $1, status_key = 'key_21'`, [new Date(Date.now() - 2 * 86_400_000)])
    const [of] = (await book([spelt[0] as string])).body.data
    found.push(of)
    for (const typed of others) t.strictSame((await book([typed], '?dry_run=1')).body.warnings, undefined, typed)
    const booked = await book([others[0] as string])
    t.equal(booked.status, 200, JSON.stringify(booked.body))
    for (const typed of spelt) {
      t.strictSame(await list('phone', typed), found, typed)
      t.strictSame(await list('search', typed), found, `search ${typed}`)
      t.equal((await book([typed])).status, 422, `refused ${typed}`)
      const [{ body: again }, { body: anew }] = [
        await book([typed], '?dry_run=1'),
        await book([typed], '?dry_run=1', 9),
      ]
      t.match(again, { errors: { 'order_data.0': [/same phone/] } }, typed)
      t.match(anew, { warnings: { 'order_data.0.customer_phone': [/parcels to this phone number came back/] } }, typed)
    }
    for (const typed of others) {
      t.strictSame(await list('phone', typed), booked.body.data, typed)
      t.strictSame(await list('search', typed), booked.body.data, `search ${typed}`)
    }
    // More requests would exceed the limit of a minute.
    if (index < 10)
      for (const { number } of [one, other]) {
        const { body } = await get(`/recipient/${encodeURIComponent(number)}`)
        t.match(body.data, { is_known: number === one.number }, number)
      }

    const press = async (id: string, { number }: typeof one) => {
      const happened_at = '2026-02-19T19:06:23.000Z'
      const action = { id, waybill_number: of, recipient: number.slice(1), action: 'cancel_order', happened_at }
      const headers = { authorization: `Bearer ${serviceToken}` }
      const payload = { tenant: 'demo', actions: [action] }
      return (await app.inject({ method: 'POST', url: '/internal/customer-actions', headers, payload })).json().data[0]
    }
    t.match(await press('press 1', other), { outcome: 'refused', detail: /another phone number/ })
    t.match(await press('press 2', one), { outcome: 'done' })
  })
