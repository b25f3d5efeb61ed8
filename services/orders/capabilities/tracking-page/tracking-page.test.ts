import { hash } from 'node:crypto'
import { makeExample } from '@courier/shared/api-docs/examples.ts'
import fc from 'fast-check'
import t from 'tap'
import { createTokenFor } from '../../core/access/token-commands.ts'
import { standardStatuses } from '../../core/statuses/statuses.ts'
import { OrderView } from '../../core/tracking/order-schema.ts'
import { signWaybill } from '../../core/tracking/order-view.ts'
import { build } from '../../test/build.ts'
import { plainCatalogue } from '../../test/plain-catalogue.ts'
import { batch, order, tenantFile } from '../../test/tenant.ts'
import { chooseLanguage } from './languages/choose.ts'
import { findStage, renderPage } from './page.ts'

const file = tenantFile({ name: 'Demo <Couriers>', contact: '011 200 0000', color: '#ffd400' })
const { app, bulk, pool, rows, send } = await build(t, { file, publicRequestsPerMinute: 40 })
const { app: unlimited, ...built } = await build(t, { file })

const openIn = async ({ inject }: Pick<typeof app, 'inject'>, path: string, language = '') => {
  const headers = { 'accept-language': language }
  const response = await inject({ url: path, headers })
  return { status: response.statusCode, headers: response.headers, html: response.body }
}
const open = (path: string, language?: string) => openIn(app, path, language)

t.test('the page shows where a parcel is; its signed link adds the amount and the destination', async t => {
  const named = { customer_name: 'Nimali Perera', customer_phone: '0770000101', customer_address: '12 Temple Road' }
  const [waybill = ''] = (await bulk(batch([order({ ...named, cod: 4500, initial_status_key: 'key_2' })]))).body.data
  const [key] = await rows('select secret from tracking_keys')
  const link = `/t/demo/${waybill}/${hash('sha256', key.secret + waybill, 'base64url').slice(0, 11)}`
  const { status, headers, html } = await open(link)
  t.equal(status, 200)
  t.match(headers, {
    'content-type': 'text/html; charset=utf-8',
    'content-language': 'en',
    'cache-control': 'no-store',
    'x-robots-tag': 'noindex',
    'content-security-policy': /^default-src 'none'; style-src 'sha256-/,
  })
  for (const text of ['<h1>Booked</h1>', 'LKR 4,500', 'Demo &lt;Couriers&gt;', '--company:#ffd400;--on:#000', waybill])
    t.match(html, text)
  for (const text of ['Galle', 'Lanka Shoes Online', '011 200 0000', '<time datetime=']) t.match(html, text)
  for (const guessed of [`/t/demo/${waybill}`, link.slice(0, -1)]) {
    const { html } = await open(guessed)
    t.match(html, '<h1>Booked</h1>')
    t.match(html, 'Lanka Shoes Online')
    for (const text of ['4,500', 'Galle']) t.notMatch(html, text, guessed)
  }
  for (const text of ['Nimali', '0770000101', 'Temple', '<Couriers>', '<script']) t.notMatch(html, text)
  const staff = (await createTokenFor(pool, { tenant: 'demo', staff: 'Ruwan' })).token
  const move = { waybill_numbers: [waybill], status_key: 'key_3' }
  const request = { authorization: `Bearer ${staff}`, 'x-tenant': 'demo' }
  await app.inject({ method: 'POST', url: '/api/staff/order/status', headers: request, payload: move })
  const cancelled = await open(link)
  t.match(cancelled.html, '<h1>Cancelled</h1>')
  t.notMatch(cancelled.html, 'LKR')
})

t.test('merchant and staff read the signed link of one order; it opens the page with the amount', async t => {
  const { bulk, pool, send, app } = await build(t, { file, publicUrl: 'https://track.example' })
  const [waybill = ''] = (await bulk(batch([order({ cod: 4500, initial_status_key: 'key_2' })]))).body.data
  const token = (await createTokenFor(pool, { tenant: 'demo', staff: 'Ruwan' })).token
  const ofMerchant = (await send('GET', `/api/merchant/order/${waybill}`)).body.data.tracking_url
  const ofStaff = (await send('GET', `/api/staff/order/${waybill}`, undefined, { token })).body.data.tracking_url
  t.equal(ofMerchant, ofStaff)
  t.match((await openIn(app, new URL(ofMerchant).pathname)).html, 'LKR 4,500')
})

t.test('the page shows a step that staff took back as still to come', async t => {
  const [waybill = ''] = (await bulk(batch([order({ initial_status_key: 'key_2' })]))).body.data
  const token = (await createTokenFor(pool, { tenant: 'demo', staff: 'Ruwan' })).token
  const move = async (status_key: string) => {
    const { status } = await send(
      'POST',
      '/api/staff/order/status',
      { waybill_numbers: [waybill], status_key },
      { token },
    )
    t.equal(status, 200, status_key)
  }
  for (const key of ['key_9', 'key_10', 'key_11', 'key_12', 'key_13']) await move(key)
  const back = await send('POST', `/api/staff/order/${waybill}/take-back`, { reason: 'Another parcel' }, { token })
  t.equal(back.status, 200)
  const { html } = await open(`/t/demo/${waybill}`)
  const steps = [...html.matchAll(/<li(?: [^>]*)?>([^<]+)/g)].map(([, title]) => title)
  t.strictSame(steps, ['Booked', 'On its way', 'Out for delivery', 'Delivered'])
})

t.test('a link to which a chat glued a sign finds the parcel, with its amount and city', async t => {
  const [waybill = ''] = (await built.bulk(batch([order({ cod: 4500 })]))).body.data
  const [key] = await built.rows('select secret from tracking_keys')
  const code = hash('sha256', key.secret + waybill, 'base64url').slice(0, 11)
  for (const sign of ['.', ')', '*', '/', ',', '!', '?', '*.', '/)', '_', '”', '။', '%E2%80%A6', '>', "'", ']', '-'])
    for (const link of [`/t/demo/${waybill}/${code}${sign}`, `/t/demo/${waybill}${sign}`]) {
      const { status, html } = await openIn(unlimited, link)
      t.equal(status, 200, link)
      t.equal(html.includes('LKR 4,500'), link.includes(code), link)
    }
  for (const other of [`/t/demo/${waybill}/${code}a`, `/t/demo/${waybill}/${code}.a`, `/t/demo/${waybill}/${code}/a`])
    t.notMatch((await openIn(unlimited, other)).html, 'LKR 4,500', other)
  for (const other of [`/t/demo/${waybill}.1`, `/t/demo/${waybill}x`, '/t/demo/.', '/t/demo/)'])
    t.equal((await openIn(unlimited, other)).status, 404, other)
})

t.test('a parcel of which a part was delivered says so, and its amount is no longer due', async t => {
  const [waybill = ''] = (await built.bulk(batch([order({ cod: 4500 })]))).body.data
  await built.rows(`update orders set status_key = 'key_14' where waybill_number = $1`, [waybill])
  await built.rows('delete from order_events where waybill_number = $1', [waybill])
  const { html } = await openIn(unlimited, `/t/demo/${waybill}`)
  t.match(html, '<h1>Partly delivered</h1>')
  t.match(html, /<li class="done" aria-current="step">Partly delivered<\/li><\/ol>/)
  t.match((await openIn(unlimited, `/t/demo/${waybill}?lang=si`)).html, 'කොටසක් භාර දී ඇත')
  t.match(html, '<a href="tel:0112000000">011 200 0000</a>')
})

t.test('the day that was chosen for the next attempt is on the page until it is past', async t => {
  const [waybill = ''] = (await built.bulk(batch([order({ initial_status_key: 'key_2' })]))).body.data
  const token = (await createTokenFor(built.pool, { tenant: 'demo', staff: 'Ruwan' })).token
  const call = async (path: string, body: object) => {
    const { status, body: found } = await built.send('POST', `/api/staff/order/${path}`, body, { token })
    t.equal(status, 200, JSON.stringify(found))
  }
  const keys = ['key_9', 'key_10', 'key_11', 'key_12', 'key_15']
  for (const status_key of keys) await call('status', { waybill_numbers: [waybill], status_key })
  t.notMatch((await openIn(unlimited, `/t/demo/${waybill}`)).html, 'Next attempt')
  const date = new Date(Date.now() + 3 * 86_400_000).toISOString().slice(0, 10)
  await call(`${waybill}/instruction`, { action: 'reattempt', date })
  const day = new Intl.DateTimeFormat('en', { dateStyle: 'full', timeZone: 'UTC' }).format(new Date(date))
  t.match((await openIn(unlimited, `/t/demo/${waybill}`)).html, `Next attempt: <time datetime="${date}">${day}</time>`)
  await built.rows(`update instructions set on_date = current_date - 2 where waybill_number = $1`, [waybill])
  t.notMatch((await openIn(unlimited, `/t/demo/${waybill}`)).html, 'Next attempt')
})

t.test('an archived parcel has the time of its booking, and no time of its last step', async t => {
  const [waybill = ''] = (await bulk(batch())).body.data
  await rows(`update orders set status_key = 'key_13', created_at = '2026-01-02T03:04:05Z' where waybill_number = $1`, [
    waybill,
  ])
  await rows('delete from order_events where waybill_number = $1', [waybill])
  const { html } = await open(`/t/demo/${waybill}`)
  const steps = html.match(/<li.*<\/li>/)?.[0].replace(/<li[^>]*>/g, '<li>')
  t.match(steps, /^<li>Booked<br><time datetime="2026-01-02T03:04:05.000Z">[^<]+<\/time><\/li><li>Delivered<\/li>$/)
})

t.test('uses the language that the browser prefers, or that the reader chose', async t => {
  const [waybill = ''] = (await bulk(batch([order({ cod: 0 })]))).body.data
  t.match((await open(`/t/demo/${waybill}`, 'fr, ta;q=0.5, si;q=0.9')).html, '<html lang="si">')
  t.match((await open(`/t/demo/${waybill}?lang=ta`, 'si')).html, /<html lang="ta">[\s\S]*பதிவு செய்யப்பட்டது/)
  t.match((await open(`/t/demo/${waybill}?lang=constructor&lang=2`)).html, '<html lang="en">')
  const table: [header: string | undefined, language: string][] = [
    [undefined, 'en'],
    ['', 'en'],
    ['ta-LK,ta;q=0.9,en;q=0.8', 'ta'],
    ['en;q=0, si;q=0.1', 'si'],
    ['*', 'en'],
    [',;q=,en-', 'en'],
  ]
  for (const [header, language] of table) t.equal(chooseLanguage(header), language, String(header))
})

t.test('unknown parcels and unknown companies get the same page', async t => {
  const pages = await Promise.all(
    ['/t/demo/DM99999999', '/t/nobody/DM00000001', '/t/%00/x', `/t/demo/${'9'.repeat(60)}`, '/t/demo/%3Cscript%3E'].map(
      path => open(path),
    ),
  )
  for (const { status, html } of pages) t.strictSame([status, html], [404, pages[0]?.html])
})

t.test('refuses clients that read many pages', async t => {
  const statuses = await Promise.all(Array.from({ length: 40 }, async () => (await open('/t/demo/DM99999999')).status))
  t.ok(statuses.includes(429))
})

t.test('each status has a stage, and a parcel in a status of the company’s own is on its way', async t => {
  t.strictSame(
    standardStatuses.map(({ key }) => findStage(key)).join(' '),
    'booked booked cancelled booked booked on_its_way delivered on_its_way on_its_way on_its_way on_its_way out_for_delivery ' +
      'delivered partly_delivered delayed delayed delayed returned returned returned returned',
  )
  t.equal(findStage('customs'), 'on_its_way')
  const own = (books: 'delivery' | 'partial_delivery' | 'return' | 'nothing') =>
    findStage('own', new Map([['own', { key: 'own', name: 'Own', description: '', color: 'info', moves: [], books }]]))
  t.strictSame(
    [own('delivery'), own('partial_delivery'), own('return'), own('nothing')],
    ['delivered', 'partly_delivered', 'returned', 'on_its_way'],
  )
})

t.test('text of a company or a merchant never becomes markup', async t => {
  const makeParcel = (waybill_number: string, company: string, city: string, currency: string) => {
    const destination = { id: 2100, name: city, postalCode: null, state: { id: 2, name: 'Galle' } }
    const names = { merchants: new Map(), businesses: new Map([[1, 'Shop']]), cities: new Map([[2100, destination]]) }
    const catalogue = plainCatalogue({ company, currency, names })
    const ids = { merchant_id: '1', business_id: 1, origin_city_id: 2100, destination_city_id: 2100 }
    const { status: _, ...order } = makeExample(OrderView) as OrderView
    const row = {
      ...order,
      ...ids,
      waybill_number,
      status_key: 'key_12',
      version: '1',
      timeline: [],
      edits: [],
      failed_attempts: 0,
      awaits_instruction: false,
      has_money: false,
      instructions: [],
    }
    return [{ row, catalogue }, signWaybill(catalogue, waybill_number)] as const
  }
  const plain = renderPage('en', ...makeParcel('', '', '', '')).html
  const countTags = (html: string): number => html.match(/</g)?.length ?? 0
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: 'binary' }), { minLength: 4, maxLength: 4 }),
        ([waybill_number = '', company = '', destination = '', currency = '']) => {
          const { html } = renderPage('en', ...makeParcel(waybill_number, `${company}"><b>`, destination, currency))
          return countTags(html) === countTags(plain)
        },
      ),
    ),
  )
})
