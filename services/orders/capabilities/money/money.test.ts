import { readFileSync } from 'node:fs'
import t from 'tap'
import { tenantFixture } from '../../test/orders-fixture.ts'
import { tenantFile } from '../../test/tenant.ts'
import { checkLedger, listFindings } from './ledger/check-ledger.ts'
import { netSql } from './ledger/ledger.ts'

/** Creates the tenant file of the worked examples in docs/money.md. */
const withTerms = () => {
  const file = tenantFile({ tax_percent: 18, withholding_percent: 2 })
  Object.assign(file.rate_cards[0] ?? {}, { cod_fee_percent: 1, cod_fee_min: 20, return_fee: 150, each_return_kg: 25 })
  return file
}

/** Allows direct moves to the statuses that book money. */
const ownStatuses = [
  { key: 'key_1', moves: ['key_2'] },
  { key: 'key_2', moves: ['key_3', 'key_13', 'key_14', 'handed', 'key_21'] },
  { key: 'key_3', moves: [] },
  { key: 'key_13', moves: [] },
  { key: 'key_14', moves: [] },
  { key: 'key_21', moves: [] },
  { key: 'handed', name: 'HANDED OUT AT THE COUNTER', moves: [], books: 'delivery' as const },
]

t.test('money', async t => {
  const file = { ...withTerms(), statuses: ownStatuses }
  const fixture = await tenantFixture(t, { file })
  const { make, makeOfBooks, move, get, rows, pool, request, staffToken, booksToken, readFacts, tenant } = fixture
  const readLines = (waybill: string) =>
    rows('select * from money_lines where waybill_number = $1 order by line_no', [waybill])
  const numbers = (line: Record<string, unknown>, ...names: string[]) => names.map(name => Number(line[name]))
  const charges = ['cod', 'delivery', 'cod_fee', 'return_fee', 'tax', 'withholding']
  const checked = async (t: { strictSame: (found: unknown, wanted: unknown) => unknown }) =>
    t.strictSame(listFindings(await checkLedger(pool, tenant)), [])
  const confirmed = { initial_status_key: 'key_2' }

  t.test('a delivery books the COD with its collector, the charge, the fee and both taxes', async t => {
    await make(['DM90000001'], { ...confirmed, cod: 2500, weight: 1 })
    const response = await move(['DM90000001'], 'key_13', { collected_by: 'Nimal' })
    t.equal(response.status, 200, JSON.stringify(response.body))
    const [line, ...others] = await readLines('DM90000001')
    t.strictSame(others, [])
    // Galle: 450. Fee: 1 % of 2,500. Tax: 18 % of 475. Withholding: 2 % of 2,500.
    t.strictSame(numbers(line, ...charges), [2500, 450, 25, 0, 85.5, 50])
    t.match(line, { kind: 'delivered', method: 'cash', cash_account: 'rider:Nimal', staff_name: 'Kamal Perera' })
    t.match(line, { tax_percent: '18.00', withholding_percent: '2.00' })
    const transfers = await rows(
      'select debit, credit, amount::float8 from ledger_transfers where journal_id = $1 order by amount',
      [line.journal_id],
    )
    const merchant = `merchant:${line.merchant_id}`
    t.strictSame(transfers, [
      { debit: merchant, credit: 'withholding', amount: 50 },
      { debit: merchant, credit: 'tax', amount: 85.5 },
      { debit: merchant, credit: 'delivery_revenue', amount: 475 },
      { debit: 'rider:Nimal', credit: merchant, amount: 2500 },
    ])
    await checked(t)
  })

  t.test('one transfer stands for all parcels of a move; a card payment leaves no cash with the rider', async t => {
    const waybills = ['DM90000011', 'DM90000012', 'DM90000013']
    await make(waybills, { ...confirmed, cod: 1000, weight: 1 })
    const collected = { DM90000012: { method: 'card' }, DM90000013: { amount: 900.5, reason: 'Discount of the shop' } }
    t.equal((await move(waybills, 'handed', { collected })).status, 200)
    const [line] = await readLines('DM90000011')
    t.strictSame(
      await rows(
        `select debit, amount::float8 from ledger_transfers where journal_id = $1 and credit like 'merchant:%'
          order by 1`,
        [line.journal_id],
      ),
      [
        { debit: 'clearing', amount: 1000 },
        { debit: 'rider:Kamal Perera', amount: 1900.5 },
      ],
      'the mover is the collector if none is named',
    )
    await checked(t)
  })

  t.test('a parcel without COD books only its charge; the minimum fee applies to a small COD', async t => {
    await make(['DM90000021'], { ...confirmed, cod: 0, weight: 1 })
    await make(['DM90000022'], { ...confirmed, cod: 100, weight: 1 })
    t.equal((await move(['DM90000021', 'DM90000022'], 'key_13')).status, 200)
    const [[prepaid], [small]] = await Promise.all([readLines('DM90000021'), readLines('DM90000022')])
    t.strictSame(numbers(prepaid, ...charges), [0, 450, 0, 0, 81, 0])
    t.strictSame([prepaid.method, prepaid.cash_account], [null, null])
    t.strictSame(numbers(small, ...charges), [100, 450, 20, 0, 84.6, 2])
    await checked(t)
  })

  t.test('a return books the fee by weight; a move that books nothing writes no line', async t => {
    await make(['DM90000031'], { ...confirmed, cod: 700, weight: 2.5 })
    t.strictSame(await readLines('DM90000031'), [])
    t.equal((await move(['DM90000031'], 'key_21')).status, 200)
    const [line] = await readLines('DM90000031')
    t.strictSame(numbers(line, ...charges), [0, 0, 0, 200, 36, 0])
    await checked(t)
  })

  t.test('a stored set with a move that books twice, or too early, gets refusals that say what is booked', async t => {
    const set = (sql: string) => rows(sql)
    await set(`insert into status_moves (tenant_id, from_key, to_key) values ('${tenant}', 'key_14', 'key_13'),
      ('${tenant}', 'key_14', 'key_2'), ('${tenant}', 'key_13', 'key_3'), ('${tenant}', 'key_13', 'key_21')`)
    await set('update tenants set version = version + 1')
    await make(['DM90000041'], { ...confirmed, cod: 300, weight: 1 })
    const paid = { collected: { DM90000041: { amount: 100, reason: 'Took one of three' } } }
    t.equal((await move(['DM90000041'], 'key_14', paid)).status, 200)
    const { today } = await readFacts()
    const refusal = [`DM90000041 is booked as delivered on ${today}, with 100 paid: take that move back first.`]
    for (const [key, body] of [
      ['key_13', { collected: { DM90000041: { amount: 200, reason: 'The rest' } } }],
      ['key_2', {}],
    ] as const) {
      const refused = await move(['DM90000041'], key, body)
      t.strictSame([refused.status, refused.body.errors], [422, { 'waybill_numbers.0': refusal }])
    }
    t.equal((await readLines('DM90000041')).length, 1)
    await rows(`update orders set status_key = 'key_2' where waybill_number = 'DM90000041'`)
    const edited = await request('PATCH', '/api/public/merchant/order/DM90000041', { cod: 5, customer_name: 'Nimali' })
    t.strictSame([edited.status, edited.body.errors], [422, { cod: refusal }], 'the COD of a booked parcel stays')
    const cancelled = await request('POST', '/api/public/merchant/order/cancel', { waybill_numbers: ['DM90000041'] })
    t.strictSame([cancelled.status, cancelled.body.errors], [422, { 'waybill_numbers.0': refusal }])
    const foreign = await request(
      'POST',
      '/api/public/merchant/order/cancel',
      { waybill_numbers: ['DM90000041'] },
      { token: booksToken },
    )
    t.strictSame(foreign.body.errors, {
      'waybill_numbers.0': ['The requested waybill does not exist in the system.'],
    })
    await rows(`update orders set status_key = 'key_14' where waybill_number = 'DM90000041'`)
    await make(['DM90000042'], { ...confirmed, cod: 300, weight: 1 })
    t.equal((await move(['DM90000042'], 'key_13')).status, 200)
    t.equal((await move(['DM90000042'], 'key_21')).status, 200, 'a return after a delivery is a line of its own')
    t.strictSame(
      (await readLines('DM90000042')).map(({ kind }) => kind),
      ['delivered', 'returned'],
    )
    await checked(t)
  })

  t.test('a stored set that books a delivery on key_2 or key_3 refuses confirmations and cancellations', async t => {
    await make(['DM90000043'], { cod: 300, weight: 1 })
    await make(['DM90000044'], { ...confirmed, cod: 300, weight: 1 })
    const setBooks = async (books: string | null) => {
      await rows(`update statuses set books = $1 where status_key in ('key_2', 'key_3')`, [books])
      await rows('update tenants set version = version + 1')
    }
    await setBooks('delivery')
    const post = (name: string, waybill: string) =>
      request('POST', `/api/public/merchant/order/${name}`, { waybill_numbers: [waybill] })
    const responses = [
      await post('confirm', 'DM90000043'),
      await post('cancel', 'DM90000044'),
      await move(['DM90000044'], 'key_3'),
    ]
    for (const { status, body } of responses) {
      t.equal(status, 422)
      t.match(body.errors.status_key, [
        /^key_[23] books a delivery, which it may not: .* corrects its set of statuses\.$/,
      ])
    }
    await make(['DM90000045'], { ...confirmed, cod: 300, weight: 1 })
    await setBooks(null)
    t.equal((await post('confirm', 'DM90000043')).status, 200)
    t.equal((await post('cancel', 'DM90000044')).status, 200)
    await checked(t)
  })

  t.test('refuses amounts without a reason, foreign waybills, and money for a status that books none', async t => {
    await make(['DM90000051', 'DM90000052'], { ...confirmed, cod: 500 })
    const refused = async (key: string, body: Record<string, unknown>, errors: Record<string, string[]>) => {
      const response = await move(['DM90000051', 'DM90000052'], key, body)
      t.equal(response.status, 422)
      t.strictSame(response.body.errors, errors)
    }
    await refused(
      'key_13',
      { collected: { DM90000051: { amount: 400 }, DM90000052: { amount: 1.005, reason: 'x' }, DM9: {} } },
      {
        'collected.DM9': ['DM9 is not among the waybill_numbers.'],
        'collected.DM90000051.reason': ['The amount 400 is not the COD of DM90000051, 500: give a reason.'],
        'collected.DM90000052.amount': ['The amount 1.005 has too many decimals: LKR has 2.'],
      },
    )
    await refused(
      'key_14',
      { collected: { DM90000051: { amount: 500 } } },
      { 'collected.DM90000052.amount': ['State what was collected for DM90000052; its COD is 500.'] },
    )
    await refused(
      'key_3',
      { collected_by: 'Nimal', collected: { DM90000051: {} } },
      {
        collected_by: ['Leave this out: the status books no delivery.'],
        collected: ['Leave this out: the status books no delivery.'],
      },
    )
    t.strictSame(await readLines('DM90000051'), [])
    const partly = { DM90000051: { amount: 200, reason: 'One pair of two' }, DM90000052: { amount: 0, reason: 'None' } }
    t.equal((await move(['DM90000051', 'DM90000052'], 'key_14', { collected: partly })).status, 200)
    t.match(await readLines('DM90000051'), [{ cod: '200', reason: 'One pair of two' }])
  })

  t.test('a repeated move with its key books once; one of two concurrent moves is refused', async t => {
    await make(['DM90000061', 'DM90000062'], { ...confirmed, cod: 500 })
    const headers = { 'idempotency-key': 'money 1' }
    for (let n = 0; n < 2; n++) t.equal((await move(['DM90000061'], 'key_13', {}, { headers })).status, 200)
    t.equal((await readLines('DM90000061')).length, 1)
    const both = await Promise.all([move(['DM90000062'], 'key_13'), move(['DM90000062'], 'handed')])
    t.strictSame(both.map(({ status }) => status).sort(), [200, 422])
    t.equal((await readLines('DM90000062')).length, 1)
    await checked(t)
  })

  t.test('each row of the table in docs/money.md matches the booked amounts', async t => {
    const page = readFileSync(new URL('../../../../docs/money.md', import.meta.url), 'utf8')
    const examples = page.split('\n').filter(line => /^\| \d+ \| [\d.]+ \| (delivered|partly|returned) /.test(line))
    t.equal(examples.length, 6)
    const statusKeys: Record<string, string> = { delivered: 'key_13', partly: 'key_14', returned: 'key_21' }
    for (const [index, example] of examples.entries()) {
      const [, cod, kg, kind = '', paid, ...booked] = example.split('|').map(cell => cell.trim())
      const waybill = `DM9100000${index}`
      await make([waybill], { ...confirmed, cod: Number(cod), weight: Number(kg) })
      const collected =
        kind === 'partly' ? { collected: { [waybill]: { amount: Number(paid), reason: 'Kept one' } } } : {}
      t.equal((await move([waybill], statusKeys[kind], collected)).status, 200)
      const [line] = await rows(`select *, ${netSql} as net from money_lines line where waybill_number = $1`, [waybill])
      t.strictSame(numbers(line, ...charges, 'net'), [paid, ...booked.slice(0, 6)].map(Number), example)
    }
  })

  t.test('a merchant reads the sums of its own parcels', async t => {
    const before = (await get('/balance')).body.data
    await makeOfBooks(['DM90000071'], { ...confirmed, cod: 2500, weight: 1 })
    t.equal((await move(['DM90000071'], 'key_13')).status, 200)
    t.strictSame((await get('/balance')).body.data, before)
    const own = await request('GET', '/api/public/merchant/balance', undefined, { token: booksToken })
    t.strictSame(own.body.data, {
      ...{ currency: 'LKR', with_riders: 2500, at_office: 0, banked: 0, waiting: 0, held: 0, held_for: [] },
      ...{ payable_now: 0, next_payment: null, balance: 1889.5, charges_due: 0 },
    })
    t.equal((await request('GET', '/api/public/merchant/balance', undefined, { token: staffToken })).status, 401)
  })

  t.test('a merchant reads the money of single parcels; parcels of other merchants are missing', async t => {
    await make(['DM90000081', 'DM90000082'], { ...confirmed, cod: 2500, weight: 1 })
    t.equal((await move(['DM90000081'], 'key_13', { collected: { DM90000081: { method: 'qr' } } })).status, 200)
    const numbers = 'DM90000082, DM90000081,DM90000071,DM90000081'
    const { body } = await get(`/order/finance?waybill_numbers=${encodeURIComponent(numbers)}`)
    const none = { collected: 0, delivery: 0, cod_fee: 0, return_fee: 0, tax: 0, withholding: 0, owed: 0 }
    const [{ today }] = await rows(`select (now() at time zone 'Asia/Colombo')::date::text as today`)
    const unseen = { finance_status: 'Pending', invoice_ref_no: null, invoice_no: null, paid_on: null }
    const amounts = { collected: 2500, delivery: 450, cod_fee: 25, return_fee: 0, tax: 85.5, withholding: 50 }
    t.same(body, {
      data: [
        { waybill_number: 'DM90000082', ...none, method: null, booked_on: null, state: 'none', ...unseen },
        {
          waybill_number: 'DM90000081',
          ...amounts,
          method: 'qr',
          owed: 1889.5,
          booked_on: today,
          state: 'clearing',
          ...unseen,
        },
      ],
      missing: ['DM90000071'],
    })
    for (const wrong of ['', ',', Array(501).fill('DM1').join()])
      t.match(await get(`/order/finance?waybill_numbers=${wrong}`), {
        status: 422,
        body: { errors: { waybill_numbers: [/./] } },
      })
    t.equal((await get('/order/finance')).status, 422)
  })

  t.test('the role of the service may neither change nor delete what was booked', async t => {
    for (const text of [
      'update money_lines set cod = 0',
      'delete from money_lines',
      'update ledger_transfers set amount = 1',
      'delete from ledger_transfers',
    ])
      await t.rejects(pool.query(text), { code: '42501' }, text)
  })

  t.test('the check finds a transfer that differs from its lines, a doubled line and a missing one', async t => {
    const [{ journal_id: journal }] = await readLines('DM90000041')
    await rows(`update ledger_transfers set amount = amount + 0.01 where journal_id = $1 and credit = 'tax'`, [journal])
    const copied = (await rows('select * from money_lines where waybill_number = $1', ['DM90000031'])).length
    await rows(
      `insert into money_lines (tenant_id, waybill_number, line_no, journal_id, merchant_id, kind, booked_on)
        select tenant_id, waybill_number, 2, journal_id, merchant_id, kind, booked_on from money_lines
          where waybill_number = $1`,
      ['DM90000031'],
    )
    t.equal(copied, 1)
    t.match(await checkLedger(pool, tenant), { unequal: [journal], doubled: ['DM90000031'] })
    await rows(`update ledger_transfers set amount = amount - 0.01 where journal_id = $1 and credit = 'tax'`, [journal])
    await rows(`delete from money_lines where waybill_number = 'DM90000031' and line_no = 2`)
    await make(['DM90000099'], { ...confirmed, cod: 700 })
    t.equal((await move(['DM90000099'], 'key_13')).status, 200)
    t.strictSame((await checkLedger(pool, tenant)).unbooked, [])
    await rows(`delete from money_lines where waybill_number = 'DM90000099'`)
    t.strictSame((await checkLedger(pool, tenant)).unbooked, ['DM90000099'])
    await t.rejects(checkLedger(pool, 'nobody'), { message: 'there is no tenant nobody' })
  })
})
