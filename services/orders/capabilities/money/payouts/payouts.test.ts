import { deepStrictEqual } from 'node:assert'
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { promisify } from 'node:util'
import { readKeys } from '@courier/shared/vault.ts'
import t from 'tap'
import { ordersFixture } from '../../../test/orders-fixture.ts'
import { shortStatuses, tenantFile } from '../../../test/tenant.ts'
import { checkLedger, listFindings } from '../ledger/check-ledger.ts'
import { openFile } from './make-batch.ts'
import { rotateAccounts } from './rotate-accounts.ts'

const newKey = (id: string) => `${id}:${randomBytes(32).toString('base64')}`

t.test('the pay run', async t => {
  const old = newKey('old')
  const keyring = readKeys('WEBHOOK_KEYS', old)
  const fixture = await ordersFixture(t, {
    file: { ...tenantFile({ money: { objection_hours: 0 } }), statuses: shortStatuses },
    keyring,
  })
  const { get, make, makeOfBooks, move, request, staffOf, staffGet, rows, pool, app, staffToken } = fixture
  const [clerk, second] = [await staffOf('Chamari'), await staffOf('Ruwan')]
  const post = (path: string, body: object, token = clerk) => request('POST', `/api/staff${path}`, body, { token })
  const { today, shop, books } = await fixture.readFacts()
  const confirmed = { initial_status_key: 'key_2', cod: 1000, weight: 1 }
  /** Delivers a parcel of each merchant, and makes an invoice for each up to its approval: 550 for the shop. */
  const approve = async (number: number) => {
    const waybills = [`DM${95_000_000 + number}`, `DM${96_000_000 + number}`] as const
    await make([waybills[0]], confirmed)
    await makeOfBooks([waybills[1]], confirmed)
    t.equal((await move(waybills, 'key_13', { collected_by: 'Nimal' })).status, 200)
    await post('/cash/handover', { collected_by: 'Nimal', declared: 2000, counted: 2000 })
    const { data: made } = (await post('/invoice', { all: true, until: today })).body
    const numbers: string[] = []
    for (const { id } of made) {
      await post(`/invoice/${id}/submit`, {})
      numbers.push((await post(`/invoice/${id}/approve`, {}, second)).body.data.invoice_no)
    }
    return numbers
  }
  const account = { bank: 'Bank of Ceylon', holder: '=Lanka, "Shoes"', number: '007 123-4567' }
  const change = (merchant: number, body: object = account) => post(`/merchant/${merchant}/bank-account`, body)
  const confirm = (merchant: number, token?: string, number = '0071234567', version = 1) =>
    post(`/merchant/${merchant}/bank-account/confirm`, { version, number }, token)
  const age = () => rows(`update bank_accounts set changed_at = '2026-01-01'`)
  const run = async () => (await staffGet('/payout')).body.data
  const listDue = async (): Promise<string[]> =>
    (await run()).due.map(({ invoice_no }: { invoice_no: string }) => invoice_no)
  const why = async (no: string | undefined) =>
    (await run()).left_out.find((left: { invoice_no: string }) => left.invoice_no === no)?.why
  const see = (batch: string, token = second) => staffGet(`/payout/${batch}/lines`, { token })
  const act = async (batch: string, step: string, body: object = {}, token = second) => {
    if (step === 'release') await see(batch, token)
    return post(`/payout/${batch}/${step}`, body, token)
  }
  const makeBatch = async (body: object = { all: true }) => (await post('/payout', body)).body.data.batch_no
  const paid = (bank_reference: string) => ({ bank_reference, paid_on: today })
  const readFile = async (batch: string, token = staffToken) => {
    const headers = { authorization: `Bearer ${token}`, 'x-tenant': 'demo' }
    return app.inject({ url: `/api/staff/payout/${batch}?format=csv`, headers })
  }
  const numbers = await approve(1)
  t.afterEach(async () => {
    deepStrictEqual(listFindings(await checkLedger(pool, 'demo')), [])
  })

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
    t.match((await confirm(shop)).body.errors, { version: ['Chamari changed it: a second person must confirm it.'] })
    t.match((await confirm(shop, second, '9990071234567')).body.errors, {
      number: ['Version 1 has another number: ask the merchant.'],
    })
    t.match((await confirm(shop, second)).body.data, { confirmed_by: 'Ruwan' })
    t.equal(await why(numbers[0]), 'The bank account changed in the last 48 hours.')
    t.match((await post('/payout', { all: true })).body.errors, { all: [/^No invoice is due/] })
    await age()
    const { due } = await run()
    t.strictSame(due, [
      { invoice_no: numbers[0], merchant_name: 'Lanka Shoes', amount: 550, currency: 'LKR', last_four: '4567' },
    ])
    t.notOk(JSON.stringify((await staffGet(`/merchant/${shop}/bank-account`)).body).includes('1234567'))
  })

  t.test('the second person sees what they confirm, and confirms no other account with the same end', async t => {
    const details = { bank: 'Bank of Ceylon', holder: '=Lanka, "Shoes"', number: '007 123-4567' }
    const seen = await staffGet(`/merchant/${shop}/bank-account/details`, { token: second })
    t.match(seen.body.data, { version: 1, changed_by: 'Chamari', ...details })
    t.match(await rows(`select actor, object_id from audit where action = 'bank_account.read'`), [
      { actor: 'Ruwan', object_id: `merchant ${shop}` },
    ])
    t.equal((await staffGet(`/merchant/${books}/bank-account/details`)).status, 404)
    await change(shop, { ...account, holder: 'Somebody else', number: '888877774567' })
    t.match((await confirm(shop, second)).body.errors, {
      version: ['The newest account is version 2: check that one.'],
    })
    t.match((await confirm(shop, second, '0071234567', 2)).body.errors, { number: [/^Version 2 has another number/] })
    t.match(await rows('select confirmed_by from bank_accounts where version = 2'), [{ confirmed_by: null }])
  })

  t.test('a merchant is told of a new account, and stops it within 48 hours', async t => {
    const own = () => get('/bank-account')
    const object = (version: number) =>
      request('POST', '/api/public/merchant/bank-account/object', { version, reason: 'Not ours' })
    const { data: changes } = (await get('/order/changes')).body
    t.match(changes.filter(({ type }: { type: string }) => type === 'bank_account.changed').at(-1), {
      ...{ waybill_number: null, order_no: null, status: null, by: 'staff' },
      details: { version: '2', bank: 'Bank of Ceylon', last_four: '4567', object_until: /^\d{4}-\d\d-\d\d \d\d:\d\d$/ },
    })
    t.notMatch(JSON.stringify(changes), /88887777|Somebody/)
    t.match((await own()).body.data, { version: 2, last_four: '4567', objected_at: null })
    t.notMatch(JSON.stringify((await own()).body), /sealed|88887777|Somebody/)
    t.match((await object(1)).body.errors, { version: [/^The newest account is version 2/] })
    t.match((await object(2)).body.data, { objection: 'Not ours' })
    t.equal((await object(2)).status, 200, 'a repetition')
    t.match((await confirm(shop, second, '888877774567', 2)).body.errors, {
      version: [/^The merchant objected to it on/],
    })
    t.equal(await why(numbers[0]), 'The merchant objected to the bank account.')
    await rows('delete from bank_accounts where version = 2')
    t.match((await object(1)).body.errors, { version: [/^It may be paid since .*: ask the courier company/] })
  })

  t.test('an objection stops an account that was confirmed already', async t => {
    await change(shop)
    await confirm(shop, second, '0071234567', 2)
    const body = { version: 2, reason: 'Not ours' }
    t.equal((await request('POST', '/api/public/merchant/bank-account/object', body)).status, 200)
    await rows(`update bank_accounts set changed_at = '2026-01-01' where version = 2`)
    t.equal(await why(numbers[0]), 'The merchant objected to the bank account.')
    await rows('delete from bank_accounts where version = 2')
  })

  t.test('a change of account stops payouts, even to the previous account', async t => {
    t.match((await change(shop, { ...account, number: '0079999999' })).body.data, { version: 2, last_four: '9999' })
    t.equal(await why(numbers[0]), 'A second person must confirm the bank account.')
    await rows('delete from bank_accounts where version = 2')
    for (const number of ['x', '----', '12 - 3'])
      t.equal((await change(shop, { ...account, number })).status, 422, number)
    t.equal((await change(999_999)).status, 404)
  })

  t.test('a batch takes all the named invoices or none, and says why it does not take one', async t => {
    const submitted = await approve(2)
    await rows(`update invoices set state = 'submitted', submitted_at = now() where invoice_no = $1`, [submitted[0]])
    const refused = await post('/payout', { invoice_nos: [numbers[0], submitted[0], numbers[1], 'X', '\u0000'] })
    t.strictSame(refused.body.errors, {
      'invoice_nos.1': ['The invoice is submitted: only an approved one is paid.'],
      'invoice_nos.2': ['The merchant has no bank account.'],
      'invoice_nos.3': ['There is no invoice X.'],
      'invoice_nos.4': ['There is no invoice \u0000.'],
    })
    for (const body of [{}, { all: true, invoice_nos: numbers }])
      t.match((await post('/payout', body)).body.errors, { invoice_nos: ['Give either invoice_nos or all.'] })
    await rows(`update invoices set state = 'approved' where invoice_no = $1`, [submitted[0]])
    t.strictSame((await run()).batches, [])
  })

  t.test('a batch locks its invoices until it is cancelled, and a second person releases it', async t => {
    const made = await post('/payout', { invoice_nos: [numbers[0]] })
    t.match(made.body.data, {
      ...{ batch_no: 'PAY-00001', state: 'made', total: 550, invoices: 1, made_by: 'Chamari', released_by: null },
      items: [{ invoice_no: numbers[0], merchant_name: 'Lanka Shoes', amount: 550, last_four: '4567', state: 'open' }],
    })
    const has = 'The batch PAY-00001 has the invoice.'
    t.match((await post('/payout', { invoice_nos: [numbers[0]] })).body.errors, { 'invoice_nos.0': [has] })
    t.equal(await why(numbers[0]), has)
    t.match((await post(`/invoice/${numbers[0]}/cancel`, { reason: 'x' })).body.errors, {
      invoice_no: ['The batch PAY-00001 has it: cancel that, or settle or fail the payment first.'],
    })
    const [line] = (await staffGet(`/invoice/${numbers[0]}`)).body.data.lines
    const dispute = { waybill_numbers: [line.waybill_number], reason: 'x' }
    const disputed = await request('POST', `/api/public/merchant/invoice/${numbers[0]}/dispute`, dispute)
    t.match(disputed.body.errors, { invoice_no: ['The invoice is approved: only a submitted one can be disputed.'] })
    t.match((await act('PAY-00001', 'release', {}, clerk)).body.errors, {
      batch_no: ['Chamari made it: a second person must release it.'],
    })
    await rows(`delete from audit where action = 'payout.seen'`)
    t.match((await post('/payout/PAY-00001/release', {}, second)).body.errors, {
      batch_no: ['Read its accounts first (GET /payout/PAY-00001/lines): you sign for them.'],
    })
    const paidTo = { bank: 'Bank of Ceylon', holder: '=Lanka, "Shoes"', number: '007 123-4567' }
    t.match((await see('PAY-00001', clerk)).body.data, [{ invoice_no: numbers[0], amount: 550, ...paidTo }])
    t.match((await post('/payout/PAY-00001/release', {}, second)).body.errors, { batch_no: [/^Read its accounts/] })
    t.match((await act('PAY-00001', 'settle', paid('B0'))).body.errors, { batch_no: [/only a released one/] })
    t.equal((await readFile('PAY-00001')).statusCode, 422, 'a file needs a second person')
    t.match((await act('PAY-00001', 'cancel', { reason: 'Wrong day' })).body.data, {
      ...{ state: 'cancelled', reason: 'Wrong day', items: [{ state: 'cancelled' }] },
    })
    t.ok((await listDue()).includes(numbers[0] as string), 'the invoice is due again')
    for (const [step, body] of [['release'], ['cancel', { reason: 'x' }], ['settle', paid('B0')]] as const)
      t.match((await act('PAY-00001', step, body)).body.errors, { batch_no: [/^The batch is cancelled/] }, step)
    for (const unknown of ['PAY-9', '%00']) {
      t.equal((await see(unknown)).status, 404)
      t.equal((await act(unknown, 'release')).status, 404)
      t.equal((await readFile(unknown)).statusCode, 404)
    }
  })

  t.test(
    'the file is the same bytes again and again, whatever becomes of accounts, and each read is audited',
    async t => {
      const batch = await makeBatch({ invoice_nos: [numbers[0]] })
      t.match((await act(batch, 'release')).body.data, { state: 'released', released_by: 'Ruwan' })
      t.equal((await act(batch, 'release')).status, 200, 'a repetition changes nothing')
      const first = await readFile(batch)
      const [head, row] = first.payload.split('\r\n')
      t.equal(head, 'batch_no,invoice_no,merchant_name,amount,currency,bank,branch,holder,number,reference')
      t.equal(
        row,
        `${batch},${numbers[0]},Lanka Shoes,550.00,LKR,Bank of Ceylon,,"'=Lanka, ""Shoes""",007 123-4567,MI-0001`,
        'no spreadsheet finds a formula',
      )
      await change(shop, { ...account, number: '0079999999' })
      await confirm(shop, second, '0079999999', 2)
      await rows(`update merchants set name = 'Renamed' where merchant_id = ${shop}`)
      t.equal((await readFile(batch)).payload, first.payload)
      await rows(`update merchants set name = 'Lanka Shoes' where merchant_id = ${shop}`)
      await rows('delete from bank_accounts where version = 2')
      t.match(await rows(`select object_id, actor from audit where action = 'payout.read'`), [
        { object_id: batch, actor: 'Kamal Perera' },
        { object_id: batch },
      ])
      t.match((await act(batch, 'cancel', { reason: 'x' })).body.errors, { batch_no: [/^The batch is released/] })
      const program = 'import csv, json, sys; print(json.dumps(list(csv.DictReader(sys.stdin))))'
      const running = promisify(execFile)('python3', ['-c', program])
      running.child.stdin?.end(first.payload)
      const parsed = await running.then(({ stdout }) => JSON.parse(stdout))
      t.match(parsed, [{ amount: '550.00', holder: `'=Lanka, "Shoes"`, number: '007 123-4567', reference: 'MI-0001' }])
      t.equal(parsed.length, 1)
    },
  )

  t.test('a failed payment is due again, in another batch', async t => {
    const batch = 'PAY-00002'
    const fail = (invoice_nos: unknown[], reason = 'Closed account') => act(batch, 'fail', { invoice_nos, reason })
    t.match((await fail([numbers[1]])).body.errors, {
      'invoice_nos.0': [`${numbers[1]} is not in the batch ${batch}.`],
    })
    t.match((await fail(['MI-0001'])).body.data, {
      ...{ state: 'failed', total: 550, returned: 550, ended_by: 'Ruwan' },
      items: [{ state: 'failed', reason: 'Closed account' }],
    })
    t.equal((await fail(['MI-0001'], 'Again')).body.data.items[0].reason, 'Closed account', 'a repetition')
    t.match((await act(batch, 'settle', paid('B0'))).body.errors, { batch_no: [/^The batch is failed/] })
    t.ok((await listDue()).includes(numbers[0] as string))
  })

  t.test('settles all invoices of a batch but those that failed, once, with one reference', async t => {
    await change(books)
    await confirm(books, second)
    await age()
    const due = await listDue()
    t.equal(due.length, 4)
    const batch = await makeBatch()
    const cod = 1000
    await act(batch, 'release')
    t.equal((await act(batch, 'fail', { invoice_nos: [due[3]], reason: 'Closed' })).status, 200)
    for (const [paid_on, sentence] of [
      ['2099-01-01', /^The day must be .* or before/],
      ['2026-01-01', /^The day must be .* or later: the batch was made on that day/],
    ] as const) {
      const wrong = await act(batch, 'settle', { bank_reference: 'B1', paid_on })
      t.match([wrong.status, wrong.body.errors], [422, { paid_on: [sentence] }])
    }
    const responses = await Promise.all(Array.from({ length: 8 }, () => act(batch, 'settle', paid('B1'))))
    for (const { status, body } of responses) t.equal(status, 200, JSON.stringify(body))
    const { data } = (await staffGet(`/payout/${batch}`)).body
    t.match(data, { state: 'settled', bank_reference: 'B1', paid_on: today, invoices: 4 })
    t.match(
      data.items.map(({ state }: { state: string }) => state),
      ['paid', 'paid', 'paid', 'failed'],
    )
    t.ok(data.total - data.returned < 4 * cod)
    const [{ out }] = await rows(`select sum(amount)::float8 as out from ledger_transfers where credit = 'bank'`)
    t.equal(out, data.total - data.returned, 'the bank paid each invoice once')
    t.match((await act(batch, 'settle', paid('B2'))).body.errors, {
      bank_reference: [`The batch was settled with B1 of ${today}.`],
    })
    t.match((await act(batch, 'fail', { invoice_nos: [due[0]], reason: 'x' })).body.errors, {
      batch_no: [/^The batch is settled/],
    })
    const again = await makeBatch()
    await act(again, 'release')
    t.match((await act(again, 'settle', paid('B1'))).body.errors, {
      bank_reference: [`B1 settled ${batch}. Give another one.`],
    })
    t.equal((await act(again, 'settle', paid('B3'))).status, 200)
    t.strictSame(await listDue(), [])
    t.match(await staffGet(`/merchant/${books}/balance`), { body: { data: { balance: 0 } } })
    t.match(await rows(`select count(*)::int as paid from audit where action = 'invoice.deposited'`), [{ paid: 4 }])
  })

  t.test('eight people make batches at once: no invoice is in two of them', async t => {
    const all = [...(await approve(3)), ...(await approve(4)), ...(await approve(5))]
    const wanted = Array.from({ length: 8 }, (_, n) => (n % 2 ? { all: true } : { invoice_nos: all.slice(n / 2) }))
    const makers = await Promise.all(wanted.map((_, n) => staffOf(`Maker ${n}`)))
    const responses = await Promise.all(wanted.map((body, n) => post('/payout', body, makers[n])))
    t.strictSame([...new Set(responses.map(({ status }) => status))].toSorted(), [200, 422])
    const items = responses.flatMap(
      ({ body }) => body.data?.items.map((item: { invoice_no: string }) => item.invoice_no) ?? [],
    )
    t.strictSame(items.toSorted(), [...new Set(items)].toSorted())
    const batches = responses.flatMap(({ body }) => body.data?.batch_no ?? [])
    const cancelling = all.map(no => post(`/invoice/${no}/cancel`, { reason: 'x' }))
    for (const batch of batches) await act(batch, 'release')
    const settling = batches.flatMap(batch => [1, 2].map(() => act(batch, 'settle', paid(`S ${batch}`))))
    for (const { status } of await Promise.all(settling)) t.equal(status, 200)
    for (const { status, body } of await Promise.all(cancelling))
      t.ok(status === 422 || body.data.state === 'cancelled')
    const twice = `select invoice_id from payout_items where state in ('open', 'paid') group by 1 having count(*) > 1`
    t.strictSame(await rows(twice), [])
  })

  t.test('accounts and files are sealed, and sealed again with a new key', async t => {
    const count = async (table: string) => (await rows(`select count(*)::int as sealed from ${table}`))[0].sealed
    const sealed = (await count('bank_accounts')) + (await count('payout_batches'))
    const before = (await readFile('PAY-00002')).payload
    const keyring = readKeys('WEBHOOK_KEYS', `${newKey('new')},${old}`)
    const strange = await rotateAccounts(pool, readKeys('WEBHOOK_KEYS', newKey('strange')))
    t.match(strange, { count: 0, unopened: [{ tenant: 'demo', merchant_id: String(shop), reason: /has no key old/ }] })
    t.match(strange.unopened.at(-1), { batch_no: /^PAY/ })
    t.match(await rotateAccounts(pool, keyring), { count: sealed, unopened: [] })
    const [row] = await rows('select key_id, sealed from payout_batches')
    t.equal(row.key_id, 'new')
    t.notOk(row.sealed.includes('4567'))
    t.equal((await readFile('PAY-00002')).statusCode, 503, 'this process has the old key alone')
    const [file] = await rows(`select batch_no, key_id, sealed from payout_batches where batch_no = 'PAY-00002'`)
    t.equal(openFile(keyring, 'demo', file), before)

    const [no] = await approve(6)
    t.equal(await why(no), 'The bank account was sealed with a key that is not in WEBHOOK_KEYS.')
    await rows(`update bank_accounts set key_id = 'old', sealed = 'altered and of some length'`)
    t.match(await rotateAccounts(pool, keyring), { count: 0, unopened: [{ reason: /was altered/ }] })
  })
})
