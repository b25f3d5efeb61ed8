import { deepStrictEqual } from 'node:assert'
import { writeFileSync } from 'node:fs'
import t from 'tap'
import { connectTo } from '../../../../../dev/test-database.ts'
import { tenantFixture } from '../../../test/orders-fixture.ts'
import { preparePayer } from '../../../test/payer.ts'
import { shortStatuses, tenantFile } from '../../../test/tenant.ts'
import { untilWaiting } from '../../../test/waiting.ts'
import { checkLedger, listFindings } from '../ledger/check-ledger.ts'
import { fillMask } from '../papers/invoice-numbers.ts'

t.test('fills the parts of a day into a mask', async t => {
  t.equal(fillMask('CFX-YY-MM-#####', '2026-02-19'), 'CFX-26-02-#####')
  t.equal(fillMask('YYYYMMDD/#', '2026-02-19'), '20260219/#')
})

t.test('invoices', async t => {
  const fixture = await tenantFixture(t, {
    file: { ...tenantFile({ money: { objection_hours: 0 } }), statuses: shortStatuses },
  })
  const { make, makeOfBooks, move, request, staffOf, staffGet, get, pool, rows: asOwner, app, booksToken } = fixture
  const { tenant } = fixture
  const [clerk, second] = [await staffOf('Chamari'), await staffOf('Ruwan')]
  const post = (path: string, body: object, token = clerk) => request('POST', `/api/staff${path}`, body, { token })
  const { today, shop, books } = await fixture.readFacts()
  const pay = await preparePayer(fixture)
  const confirmed = { initial_status_key: 'key_2', weight: 1 }
  /** Delivers parcels with a COD of 1,000, of which the shop is owed 550. Nimal has the cash. */
  const deliver = async (waybills: string[], fields = {}) => {
    await make(waybills, { ...confirmed, cod: 1000, ...fields })
    t.equal((await move(waybills, 'key_13', { collected_by: 'Nimal' })).status, 200)
  }
  const handOver = async (sum: number) =>
    t.equal((await post('/cash/handover', { collected_by: 'Nimal', declared: sum, counted: sum })).status, 200)
  const makeFor = async (merchant_id: number) => (await post('/invoice', { merchant_id, until: today })).body.data[0]
  const step = (number: string, name: string, body: object = {}, token?: string) =>
    post(`/invoice/${number}/${name}`, body, token)
  const set = (sql: string) => asOwner(`update tenants set ${sql}`)
  t.afterEach(async () => {
    deepStrictEqual(listFindings(await checkLedger(pool, tenant)), [])
  })

  t.test(
    'an invoice takes parcels whose cash was handed over, goes from draft to payment, and is paid once',
    async t => {
      await deliver(['DM92000001', 'DM92000002'])
      t.strictSame(
        await makeFor(shop),
        { merchant_id: shop, kind: 'nothing_payable', total: 0 },
        'the rider has the cash',
      )
      await handOver(2000)
      const made = await makeFor(shop)
      const month = today.slice(2, 7)
      t.strictSame(made, {
        ...{
          merchant_id: shop,
          kind: 'made',
          document: 'invoice',
          id: made.id,
          total: 1100,
          charges_due: 0,
        },
      })
      t.match((await staffGet(`/invoice/${made.id}`)).body.data, { invoice_no: null, invoice_ref_no: null })
      t.match((await post('/invoice', { merchant_id: shop, until: today })).body, {
        message: 'No Money Was Payable Until That Day',
        data: [{ kind: 'nothing_payable' }],
      })
      t.equal((await step(made.id, 'approve')).status, 422, 'a draft must be submitted first')
      t.equal((await get(`/invoice/${made.id}`)).status, 404, 'the merchant sees no draft')
      t.equal((await pay([made.id], 'B1', today)).status, 422)
      const { data: submitted } = (await step(made.id, 'submit')).body
      const { invoice_no: no } = submitted
      t.match(submitted, {
        ...{ state: 'submitted', parcels: 2, total: 1100 },
        ...{ invoice_no: `CFX-${month}-00001`, invoice_ref_no: 'MI-0001' },
      })
      t.match((await get('/invoice')).body, { data: [{ invoice_no: no, state: 'submitted' }], next_cursor: null })
      t.equal((await get('/invoice', { token: booksToken })).body.data.length, 0)
      const noId = Buffer.from('-'.repeat(36)).toString('base64url')
      t.equal((await get(`/invoice?cursor=${noId}`)).status, 422, 'a cursor holds an id')
      t.equal((await get('/invoice/MI-0001', { token: booksToken })).status, 404)
      const own = await request('POST', `/api/public/merchant/invoice/${no}/approve`, {})
      t.match(own.body.data, { state: 'approved', decided_by: `merchant ${shop}` })
      t.match((await step('MI-0001', 'reject', { reason: 'late' })).body.errors, {
        invoice_no: ['The invoice is approved: only one that is submitted can be rejected.'],
      })
      t.equal((await pay([no], 'B1', today)).status, 200)
      const paid = (await staffGet(`/invoice/${no}`)).body.data
      t.match(paid, { state: 'deposited', bank_reference: 'B1', paid_on: today })
      const { data: changes } = (await get('/order/changes')).body
      const { invoice_ref_no } = paid
      t.match(changes.slice(-3, -1), [
        {
          ...{ type: 'money.paid', waybill_number: 'DM92000001', status: { key: 'key_13' }, by: 'staff' },
          details: { invoice_no: no, paid_on: today, bank_reference: 'B1', amount: '550.00', currency: 'LKR' },
        },
        { type: 'money.paid', waybill_number: 'DM92000002' },
      ])
      t.match(changes.at(-1), {
        ...{ type: 'invoice.deposited', waybill_number: null, order_no: null, status: null, by: 'staff', fields: null },
        details: {
          ...{ invoice_no: no, invoice_ref_no, total: '1100.00', currency: 'LKR' },
          ...{ paid_on: today, bank_reference: 'B1' },
        },
      })
      const after = (cursor: string) => get(`/order/changes?limit=1&cursor=${cursor}`)
      t.strictSame(
        (await after(changes.at(-2).id)).body.data,
        changes.slice(-1),
        'the change of the invoice has one position',
      )
      t.strictSame((await after(changes.at(-1).id)).body.data, [])
      t.strictSame(
        await fixture.rows('select from log where not is_relayed and type = $1', ['invoice.deposited']),
        [],
        'nobody gets a message',
      )
      t.equal((await pay([no], 'B2', today)).status, 422)
      t.equal((await step(no, 'cancel', { reason: 'x' })).status, 422)
      const { lines, ...invoice } = (await staffGet(`/invoice/${no}`)).body.data
      t.match(invoice, { merchant_name: 'Lanka Shoes', total: 1100 })
      t.match(lines, [
        { waybill_number: 'DM92000001', collected: 1000, delivery: 450, net: 550 },
        { waybill_number: 'DM92000002' },
      ])
      t.match((await staffGet('/invoice?state=deposited')).body.data, [{ invoice_no: no }])
    },
  )

  t.test('charges above the COD wait for the next invoice', async t => {
    await deliver(['DM92000011'], { cod: 0 })
    t.strictSame(await makeFor(shop), { merchant_id: shop, kind: 'nothing_payable', total: -450 })
    await deliver(['DM92000012'])
    await handOver(1000)
    const made = await makeFor(shop)
    t.match(made, { kind: 'made', total: 100 })
    t.match((await staffGet(`/invoice/${made.id}`)).body.data, { parcels: 2 })
    t.equal((await step(made.id, 'cancel', {})).status, 422, 'a reason is needed')
    t.match((await step(made.id, 'cancel', { reason: 'Wrong day' })).body.data, {
      state: 'cancelled',
      reason: 'Wrong day',
    })
    const again = await makeFor(shop)
    t.match(again, { kind: 'made', total: 100 }, 'the cancelled draft frees its lines')
    t.match(
      (await step(again.id, 'submit')).body.data,
      { invoice_ref_no: 'MI-0002' },
      'a cancelled draft leaves no gap',
    )
    t.match((await step(again.id, 'reject', { reason: 'Weight' })).body.data, { state: 'rejected' })
    t.equal((await step(again.id, 'cancel', { reason: 'Weight' })).status, 200)
    t.match(await makeFor(shop), { kind: 'made', total: 100 })
  })

  t.test('a company may require approval by a second person', async t => {
    await set('four_eyes = true')
    await deliver(['DM92000021'])
    await handOver(1000)
    const { id: no } = await makeFor(shop)
    await step(no, 'submit')
    t.match((await step(no, 'approve')).body.errors, {
      invoice_no: ['Chamari submitted it: a second person must approve it.'],
    })
    t.match((await step(no, 'approve', {}, second)).body.data, { state: 'approved', decided_by: 'Ruwan' })
    await set('four_eyes = false')
  })

  t.test('an invoice waits for days or for the bank if the terms of the merchant say so', async t => {
    await makeOfBooks(['DM92000031'], { ...confirmed, cod: 1000 })
    t.equal((await move(['DM92000031'], 'key_13', { collected_by: 'Nimal' })).status, 200)
    await asOwner(
      `update merchants set payable_when = 'delivered', payable_after_days = 1 where merchant_id = ${books}`,
    )
    t.match(await makeFor(books), { kind: 'nothing_payable', total: 0 })
    await asOwner(`update merchants set payable_when = 'banked', payable_after_days = 0 where merchant_id = ${books}`)
    await handOver(1000)
    t.match(await makeFor(books), { kind: 'nothing_payable' })
    const { office } = (await staffGet('/cash')).body.data
    t.equal((await post('/cash/deposit', { amount: office.amount, bank_reference: 'C1' })).status, 200)
    t.match(await makeFor(books), { kind: 'made' })
  })

  t.test('a merchant that keeps charges apart is paid the COD and pays the charges', async t => {
    await asOwner(`update merchants set charges_apart = true where merchant_id = ${shop}`)
    await deliver(['DM92000041'])
    await handOver(1000)
    const made = await makeFor(shop)
    t.match(made, { total: 1000 })
    await step(made.id, 'submit')
    await step(made.id, 'approve')
    const charges = (bank_reference: string) => step(made.id, 'charges', { bank_reference })
    t.match((await charges('D1')).body.data, { charges_due: 450 })
    t.equal((await charges('D1')).status, 200)
    t.match((await charges('D2')).body.errors, { bank_reference: ['The charges were paid with D1.'] })
    await asOwner(`update merchants set charges_apart = false where merchant_id = ${shop}`)
  })

  t.test('an invoice keeps its terms when the terms of its merchant change', async t => {
    await deliver(['DM92000051', 'DM92000052'])
    await handOver(2000)
    const { id: no, total } = await makeFor(shop)
    t.equal(total, 1100)
    await step(no, 'submit')
    const setApart = (isApart: boolean) =>
      asOwner(`update merchants set charges_apart = ${isApart} where merchant_id = ${shop}`)
    await setApart(true)
    const body = { waybill_numbers: ['DM92000051'], reason: 'Weight' }
    t.equal((await request('POST', `/api/public/merchant/invoice/${no}/dispute`, body)).status, 200)
    t.match((await staffGet(`/invoice/${no}`)).body.data, { total: 550 })
    await setApart(false)
    t.equal((await step(no, 'approve')).status, 200)
  })

  t.test('50 concurrent runs take no parcel twice, and number invoices without gaps', async t => {
    const waybills = Array.from({ length: 60 }, (_, n) => `DM9200${1000 + n}`)
    await deliver(waybills)
    await handOver(60_000)
    const responses = await Promise.all(
      Array.from({ length: 50 }, (_, n) =>
        post('/invoice', n % 2 ? { all: true, until: today } : { merchant_id: shop, until: today }),
      ),
    )
    t.ok(
      responses.every(({ status }) => status === 200 || status === 503),
      String(responses.map(({ status }) => status)),
    )
    const found = await fixture.rows(
      `select total::float8, parcels, (select count(*)::int from money_lines line
        where line.invoice_id = invoices.invoice_id and kind <> 'handed_over') as lines
      from invoices where state = 'draft' and until = '${today}' and parcels > 30`,
    )
    t.strictSame(found, [{ total: 33_000, parcels: 60, lines: 60 }])
    const refs = (
      await fixture.rows(`select substr(invoice_ref_no, 4)::integer as number from invoices
        where invoice_ref_no like 'MI-%' order by 1`)
    ).map(row => row.number)
    t.strictSame(
      refs,
      refs.map((_, n) => n + 1),
    )
  })

  t.test('concurrent requests to invoice one merchant and all make each invoice once, without a deadlock', async t => {
    await asOwner('update merchants set payable_when = null, payable_after_days = null')
    await deliver(['DM92000091'])
    await makeOfBooks(['DM92000092'], { ...confirmed, cod: 1000 })
    t.equal((await move(['DM92000092'], 'key_13', { collected_by: 'Nimal' })).status, 200)
    await handOver(2000)
    const superuser = await connectTo(t, fixture.database.superuserUrl)
    await superuser.query('begin')
    await superuser.query(`select from money_lines where tenant_id = $1 and waybill_number = 'DM92000092' for update`, [
      tenant,
    ])
    const ofAll = post('/invoice', { all: true, until: today })
    await untilWaiting(superuser)
    const ofBooks = post('/invoice', { merchant_id: books, until: today })
    await untilWaiting(superuser, 2)
    await superuser.query('commit')
    const [all, one] = await Promise.all([ofAll, ofBooks])
    t.strictSame([all.status, one.status], [200, 200])
    const made = [...all.body.data, ...one.body.data].filter(({ kind }: { kind: string }) => kind === 'made')
    t.strictSame(made.map(({ merchant_id }: { merchant_id: number }) => merchant_id).sort(), [shop, books].sort())
    for (const { id: no } of made) t.equal((await step(no, 'cancel', { reason: 'A test' })).status, 200)
  })

  t.test('serves the lines as CSV, and refuses malformed queries', async t => {
    const headers = { authorization: `Bearer ${fixture.staffToken}`, 'x-tenant': tenant }
    const csv = await app.inject({ url: '/api/staff/invoice/MI-0001?format=csv', headers })
    t.match(csv.payload, /^\uFEFFwaybill_number,kind,booked_on,collected/, 'begins with the mark that Excel needs')
    t.equal(csv.headers['content-type'], 'text/csv; charset=utf-8')
    const refused = async (body: object, path: string) => t.ok((await post('/invoice', body)).body.errors[path], path)
    await refused({ until: today }, 'merchant_id')
    await refused({ all: true, merchant_id: 1, until: today }, 'merchant_id')
    await refused({ all: true, until: '2026-02-30' }, 'until')
    await refused({ all: true, until: 'soon' }, 'until')
    t.equal((await post('/invoice', { merchant_id: 999_999, until: today })).status, 404)
    t.equal((await step('MI-9999', 'submit')).status, 404)
    for (const odd of ['%00', '%F0%9F%9A%9A', '%20'])
      t.strictSame([(await step(odd, 'submit')).status, (await get(`/invoice/${odd}`)).status], [404, 404], odd)
    const url = '/api/staff/invoice/%00/submit'
    const keyed = await app.inject({
      method: 'POST',
      url,
      headers: { ...headers, 'idempotency-key': 'odd' },
      payload: {},
    })
    t.equal(keyed.statusCode, 404)
    t.equal((await staffGet('/invoice?state=lost')).status, 422)
  })

  t.test('the check finds an invoice that differs from its lines', async t => {
    const [{ invoice_no }] = await asOwner(`update invoices set parcels = parcels + 1
      where invoice_id = (select min(invoice_id::text)::uuid from invoices where state <> 'cancelled')
        returning invoice_no`)
    t.strictSame((await checkLedger(pool, tenant)).wrong_invoices, [invoice_no])
    await asOwner('update invoices set parcels = parcels - 1, total = total + 0.01 where invoice_no = $1', [invoice_no])
    t.strictSame((await checkLedger(pool, tenant)).wrong_invoices, [invoice_no])
    await asOwner('update invoices set total = total - 0.01 where invoice_no = $1', [invoice_no])
  })
})

t.test('the merchant sees no draft, even after it is cancelled', async t => {
  const file = { ...tenantFile({ money: { payable_when: 'delivered' } }), statuses: shortStatuses }
  const { make, move, request, staffOf, staffGet, get, readFacts } = await tenantFixture(t, { file })
  const token = await staffOf('Chamari')
  const { today } = await readFacts()
  const post = async (path: string, body: object) =>
    (await request('POST', `/api/staff/invoice${path}`, body, { token })).body.data
  await make(['DM92070001'], { initial_status_key: 'key_2', cod: 1000, weight: 1 })
  t.equal((await move(['DM92070001'], 'key_13', { collected_by: 'Nimal' })).status, 200)
  const makeOne = async () => (await post('', { all: true, until: today }))[0].id
  const draft = await makeOne()
  t.match(await post(`/${draft}/cancel`, { reason: 'Check the shop first' }), { state: 'cancelled' })
  t.strictSame((await get('/invoice')).body.data, [])
  t.equal((await get(`/invoice/${draft}`)).status, 404)
  t.match((await staffGet('/invoice')).body.data, [{ id: draft, invoice_no: null }], 'staff see it')
  const submitted = await makeOne()
  await post(`/${submitted}/submit`, {})
  await post(`/${submitted}/cancel`, { reason: 'Wrong day' })
  t.match((await get(`/invoice/${submitted}`)).body.data, { state: 'cancelled', reason: 'Wrong day' })
  t.match((await get('/invoice')).body.data, [{ id: submitted, invoice_ref_no: 'MI-0001' }])
})

t.test('an invoice takes both a delivery that was taken back and its reversal, or neither', async t => {
  const money = { payable_when: 'delivered', payable_after_days: 1 } as const
  const { make, move, request, staffOf, get, rows } = await tenantFixture(t, {
    file: { ...tenantFile({ money }), statuses: shortStatuses },
  })
  const token = await staffOf('Chamari')
  const post = (path: string, body: object) => request('POST', `/api/staff${path}`, body, { token })
  const deliver = async (waybill: string, daysAgo: number) => {
    await make([waybill], { initial_status_key: 'key_2', cod: 1000, weight: 1 })
    t.equal((await move([waybill], 'key_13', { collected_by: 'Nimal' })).status, 200)
    await rows('update money_lines set booked_on = booked_on - $2::integer where waybill_number = $1', [
      waybill,
      daysAgo,
    ])
  }
  const takeBack = (waybill: string) => post(`/order/${waybill}/take-back`, { reason: 'The wrong parcel' })
  const day = async (ago: number) =>
    (await rows(`select ((now() at time zone time_zone)::date - $1::integer)::text as day from tenants`, [ago]))[0].day
  const invoice = async (until: string) => (await post('/invoice', { all: true, until })).body.data[0]
  await deliver('DM92080001', 1)
  await deliver('DM92080002', 0)
  await takeBack('DM92080002')
  t.match((await post('/invoice', { all: true, until: await day(-1) })).body.errors.until, [
    /^The day must be .* or before/,
  ])
  t.equal((await get('/balance')).body.data.payable_now, 550)
  t.match(await invoice(await day(0)), { kind: 'made', total: 550 }, 'a delivery and its reversal cancel out')
  await deliver('DM92080003', 2)
  await takeBack('DM92080003')
  t.match(await invoice(await day(1)), { kind: 'nothing_payable', total: 0 }, 'the reversal came after that day')
})

t.test('an invoice of past days leaves out what was disputed or taken back since', async t => {
  const file = { ...tenantFile({ money: { payable_when: 'delivered' } }), statuses: shortStatuses }
  const { make, move, request, staffOf, rows, pool, tenant, readFacts } = await tenantFixture(t, { file })
  const token = await staffOf('Chamari')
  const { today } = await readFacts()
  const [{ yesterday }] = await rows(`select ($1::date - 1)::text as yesterday`, [today])
  const post = async (path: string, body: object) =>
    (await request('POST', `/api/staff${path}`, body, { token })).body.data
  const deliver = async (...waybills: string[]) => {
    await make(waybills, { initial_status_key: 'key_2', cod: 1000, weight: 1 })
    t.equal((await move(waybills, 'key_13', { collected_by: 'Nimal' })).status, 200)
  }
  const endDay = async () => {
    for (const table of ['money_lines', 'ledger_transfers']) await rows(`update ${table} set booked_on = booked_on - 1`)
  }
  const invoice = async (until: string) => (await post('/invoice', { all: true, until }))[0]
  /** Invoices what was delivered up to yesterday, disputes a parcel, and cancels the invoice. */
  const dispute = async (waybill: string) => {
    const { id: no } = await invoice(yesterday)
    await post(`/invoice/${no}/submit`, {})
    const body = { waybill_numbers: [waybill], reason: 'Never delivered' }
    t.equal((await request('POST', `/api/public/merchant/invoice/${no}/dispute`, body)).status, 200)
    await post(`/invoice/${no}/cancel`, { reason: 'Wrong address' })
    return () => post(`/invoice/${no}/dispute/settle`, body)
  }
  t.afterEach(async () => {
    deepStrictEqual(listFindings(await checkLedger(pool, tenant)), [])
  })

  t.test('a parcel in dispute waits until the dispute is settled', async t => {
    await deliver('DM92060001', 'DM92060002')
    await endDay()
    const settle = await dispute('DM92060001')
    t.match(await invoice(yesterday), { kind: 'made', total: 550 })
    t.match(await invoice(today), { kind: 'nothing_payable', total: 0 }, 'the parcel is held')
    await settle()
    t.match(await invoice(today), { kind: 'made', total: 550 })
  })

  t.test('a delivery taken back waits with its dispute for its reversal', async t => {
    await deliver('DM92060011', 'DM92060012')
    await endDay()
    const settle = await dispute('DM92060011')
    await endDay()
    await settle()
    t.match(await post('/order/DM92060011/take-back', { reason: 'The wrong parcel' }), { status_key: 'key_2' })
    t.match(await invoice(yesterday), { kind: 'made', total: 550 })
    t.match(await invoice(today), { kind: 'nothing_payable', total: 0 })
  })
})

t.test('the company file says when and how merchants are paid', async t => {
  const money = {
    payable_when: 'delivered',
    invoice_mask: 'INV/YYYY-###',
    invoice_ref_mask: 'R#',
    cash_ceiling: 500,
  } as const
  const file = { ...tenantFile({ money }), statuses: shortStatuses }
  Object.assign(file.merchants[0] ?? {}, { charges_apart: true })
  const { make, move, request, staffOf, staffGet, rows } = await tenantFixture(t, { file })
  await make(['DM92100001'], { initial_status_key: 'key_2', cod: 1000, weight: 1 })
  t.equal((await move(['DM92100001'], 'key_13', { collected_by: 'Nimal' })).status, 200)
  t.match((await staffGet('/cash')).body.data, { ceiling: 500, people: [{ name: 'Nimal', above_ceiling: true }] })
  const [{ today }] = await rows('select (now() at time zone time_zone)::date::text as today from tenants')
  const token = await staffOf('Chamari')
  const { data } = (await request('POST', '/api/staff/invoice', { all: true, until: today }, { token })).body
  t.match(data, [{ kind: 'made', total: 1000, charges_due: 450 }])
  const { body } = await request('POST', `/api/staff/invoice/${data[0].id}/submit`, {}, { token })
  t.match(body.data, { invoice_no: `INV/${today.slice(0, 4)}-001`, invoice_ref_no: 'R1' })
  t.match((await staffGet(`/invoice/R1`)).body.data, { charges_due: 450 })
})

t.test('an invoice is a PDF with its lines on several pages, in the scripts of the names', async t => {
  const file = { ...tenantFile({ money: { payable_when: 'delivered' } }), statuses: shortStatuses }
  const { make, move, request, staffOf, rows, app, tenant, token, booksToken } = await tenantFixture(t, { file })
  await rows(`update merchants set name = 'නිමාලි පොත් හල தமிழ் கடை' where email = 'shop@example.com'`)
  const waybills = Array.from({ length: 70 }, (_, n) => `DM9209${String(n).padStart(4, '0')}`)
  await make(waybills, { initial_status_key: 'key_2', cod: 1000, weight: 1 })
  await move(waybills, 'key_13', { collected_by: 'Nimal' })
  const clerk = await staffOf('Chamari')
  const [{ today }] = await rows('select (now() at time zone time_zone)::date::text as today from tenants')
  const post = async (path: string, body: object) => (await request('POST', path, body, { token: clerk })).body.data
  const [{ id: no }] = await post('/api/staff/invoice', { all: true, until: today })
  const readPdf = (path: string, as: string) =>
    app.inject({
      url: `${path}/invoice/${no}?format=pdf`,
      headers: { 'x-tenant': tenant, authorization: `Bearer ${as}` },
    })
  const merchant = '/api/public/merchant'
  t.equal((await readPdf(merchant, token)).statusCode, 404, 'the merchant sees no draft')
  const { invoice_no } = await post(`/api/staff/invoice/${no}/submit`, {})
  t.equal((await readPdf(merchant, booksToken)).statusCode, 404, 'another merchant sees no invoice')
  for (const [path, as] of [
    ['/api/staff', clerk],
    [merchant, token],
  ] as const) {
    const { statusCode, headers, rawPayload } = await readPdf(path, as)
    t.equal(statusCode, 200)
    t.match(headers, {
      'content-type': 'application/pdf',
      'content-disposition': `inline; filename="${invoice_no}.pdf"`,
    })
    t.equal(rawPayload.toString('latin1').match(/\/Type \/Page\b/g)?.length, 2, 'the pages have 36 and 34 lines')
    t.match(rawPayload.subarray(-6).toString(), '%%EOF')
    if (process.env.SCREENSHOTS) writeFileSync(`${process.env.SCREENSHOTS}/invoice.pdf`, rawPayload)
  }
})
