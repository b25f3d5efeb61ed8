import { randomBytes } from 'node:crypto'
import { readKeys } from '@courier/shared/vault.ts'
import t from 'tap'
import { ordersFixture } from '../../test/orders-fixture.ts'
import { shortStatuses, tenantFile } from '../../test/tenant.ts'
import { checkLedger, listFindings } from './check-ledger.ts'
import { rotateAccounts } from './rotate-accounts.ts'

const newKey = (id: string) => `${id}:${randomBytes(32).toString('base64')}`

t.test('the pay run', async t => {
  const old = newKey('old')
  const keyring = readKeys('WEBHOOK_KEYS', old)
  const fixture = await ordersFixture(t, {
    file: { ...tenantFile({ money: { objection_hours: 0 } }), statuses: shortStatuses },
    keyring,
  })
  const { make, makeOfBooks, move, request, staffOf, staffGet, rows, pool, app, staffToken } = fixture
  const [clerk, second] = [await staffOf('Chamari'), await staffOf('Ruwan')]
  const post = (path: string, body: object, token = clerk) => request('POST', `/api/staff${path}`, body, { token })
  const { today, shop, books } = await fixture.readFacts()
  const confirmed = { initial_status_key: 'key_2', cod: 1000, weight: 1 }
  await make(['DM95000001'], confirmed)
  await makeOfBooks(['DM95000002'], confirmed)
  t.equal((await move(['DM95000001', 'DM95000002'], 'key_13', { collected_by: 'Nimal' })).status, 200)
  await post('/cash/handover', { collected_by: 'Nimal', declared: 2000, counted: 2000 })
  const { data: made } = (await post('/invoice', { all: true, until: today })).body
  const numbers: string[] = made.map(({ invoice_no }: { invoice_no: string }) => invoice_no)
  for (const no of numbers) {
    await post(`/invoice/${no}/submit`, {})
    await post(`/invoice/${no}/approve`, {}, second)
  }
  const account = { bank: 'Bank of Ceylon', holder: '=Lanka, "Shoes"', number: '007 123-4567' }
  const change = (merchant: number, body: object = account) => post(`/merchant/${merchant}/bank-account`, body)
  const confirm = (merchant: number, token?: string, last_four = '4567') =>
    post(`/merchant/${merchant}/bank-account/confirm`, { last_four }, token)
  const run = async () => (await staffGet('/payout')).body.data
  const why = async (no: string | undefined) =>
    (await run()).left_out.find((left: { invoice_no: string }) => left.invoice_no === no)?.why

  t.test('pays to an account that a second person confirmed, 48 hours after its change', async t => {
    t.strictSame((await staffGet(`/merchant/${shop}/bank-account`)).body, { data: null })
    t.equal(await why(numbers[0]), 'The merchant has no bank account.')
    t.match((await change(shop)).body.data, {
      version: 1,
      last_four: '4567',
      changed_by: 'Chamari',
      confirmed_by: null,
    })
    t.equal(await why(numbers[0]), 'A second person must confirm the bank account.')
    t.match((await confirm(shop)).body.errors, { last_four: ['Chamari changed it: a second person must confirm it.'] })
    t.match((await confirm(shop, second, '9999')).body.errors, {
      last_four: ['The newest account ends in 4567: check that one.'],
    })
    t.match((await confirm(shop, second)).body.data, { confirmed_by: 'Ruwan' })
    t.equal(await why(numbers[0]), 'The bank account changed in the last 48 hours.')
    await rows(`update bank_accounts set changed_at = changed_at - interval '48 hours'`)
    t.match((await run()).payouts, [
      { invoice_no: numbers[0], amount: 550, currency: 'LKR', ...account, reference: 'MI-0001' },
    ])
    t.strictSame(await rows(`select object_id from audit where action = 'payout.read'`), [{ object_id: numbers[0] }])
    t.notOk(JSON.stringify((await staffGet(`/merchant/${shop}/bank-account`)).body).includes('1234567'))
  })

  t.test('the pay run of a day has the invoices approved by its end', async t => {
    const readRun = async (date: string) => {
      const { payouts, left_out } = (await staffGet(`/payout?date=${date}`)).body.data
      return [...payouts, ...left_out].map(({ invoice_no }: { invoice_no: string }) => invoice_no).toSorted()
    }
    const midnight = (await rows(`select ('2026-03-02'::timestamp at time zone time_zone) as at from tenants`))[0].at
    await rows(`update invoices set decided_at = $2 where invoice_no = $1`, [numbers[0], midnight])
    await rows(`update invoices set decided_at = $2::timestamptz - interval '1 ms' where invoice_no = $1`, [
      numbers[1],
      midnight,
    ])
    t.strictSame(await readRun('2026-02-28'), [])
    t.strictSame(await readRun('2026-03-01'), [numbers[1]])
    t.strictSame(await readRun('2026-03-02'), numbers.toSorted())
    t.strictSame(await readRun(today), numbers.toSorted())
    for (const [date, error] of Object.entries({
      '2026-02-30': 'There is no day 2026-02-30.',
      tomorrow: 'The date field must be a day such as 2026-02-19.',
    })) {
      const { status, body } = await staffGet(`/payout?date=${date}`)
      t.strictSame([status, body.errors], [422, { date: [error] }])
    }
  })

  t.test('a change of account stops payouts, even to the previous account', async t => {
    t.match((await change(shop, { ...account, number: '0079999999' })).body.data, { version: 2, last_four: '9999' })
    t.equal(await why(numbers[0]), 'A second person must confirm the bank account.')
    await rows('delete from bank_accounts where version = 2')
    for (const number of ['x', '----', '12 - 3'])
      t.equal((await change(shop, { ...account, number })).status, 422, number)
    t.equal((await change(999_999)).status, 404)
  })

  t.test('serves the list for the bank as CSV in which no spreadsheet finds a formula', async t => {
    const headers = { authorization: `Bearer ${staffToken}`, 'x-tenant': 'demo' }
    const { payload } = await app.inject({ url: '/api/staff/payout?format=csv', headers })
    const [head, row] = payload.split('\r\n')
    t.equal(head, 'invoice_no,merchant_name,amount,currency,bank,branch,holder,number,reference')
    t.equal(row, `${numbers[0]},Lanka Shoes,550,LKR,Bank of Ceylon,,"'=Lanka, ""Shoes""",007 123-4567,MI-0001`)
  })

  t.test('accounts are sealed, and sealed again with a new key', async t => {
    const keyring = readKeys('WEBHOOK_KEYS', `${newKey('new')},${old}`)
    const strange = await rotateAccounts(pool, readKeys('WEBHOOK_KEYS', newKey('strange')))
    t.match(strange, {
      count: 0,
      unopened: [{ tenant: 'demo', merchant_id: String(shop), reason: /has no key old/ }],
    })
    t.match(await rotateAccounts(pool, keyring), { count: 1, unopened: [] })
    const [row] = await rows('select key_id, sealed from bank_accounts')
    t.equal(row.key_id, 'new')
    t.notOk(row.sealed.includes('4567'))
    t.equal(await why(numbers[0]), 'The bank account was sealed with a key that is not in WEBHOOK_KEYS.')
    await rows(`update bank_accounts set key_id = 'old', sealed = 'altered and of some length'`)
    t.match(await rotateAccounts(pool, keyring), { count: 0, unopened: [{ reason: /was altered/ }] })
  })

  t.test('marks all the invoices that the bank paid or none, and only once', async t => {
    const body = { invoice_nos: [...numbers, 'MI-9999'], bank_reference: 'BOC 1', paid_on: today }
    t.match((await post('/payout', body)).body.errors, { 'invoice_nos.2': ['There is no invoice MI-9999.'] })
    const early = await post('/payout', { ...body, invoice_nos: numbers, paid_on: '2099-01-01' })
    t.match([early.status, early.body.errors], [422, { paid_on: [/^The day must be .* or before/] }])
    const twice = { ...body, invoice_nos: [numbers[0], ...body.invoice_nos] }
    t.match((await post('/payout', twice)).body.errors, { 'invoice_nos.3': ['There is no invoice MI-9999.'] })
    const impossible = { ...body, invoice_nos: ['\u0000'] }
    t.match((await post('/payout', impossible)).body.errors, { 'invoice_nos.0': [/^There is no invoice/] })
    t.strictSame((await staffGet('/invoice?state=deposited')).body.data, [])
    const paid = { ...body, invoice_nos: numbers }
    const responses = await Promise.all([post('/payout', paid), post('/payout', paid)])
    t.strictSame(
      responses.map(({ status }) => status),
      [200, 200],
    )
    t.match((await post('/payout', { ...paid, bank_reference: 'BOC 2' })).body.errors, {
      'invoice_nos.0': [`The invoice ${numbers[0]} is deposited: only an approved one is paid.`],
    })
    t.match(await staffGet(`/merchant/${books}/balance`), { body: { data: { balance: 0 } } })
    t.strictSame(listFindings(await checkLedger(pool, 'demo')), [])
  })
})
