import type { Test } from 'tap'
import type { MerchantClient, Query } from './merchant-client.ts'
import { type Row, statusRows, testPages } from './merchant-page.ts'

const prefix = '/api/public/merchant'

/** Opens a link of a page. */
const opener = (base: string, client: MerchantClient) => (link: string) => client.send(link.replace(base, ''))

export const testLists = async (t: Test, base: string, client: MerchantClient): Promise<void> => {
  const [open, address] = [opener(base, client), base + prefix]
  const business = await testPages(t, { open, list: client.businesses, path: `${address}/business` })
  t.match(business, [
    { id: 7290, name: 'Lanka Shoes Online', is_default: true },
    { id: 7291, name: 'Lanka Shoes Outlet', is_default: false },
  ])
  t.equal(business.length, 2, 'of this merchant only')
  t.ok(business.every(row => 'ref_no' in row))

  const states = await testPages(t, { open, list: client.states, path: `${address}/state` })
  t.equal(states.length, 25)
  for (const state of states) {
    t.strictSame(Object.keys(state).sort(), ['id', 'is_active', 'name', 'ref_no'])
    t.match(state, { id: Number, name: String, is_active: true })
  }

  const cities = await testPages(t, { open, list: client.cities, path: `${address}/city` })
  for (const city of cities) {
    t.strictSame(Object.keys(city).sort(), cityFields)
    t.match(city, { id: Number, name: String, state_id: Number, state: { id: Number, name: String }, is_active: true })
    t.equal((city.state as { id: number }).id, city.state_id)
  }
  const kotte = cities.find(({ id }) => id === 1500)
  t.match(kotte, { name: 'Kotte', postal_code: '10100', state_id: 1, state: { id: 1, name: 'Colombo' } })

  await testFilters(t, client, cities)
}
const cityFields = ['id', 'is_active', 'name', 'postal_code', 'ref_no', 'state', 'state_id', 'zone']

const testFilters = async (t: Test, client: MerchantClient, cities: Row[]): Promise<void> => {
  const namesOf = async (query: Query) => {
    const { body } = await client.cities({ noPagination: true, ...query })
    return body.data.map(({ name }: { name: string }) => name)
  }
  const named = cities.map(({ name }) => String(name)).filter(name => name.toLowerCase().includes('col'))
  t.ok(named.length >= 15)
  for (const part of ['col', 'COL', 'cOl']) t.strictSame(await namesOf({ 'filter[name]': part }), named, part)
  t.strictSame(await namesOf({ 'filter%5Bname%5D': 'col' }), named, 'brackets written as clients write them')
  t.strictSame(await namesOf({ 'filter[name]': 'no such city' }), [])
  const ofGampaha = cities.filter(({ state_id }) => state_id === 2).map(({ name }) => name)
  t.strictSame(await namesOf({ 'filter[state_id]': 2 }), ofGampaha)
  t.strictSame(
    await namesOf({ 'filter[state_id]': 1, 'filter[name]': 'MAHARA' }),
    ['Maharagama'],
    'both filters together',
  )
  t.strictSame(
    await namesOf({ 'filter[name]': '', 'filter[state_id]': '', page: '', sort: '-name', 'filter[zone]': 'x', _: 1 }),
    cities.map(({ name }) => name),
    'what is blank is not given, what is unknown is ignored',
  )
  const { body } = await client.cities({ 'filter[name]': 'col', per_page: 5, page: 2 })
  t.match(body.meta, { current_page: 2, from: 6, to: 10, per_page: 5, total: named.length })
}

export const testStatuses = async (t: Test, base: string, client: MerchantClient): Promise<void> => {
  const rows = await testPages(t, {
    open: opener(base, client),
    list: client.statuses,
    path: `${base}${prefix}/order/status-list`,
  })
  t.strictSame(
    rows.map(({ id, description, ...row }) => row),
    statusRows,
    'the statuses, their colours and moves',
  )
  for (const row of rows) t.match(row, { id: Number, description: String })
}
