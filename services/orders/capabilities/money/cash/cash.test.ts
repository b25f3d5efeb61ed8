import { deepStrictEqual } from 'node:assert'
import t from 'tap'
import { tenantFixture } from '../../../test/orders-fixture.ts'
import { shortStatuses, tenantFile } from '../../../test/tenant.ts'
import { untilWaiting } from '../../../test/waiting.ts'
import { checkLedger, listFindings } from '../ledger/check-ledger.ts'

t.test('cash', async t => {
  const { make, move, request, staffOf, staffGet, pool, tenant, rows } = await tenantFixture(t, {
    file: { ...tenantFile(), statuses: shortStatuses },
  })
  const [cashier, manager] = [await staffOf('Chamari'), await staffOf('Ruwan')]
  const post = (path: string, body: object, token = cashier, headers = {}) =>
    request('POST', `/api/staff/cash/${path}`, body, { token, headers })
  const deliver = async (waybills: string[], collected_by: string, collected = {}) => {
    await make(waybills, { initial_status_key: 'key_2', cod: 1000, weight: 1 })
    t.equal((await move(waybills, 'key_13', { collected_by, collected })).status, 200)
  }
  const readCash = async () => (await staffGet('/cash')).body.data
  const findPerson = async (name: string) =>
    (await readCash()).people.find((person: { name: string }) => person.name === name)
  t.afterEach(async () => {
    deepStrictEqual(listFindings(await checkLedger(pool, tenant)), [])
  })

  t.test('whoever has cash is a member of staff, by id or name, whatever the case and blanks', async t => {
    await rows(`insert into staff (tenant_id, email, name, role, password_hash)
      values ('${tenant}', 'p@x', 'Nimal Perera', 'viewer', 'x'), ('${tenant}', 'q@x', 'nimal perera', 'viewer', 'x'),
        ('${tenant}', 'r@x', 'Saman  Fernando', 'viewer', 'x'), ('${tenant}', 's@x', 'Gone', 'viewer', 'x')`)
    await rows(`update staff set is_active = false where name = 'Gone'`)
    const staff = await rows(`select staff_id::text as id, name from staff where name like 'Saman%'`)
    t.match((await staffGet('/cash/person')).body.data, [
      ...[
        { id: null, name: 'Amal' },
        { id: null, name: 'Chamari' },
      ],
    ])
    await make(['DM91000101', 'DM91000102', 'DM91000103'], { initial_status_key: 'key_2', cod: 1000, weight: 1 })
    const refused = async (collected_by: string, sentence: string | RegExp) => {
      const { status, body } = await move(['DM91000101'], 'key_13', { collected_by })
      t.match([status, body.errors], [422, { collected_by: [sentence] }])
      const cash = await post('handover', { collected_by, declared: 0, counted: 0 })
      t.match([cash.status, cash.body.errors], [422, { collected_by: [sentence] }])
    }
    await refused(
      'Nimall',
      'No member of staff has the name or id Nimall. Did you mean Nimal or Nimal Perera or nimal perera?',
    )
    await refused('Zoltan', 'No member of staff has the name or id Zoltan.')
    await refused(
      'NIMAL  PERERA',
      'Several members of staff have the name or id NIMAL  PERERA. Did you mean Nimal Perera or nimal perera?',
    )
    const names = [' saman fernando ', 'Saman  Fernando', staff[0].id]
    for (const [index, collected_by] of names.entries())
      t.equal((await move([`DM9100010${index + 1}`], 'key_13', { collected_by })).status, 200, collected_by)
    t.match(await findPerson('Saman  Fernando'), { parcels: 3, amount: 3000 })
    const done = await post('handover', { collected_by: 'SAMAN FERNANDO', declared: 3000, counted: 3000 })
    t.match(done.body.data, { state: 'cleared', collected_by: 'Saman  Fernando' })
    t.equal((await post('deposit', { amount: 3000, bank_reference: 'BOC 0' })).status, 200)
  })

  t.test('a person who left while they held cash hands it over, by id or name, and is suggested', async t => {
    await rows(`insert into staff (tenant_id, email, name, role, password_hash)
      values ('${tenant}', 'd@x', 'Dilani Silva', 'viewer', 'x')`)
    const staff = await rows(
      `update staff set is_active = true where name = 'Dilani Silva' returning staff_id::text as id`,
    )
    await deliver(['DM91000105', 'DM91000106'], 'Dilani Silva')
    await deliver(['DM91000107'], 'Nimal')
    await rows(`update staff set is_active = false where name = 'Dilani Silva'`)
    const errors = async (path: string, body: object) => (await post(path, body)).body.errors
    const unknown = { collected_by: 'Dilani Silve', declared: 0, counted: 0 }
    t.match(await errors('handover', unknown), { collected_by: [/Did you mean Dilani Silva\?$/] })
    t.match(await errors('transfer', { from: 'Dilani', to: 'Nimal' }), { from: [/Did you mean Dilani Silva\?$/] })
    t.match(await errors('transfer', { from: 'Nimal', to: 'Dilani Silva' }), { to: [/^No member of staff/] })
    t.match((await move(['DM91000107'], 'key_13', { collected_by: 'Gone' })).body.errors, {
      collected_by: [/^No member of staff has the name or id Gone\./],
    })
    const one = { from: staff[0].id, to: 'Nimal', waybill_numbers: ['DM91000105'] }
    t.match((await post('transfer', one)).body.data, { from: 'Dilani Silva', amount: 1000 })
    const rest = { collected_by: ' dilani  silva', declared: 1000, counted: 1000 }
    t.match((await post('handover', rest)).body.data, { state: 'cleared', collected_by: 'Dilani Silva' })
    t.match(await errors('handover', { collected_by: 'Gone', declared: 0, counted: 0 }), {
      collected_by: ['Gone holds no cash.'],
    })

    const token = await staffOf('Lasith')
    await post('transfer', { from: 'Nimal', to: 'Lasith' })
    await rows(`update tokens set revoked_at = now() where staff_name = 'Lasith'`)
    t.equal((await request('GET', '/api/staff/cash', undefined, { token })).status, 401)
    t.match(await findPerson('Lasith'), { amount: 2000 })
    const last = await post('handover', { collected_by: 'lasith', declared: 2000, counted: 2000 })
    t.match(last.body.data, { state: 'cleared', collected_by: 'Lasith' })
    t.equal((await post('deposit', { amount: 3000, bank_reference: 'BOC L' })).status, 200)
  })

  t.test('with four eyes nobody takes, settles or passes on their own cash', async t => {
    await rows('update tenants set four_eyes = true')
    t.teardown(() => rows('update tenants set four_eyes = false'))
    await deliver(['DM91000115'], 'Ruwan')
    const all = { collected_by: 'Ruwan', declared: 1000, counted: 1000 }
    t.match((await post('handover', all, manager)).body.errors, {
      collected_by: ['Ruwan has the cash: somebody else must take it (four_eyes of the company).'],
    })
    t.match((await post('transfer', { from: 'Ruwan', to: 'Nimal' }, manager)).body.errors, {
      from: ['Ruwan has the cash: somebody else must book who takes it (four_eyes of the company).'],
    })
    const { data } = (await post('handover', { ...all, counted: 900 })).body
    const settle = (token: string) =>
      post(`handover/${data.handover_id}/settle`, { settle_as: 'owed', reason: 'x' }, token)
    t.match((await settle(manager)).body.errors, { settle_as: [/^Ruwan had the cash: somebody else must settle this/] })
    t.equal((await settle(await staffOf('Owner'))).status, 200)
    t.equal((await post('handover', { ...all, declared: 100, counted: 100 })).status, 200)
    t.equal((await post('deposit', { amount: 1000, bank_reference: 'BOC R' })).status, 200)
  })

  t.test('an account from before names were checked keeps its history, and hands over', async t => {
    await deliver(['DM91000111'], 'Sunil')
    await rows(`update money_lines set cash_account = 'rider:sunil' where waybill_number = 'DM91000111'`)
    await rows(`update ledger_transfers set debit = 'rider:sunil' where debit = 'rider:Sunil' and amount = 1000`)
    t.match(await findPerson('sunil'), { amount: 1000 })
    const done = await post('handover', { collected_by: 'sunil', declared: 1000, counted: 1000 })
    t.match(done.body.data, { state: 'cleared', collected_by: 'sunil' })
    t.equal((await post('deposit', { amount: 1000, bank_reference: 'BOC 00' })).status, 200)
  })

  t.test('cash goes from one person to another, who hands it over; a taken-back delivery is free of both', async t => {
    const waybills = ['DM91000121', 'DM91000122', 'DM91000123']
    await deliver(waybills, 'Nimal')
    const errors = async (body: object) => (await post('transfer', body)).body.errors
    t.match(await errors({ from: 'Nimal', to: 'nimal' }), { to: ['Nimal has the cash already: name somebody else.'] })
    t.match(await errors({ from: 'Nimal', to: 'Nobody' }), { to: [/^No member of staff/] })
    t.match(await errors({ from: 'Nimall', to: 'Sunil' }), { from: [/Did you mean Nimal/] })
    t.match(await errors({ from: 'Kasun', to: 'Sunil' }), { from: ['Kasun holds no cash.'] })
    t.match(await errors({ from: 'Nimal', to: 'Sunil', waybill_numbers: ['DM91000121', 'DM1'] }), {
      'waybill_numbers.1': [/^Nimal holds no cash for DM1/],
    })
    const two = { from: 'Nimal', to: 'Sunil', waybill_numbers: waybills.slice(0, 2), reason: 'End of the tour' }
    t.match((await post('transfer', two)).body.data, { from: 'Nimal', to: 'Sunil', amount: 2000 })
    t.match(await findPerson('Nimal'), { parcels: 1, amount: 1000, debt: 0 })
    t.match(await findPerson('Sunil'), { parcels: 2, amount: 2000, debt: 0 })
    const back = await request('POST', '/api/staff/order/DM91000121/take-back', { reason: 'x' }, { token: cashier })
    t.equal(back.status, 200, JSON.stringify(back.body))
    t.match(await findPerson('Sunil'), { parcels: 1, amount: 1000, debt: 0 })
    t.equal((await move(['DM91000121'], 'key_13', { collected_by: 'Kasun' })).status, 200)
    t.equal((await post('transfer', { from: 'Kasun', to: 'Sunil' })).status, 200)
    t.equal((await post('transfer', { from: 'Sunil', to: 'Nimal', waybill_numbers: ['DM91000122'] })).status, 200)
    const racing = await Promise.all([
      post('transfer', { from: 'Nimal', to: 'Amal' }),
      post('transfer', { from: 'Nimal', to: 'Ravi' }),
      post('handover', { collected_by: 'Nimal', declared: 2000, counted: 2000 }),
    ])
    t.equal(racing.filter(({ status }) => status === 200).length, 1, 'one of three gets the cash')
    for (const name of ['Sunil', 'Nimal', 'Amal', 'Ravi']) {
      const { amount = 0 } = (await findPerson(name)) ?? {}
      if (amount) await post('handover', { collected_by: name, declared: amount, counted: amount })
      t.equal(await findPerson(name), undefined, name)
    }
    t.equal((await post('deposit', { amount: 3000, bank_reference: 'BOC 000' })).status, 200)
    t.match(await readCash(), { office: { parcels: 0, amount: 0 }, people: [] })
  })

  t.test('a person hands over all that they hold, and it goes to the bank', async t => {
    await deliver(['DM91000001', 'DM91000002'], 'Nimal')
    t.match(await findPerson('Nimal'), { parcels: 2, amount: 2000, debt: 0, above_ceiling: false, since: /Z$/ })
    const done = await post('handover', { collected_by: 'Nimal', declared: 2000, counted: 2000 })
    t.equal(done.status, 200, JSON.stringify(done.body))
    t.match(done.body.data, { state: 'cleared', expected: 2000, taken_by: 'Chamari', settled_by: null })
    t.equal(await findPerson('Nimal'), undefined)
    t.match((await readCash()).office, { parcels: 2, amount: 2000 })
    const wrong = await post('deposit', { amount: 1999.99, bank_reference: 'BOC 1' })
    t.strictSame(wrong.body.errors, {
      amount: [
        'The amount 1999.99 is not the 2000 on hand. Name the waybill_numbers of a part. If the bank counted 1999.99, send a difference of 0.01 with the account cash_differences.',
      ],
    })
    const banked = await post('deposit', { amount: 2000, bank_reference: 'BOC 1' })
    t.match(banked.body.data, { amount: 2000, parcels: 2, bank_reference: 'BOC 1' })
    t.strictSame(
      (await post('deposit', { amount: 2000, bank_reference: 'BOC 1' })).body,
      banked.body,
      'a reference is deposited once',
    )
    t.equal((await post('deposit', { amount: 1, bank_reference: 'BOC 1' })).status, 422)
    t.match(await readCash(), { office: { parcels: 0, amount: 0, since: null }, people: [] })
    t.equal(
      (await post('handover', { collected_by: 'Nimal', declared: 0, counted: 0 })).body.errors.collected_by[0],
      'Nimal holds no cash.',
    )
  })

  t.test(
    'a handover that is short clears nothing until a second person decides; the next handover includes the debt',
    async t => {
      await deliver(['DM91000011', 'DM91000012'], 'Sunil')
      const { data } = (await post('handover', { collected_by: 'Sunil', declared: 2000, counted: 1800 })).body
      t.match(data, { state: 'open', expected: 2000 })
      t.match(await findPerson('Sunil'), { amount: 2000 })
      const again = await post('handover', { collected_by: 'Sunil', declared: 2000, counted: 2000 })
      t.match(again.body.errors, {
        collected_by: [`Settle handover ${data.handover_id} of Sunil first: its sums differ.`],
      })
      const settle = (body: object, token?: string) => post(`handover/${data.handover_id}/settle`, body, token)
      t.equal(
        (await settle({ settle_as: 'owed', reason: 'Friday' })).status,
        422,
        'whoever took the cash may not settle',
      )
      t.match((await settle({ settle_as: 'owed', reason: 'Friday' }, manager)).body.data, {
        state: 'owed',
        settled_by: 'Ruwan',
      })
      t.equal(
        (await settle({ settle_as: 'owed', reason: 'Friday' }, manager)).status,
        422,
        'a handover is settled once',
      )
      t.match(await findPerson('Sunil'), { parcels: 0, amount: 0, debt: 200 })
      t.match((await readCash()).office, { parcels: 2, amount: 1800 })
      const paid = await post('handover', { collected_by: 'Sunil', declared: 200, counted: 200 })
      t.match(paid.body.data, { state: 'cleared', expected: 200, debt: 200, waybill_numbers: [] })
      t.equal(await findPerson('Sunil'), undefined)
      t.equal((await post('deposit', { amount: 2000, bank_reference: 'BOC 2' })).status, 200)
      t.match((await readCash()).office, { parcels: 0, amount: 0 })
    },
  )

  t.test('surplus cash can be written off', async t => {
    await deliver(['DM91000021'], 'Kasun')
    const { data } = (await post('handover', { collected_by: 'Kasun', declared: 1050, counted: 1050 })).body
    t.equal(
      (await post(`handover/${data.handover_id}/settle`, { settle_as: 'written_off', reason: 'A tip' }, manager))
        .status,
      200,
    )
    t.equal(await findPerson('Kasun'), undefined)
    t.equal((await post('deposit', { amount: 1050, bank_reference: 'BOC 3' })).status, 200)
    const found = await rows(
      `select debit, credit, amount::float8 from ledger_transfers where 'differences' in (debit, credit)`,
    )
    t.strictSame(found, [{ debit: 'office', credit: 'differences', amount: 50 }])
  })

  t.test('one of 20 concurrent handovers of a person clears; a handover of a part names its waybills', async t => {
    await deliver(['DM91000031', 'DM91000032', 'DM91000033'], 'Amal')
    const part = { collected_by: 'Amal', declared: 1000, counted: 1000, waybill_numbers: ['DM91000031'] }
    t.match((await post('handover', part)).body.data, { state: 'cleared', expected: 1000, debt: 0 })
    t.match((await post('handover', part)).body.errors, {
      'waybill_numbers.0': ['Amal holds no cash for DM91000031: leave it out, or name the person who holds it.'],
    })
    const all = { collected_by: 'Amal', declared: 2000, counted: 2000 }
    const responses = await Promise.all(Array.from({ length: 20 }, () => post('handover', all)))
    t.strictSame(responses.map(({ status }) => status).sort(), [200, ...Array(19).fill(422)])
    const key = { 'idempotency-key': 'deposit-4' }
    const body = { amount: 3000, bank_reference: 'BOC 4' }
    const twice = await Promise.all([post('deposit', body, cashier, key), post('deposit', body, cashier, key)])
    t.ok(twice.every(({ status }) => status === 200 || status === 409))
    t.strictSame(await rows(`select parcels from cash_deposits where bank_reference = 'BOC 4'`), [{ parcels: 3 }])
  })

  t.test('a card payment waits in clearing for a deposit that names its waybill', async t => {
    await deliver(['DM91000041'], 'Amal', { DM91000041: { method: 'card' } })
    t.match((await readCash()).clearing, { parcels: 1, amount: 1000 })
    t.equal(await findPerson('Amal'), undefined)
    const body = { amount: 1000, bank_reference: 'Cards 1', waybill_numbers: ['DM91000041'] }
    t.equal((await post('deposit', body)).status, 200)
    t.match((await readCash()).clearing, { parcels: 0, amount: 0 })
    t.match((await post('deposit', { ...body, bank_reference: 'Cards 2' })).body.errors, {
      'waybill_numbers.0': [/DM91000041/],
    })
  })

  t.test('a card payment of 1,000 arrives as 975: the acquirer kept 25, which its account has', async t => {
    const waybill_numbers = ['DM91000042']
    await deliver(waybill_numbers, 'Amal', { DM91000042: { method: 'card' } })
    await deliver(['DM91000043'], 'Amal')
    await post('handover', { collected_by: 'Amal', declared: 1000, counted: 1000 })
    const fee = { account: 'acquirer_fees', amount: 25 }
    const body = { amount: 975, bank_reference: 'Cards 3', waybill_numbers }
    const errors = async (more: object) => (await post('deposit', { ...body, ...more })).body.errors
    t.strictSame(await errors({}), {
      amount: [
        'The amount 975 is not the 1000 on hand: send a difference of 25, with the account that has it, acquirer_fees or differences.',
      ],
    })
    t.match(await errors({ amount: 1000.5 }), { amount: [/: send a difference of -0\.5, with the account/] })
    t.match(await errors({ amount: 970, difference: fee }), {
      amount: ['The amount 970 and the difference 25 are not the 1000 on hand.'],
    })
    t.match(await errors({ difference: { ...fee, account: 'bank' } }), {
      'difference.account': [/must be acquirer_fees, differences or cash_differences/],
    })
    t.match(await errors({ difference: { ...fee, amount: 25.001 } }), {
      difference: [/has too many decimals: LKR has 2/],
    })
    const both = { amount: 1975, waybill_numbers: ['DM91000042', 'DM91000043'] }
    t.strictSame(await errors(both), {
      amount: ['The amount 1975 is not the 2000 on hand. Name only the waybill_numbers whose money you deposit.'],
    })
    t.match(await errors({ ...both, difference: fee }), { difference: [/^Deposit cash and other payments apart/] })
    for (const cash of [{ waybill_numbers: ['DM91000043'] }, { waybill_numbers: undefined }])
      t.match(await errors({ ...cash, difference: fee }), {
        difference: ['The account of a difference in cash is cash_differences, and of no other payment.'],
      })
    t.match(await errors({ difference: { ...fee, account: 'cash_differences' } }), {
      difference: [/of no other payment/],
    })
    const done = await post('deposit', { ...body, difference: fee })
    t.match(done.body.data, { amount: 975, difference: 25, difference_account: 'acquirer_fees', parcels: 1 })
    t.strictSame((await post('deposit', { ...body, difference: fee })).body, done.body, 'a repetition')
    await deliver(['DM91000045'], 'Amal', { DM91000045: { method: 'card' } })
    for (const other of [['DM91000045'], ['DM91000042', 'DM91000045'], undefined])
      t.match(await errors({ difference: fee, waybill_numbers: other }), {
        bank_reference: ['The reference Cards 3 has a deposit of 975, of 1 parcels. Give another one.'],
      })
    const second = { ...body, bank_reference: 'Cards 4', waybill_numbers: ['DM91000045'], difference: fee }
    t.equal((await post('deposit', second)).status, 200)
    t.match((await readCash()).clearing, { parcels: 0, amount: 0 })
    const [{ today }] = await rows('select (now() at time zone time_zone)::date::text as today from tenants')
    const read = async (account: string) =>
      (await staffGet(`/ledger?account=${account}&from=${today}&to=${today}`)).body.data
    t.match(await read('acquirer_fees'), { closing: 50 })
    t.match(await read('clearing'), { closing: 0 })
    await deliver(['DM91000044'], 'Amal', { DM91000044: { method: 'qr' } })
    const more = { account: 'differences', amount: -0.5 }
    const above = { amount: 1000.5, bank_reference: 'QR 1', waybill_numbers: ['DM91000044'], difference: more }
    t.equal((await post('deposit', above)).status, 200, 'more arrived')
    t.equal((await post('deposit', { amount: 1000, bank_reference: 'BOC 4b' })).status, 200)
  })

  t.test('surplus cash can be owed to the person, whose next handover is that much less', async t => {
    await deliver(['DM91000051'], 'Ravi')
    const { data } = (await post('handover', { collected_by: 'Ravi', declared: 1050, counted: 1050 })).body
    const settled = await post(`handover/${data.handover_id}/settle`, { settle_as: 'owed', reason: 'His own' }, manager)
    t.match(settled.body.data, { state: 'owed' }, JSON.stringify(settled.body))
    t.match(await findPerson('Ravi'), { parcels: 0, debt: -50 })
    await deliver(['DM91000052'], 'Ravi')
    const next = await post('handover', { collected_by: 'Ravi', declared: 950, counted: 950 })
    t.match(next.body.data, { state: 'cleared', expected: 950, debt: -50 })
    t.strictSame((await post('deposit', { amount: 0, bank_reference: 'BOC 5' })).body.errors, {
      amount: ['The amount 0 is not the 2000 on hand. Name the waybill_numbers of a part.'],
    })
    t.equal((await post('deposit', { amount: 2000, bank_reference: 'BOC 5' })).status, 200)
    t.strictSame((await post('deposit', { amount: 0, bank_reference: 'BOC 6' })).body.errors, {
      amount: ['There is nothing to deposit.'],
    })
  })

  t.test('a handover leaves out a parcel delivered while it waits for a lock', async t => {
    await deliver(['DM91000061'], 'Tharindu')
    const client = await pool.connect()
    await client.query(`begin; set local app.tenant = '${tenant}'`)
    await client.query(`select 1 from orders where waybill_number = 'DM91000061' for no key update`)
    const waiting = post('handover', { collected_by: 'Tharindu', declared: 1000, counted: 1000 })
    await untilWaiting(client)
    await deliver(['DM91000062'], 'Tharindu')
    await client.query('commit')
    client.release()
    t.match((await waiting).body.data, { state: 'cleared', waybill_numbers: ['DM91000061'], expected: 1000 })
    t.match(await findPerson('Tharindu'), { parcels: 1, amount: 1000 })
    const rest = { collected_by: 'Tharindu', declared: 1000, counted: 1000 }
    t.match((await post('handover', rest)).body.data, { state: 'cleared', waybill_numbers: ['DM91000062'] })
  })

  t.test('an error names the index of a waybill as it was given, even after a repeated waybill', async t => {
    await deliver(['DM91000071'], 'Sunil')
    const waybill_numbers = ['DM91000071', 'DM91000071', 'DM91000072']
    const refused = await post('handover', { collected_by: 'Sunil', waybill_numbers, declared: 1000, counted: 1000 })
    t.strictSame(Object.keys(refused.body.errors), ['waybill_numbers.2'])
  })

  t.test('refuses fractions of a cent and unknown handovers', async t => {
    const fraction = await post('handover', { collected_by: 'Amal', declared: 1.005, counted: 1 })
    t.strictSame(fraction.body.errors, { declared: ['The declared 1.005 has too many decimals: LKR has 2.'] })
    const body = { settle_as: 'owed', reason: 'x' }
    t.equal((await post('handover/99999999999999999/settle', body)).status, 404)
    t.equal((await post('handover/x/settle', body)).status, 422)
  })

  t.test('the check finds a handover whose expected sum differs from its parcels', async t => {
    const ofTharindu = `where handover_id = (select min(handover_id) from cash_handovers
      where collected_by = 'Tharindu')`
    const [{ handover_id }] = await rows(
      `update cash_handovers set expected = expected + 1 ${ofTharindu} returning handover_id`,
    )
    t.strictSame((await checkLedger(pool, tenant)).wrong_handovers, [handover_id])
    await rows(`update cash_handovers set expected = expected - 1 ${ofTharindu}`)
  })

  t.test(
    'the check finds a deposit that differs from its parcels, and parcels whose deposit does not exist',
    async t => {
      const wrong = async () => (await checkLedger(pool, tenant)).wrong_deposits
      const ofDeposit = `where deposit_id = (select deposit_id from cash_deposits where bank_reference = 'BOC 1')`
      const [{ deposit_id: id }] = await rows(
        `update cash_deposits set amount = 2001 ${ofDeposit} returning deposit_id`,
      )
      t.strictSame(await wrong(), [id])
      await rows(`update cash_deposits set amount = 2000, parcels = 3 ${ofDeposit}`)
      t.strictSame(await wrong(), [id])
      await rows(`update cash_deposits set parcels = 2, other = 1 ${ofDeposit}`)
      t.strictSame(await wrong(), [id])
      await rows(`update cash_deposits set other = 0 ${ofDeposit}`)
      const other = '0199c0de-0000-7000-8000-000000000001'
      await rows(`update money_lines set banked_by = $1 where banked_by = $2`, [other, id])
      t.strictSame(await wrong(), [other, id].sort())
      await rows(`update money_lines set banked_by = $2 where banked_by = $1`, [other, id])
    },
  )

  t.test('lists all handovers, or only those in one state', async t => {
    t.equal((await staffGet('/cash/handover')).body.data.length, 19)
    t.strictSame((await staffGet('/cash/handover?state=open')).body.data, [])
    t.equal((await staffGet('/cash/handover?state=lost')).status, 422)
  })
})
