import t from 'tap'
import { readCsv, readPages } from '../../test/expect-books.ts'
import { tenantFixture } from '../../test/orders-fixture.ts'
import { shortStatuses, tenantFile } from '../../test/tenant.ts'

t.test('books', async t => {
  const fixture = await tenantFixture(t, { file: { ...tenantFile(), statuses: shortStatuses } })
  const { make, move, get, staffGet, staffOf, createToken, request, rows } = fixture
  const { today, shop, books } = await fixture.readFacts()
  await make(['DM98000001', 'DM98000002'], { initial_status_key: 'key_2', cod: 1000, weight: 1 })
  for (const [waybill, rider] of [['DM98000001', "O'Brien, =Nimal"] as const, ['DM98000002', 'සුනිල්'] as const]) {
    await staffOf(rider)
    await move([waybill], 'key_13', { collected_by: rider })
  }

  t.test('lists accounts with their type and balance, page by page, whatever their names', async t => {
    const accounts = [
      { account: 'delivery_revenue', type: 'income', merchant_name: null, balance: -900 },
      { account: `merchant:${shop}`, type: 'liability', merchant_name: 'Lanka Shoes', balance: -1100 },
      { account: "rider:O'Brien, =Nimal", type: 'asset', merchant_name: null, balance: 1000 },
      { account: 'rider:සුනිල්', type: 'asset', merchant_name: null, balance: 1000 },
    ]
    t.strictSame(await readPages(fixture, '/ledger/accounts', { limit: 1 }), accounts)
    t.match(await readCsv(fixture, '/ledger/accounts?'), [
      'account,type,merchant_name,balance',
      'delivery_revenue,income,,-900',
      `merchant:${shop},liability,Lanka Shoes,-1100`,
      `"rider:O'Brien, =Nimal",asset,,1000`,
      'rider:සුනිල්,asset,,1000',
    ])
  })

  t.test('lists the entries of an account, and none of a day without entries', async t => {
    const path = `/ledger/journal?from=${today}&to=${today}`
    const name = encodeURIComponent('rider:සුනිල්')
    t.match(await readPages(fixture, `${path}&account=${name}`), [
      ...[
        { debit: 'rider:සුනිල්', credit: `merchant:${shop}`, amount: 1000, waybill_number: 'DM98000002', document: null },
      ],
    ])
    t.equal((await readPages(fixture, path, { limit: 1 })).length, 4)
    t.strictSame((await staffGet('/ledger/journal?from=2026-01-01&to=2026-01-02')).body, {
      data: [],
      next_cursor: null,
    })
    t.match((await staffGet('/ledger/trial-balance?day=2026-01-01')).body.data, { debit: 0, credit: 0, accounts: [] })
  })

  t.test('a merchant reads its own account, and nobody else does', async t => {
    const own = await get(`/account?from=${today}&to=${today}`)
    t.match(own.body.data, { opening: 0, closing: 1100, lines: [{ balance: 550 }, { balance: 1100 }] })
    const token = await createToken('books@example.com')
    const others = await get(`/account?from=${today}&to=${today}`, { token })
    t.match(others.body.data, { opening: 0, closing: 0, lines: [] })
    t.match((await staffGet(`/merchant/${books}/account?from=${today}&to=${today}`)).body.data, { closing: 0 })
    t.equal((await staffGet(`/merchant/999/account?from=${today}&to=${today}`)).status, 404)
    t.equal((await request('GET', `/api/staff/ledger/accounts`, undefined, { token })).status, 401)
  })

  t.test('the CSV of an account has its opening and closing balance, and that of a month its sums', async t => {
    const path = `/merchant/${shop}/account?from=${today}&to=${today}`
    t.match(await readCsv(fixture, path), [
      'booked_on,kind,waybill_number,document,collected,charges,tax,withholding,other,paid,amount,balance',
      `${today},opening,,,,,,,,,,0`,
      `${today},delivered,DM98000001,,1000,450,0,0,0,0,550,550`,
      `${today},delivered,DM98000002,,1000,450,0,0,0,0,550,1100`,
      `${today},closing,,,,,,,,,,1100`,
    ])
    t.strictSame((await readCsv(fixture, path.replaceAll(today, '2026-01-01'))).slice(1), [
      ...['2026-01-01,opening,,,,,,,,,,0', '2026-01-01,closing,,,,,,,,,,0'],
    ])
    const [, ...month] = await readCsv(fixture, `/ledger/month?month=${today.slice(0, 7)}`)
    const sums = '0,2000,900,0,0,0,0,0,0,0,0,0,1100'
    t.strictSame(month, [`${shop},Lanka Shoes,${sums}`, `,total,${sums}`])
  })

  t.test('refuses impossible days, ranges and cursors', async t => {
    const month = today.slice(0, 7)
    const months = [`documents?month=${month}`, `withholding?month=${month}`, `?month=${month}`].map(
      path => `month/${path}`,
    )
    for (const path of ['accounts?', `trial-balance?day=${today}`, ...months])
      for (const position of ['%', '%FF', '%00', '%2', '%ff', '\u0000']) {
        const cursor = Buffer.from(position).toString('base64url')
        const { status, body } = await staffGet(`/ledger/${path}&cursor=${cursor}`.replace('/?', '?'))
        t.match([status, body.errors], [422, { cursor: [/next_cursor of a page/] }], `${path} ${position}`)
      }
    const paths = {
      '/ledger/trial-balance?day=2026-02-30': { day: ['There is no day 2026-02-30.'] },
      '/ledger/trial-balance': { day: ['The day field is required.'] },
      '/ledger/journal?from=2026-02-02&to=2026-02-01': { to: ['Give a day from 2026-02-02 on.'] },
      '/ledger/journal?from=2026-02-02&to=2026-02-03&cursor=x': {
        cursor: ['The cursor field must be the next_cursor of a page.'],
      },
      '/ledger/month?month=2026-13': { month: ['The month field must be a month such as 2026-02.'] },
      '/merchant/1/account?from=2026-02-02&to=2026-02-01': { to: ['Give a day from 2026-02-02 on.'] },
    }
    for (const [path, errors] of Object.entries(paths))
      t.match(await staffGet(path), { status: 422, body: { errors } }, path)
  })

  t.test('refuses days and months that are still to come, and names the newest', async t => {
    const [{ next, following }] = await rows(
      `select ($1::date + 1)::text as next,
      to_char($1::date + interval '1 month', 'YYYY-MM') as following`,
      [today],
    )
    const newest = `Give ${today} or earlier: nothing later is booked yet.`
    const paths = {
      [`/ledger/trial-balance?day=${next}`]: { day: [newest] },
      [`/ledger/journal?from=${today}&to=${next}`]: { to: [newest] },
      [`/ledger?account=bank&from=${today}&to=${next}`]: { to: [newest] },
      [`/merchant/${shop}/account?from=${today}&to=${next}`]: { to: [newest] },
      [`/ledger/month?month=${following}`]: {
        month: [`Give ${today.slice(0, 7)} or earlier: nothing later is booked yet.`],
      },
    }
    for (const [path, errors] of Object.entries(paths))
      t.match(await staffGet(path), { status: 422, body: { errors } }, path)
    t.equal((await staffGet(`/ledger/month?month=${today.slice(0, 7)}`)).status, 200, 'a month that has begun')
  })
})
