import { deepStrictEqual } from 'node:assert'
import { inTenant } from '@courier/shared/postgres/database.ts'
import t, { type Test } from 'tap'
import { connectTo } from '../../../../../dev/test-database.ts'
import type { Tx } from '../../../core/database/tables.ts'
import { findContradictions } from '../../../test/expect-books.ts'
import { tenantFixture } from '../../../test/orders-fixture.ts'
import { preparePayer } from '../../../test/payer.ts'
import { shortStatuses, tenantFile } from '../../../test/tenant.ts'
import { untilWaiting } from '../../../test/waiting.ts'
import { approveUndisputed } from '../invoices/invoices.ts'
import { checkLedger, listFindings } from '../ledger/check-ledger.ts'

/** Builds a company that invoices at delivery. Each parcel leaves 550 for the shop, less 18 % tax: 469. */
const start = async (t: Test, more: object = {}) => {
  const settings = { tax_percent: 18, tax_number: 'VAT 101', postal_address: '1 Main Street, Colombo' }
  const file = {
    ...tenantFile({ ...settings, money: { payable_when: 'delivered', documents: 'one', ...more } }),
    statuses: shortStatuses,
  }
  Object.assign(file.merchants[0] ?? {}, { phone: '+94112345678', tax_number: 'VAT 202' })
  const fixture = await tenantFixture(t, { file })
  const { make, move, request, get, app, staffOf, staffGet, pool, readFacts, tenant } = fixture
  const clerk = await staffOf('Chamari')
  const { today } = await readFacts()
  const post = (path: string, body: object = {}, token = clerk) => request('POST', `/api/staff${path}`, body, { token })
  const own = (path: string, body: object = {}) => request('POST', `/api/public/merchant${path}`, body)
  const invoice = async (...waybills: string[]) => {
    if (waybills.length > 0) {
      await make(waybills, { initial_status_key: 'key_2', cod: 1000, weight: 1 })
      t.equal((await move(waybills, 'key_13', { collected_by: 'Nimal' })).status, 200)
    }
    return (await post('/invoice', { all: true, until: today })).body.data[0]
  }
  const submit = async (...waybills: string[]): Promise<string> => {
    const { id } = await invoice(...waybills)
    const { status, body } = await post(`/invoice/${id}/submit`)
    t.equal(status, 200)
    return body.data.invoice_no
  }
  const read = async (path: string) => (await get(path)).body.data
  const readFile = async (path: string) => {
    const headers = { authorization: `Bearer ${fixture.token}`, 'x-tenant': tenant }
    const { statusCode, rawPayload } = await app.inject({ url: `/api/public/merchant${path}`, headers })
    t.equal(statusCode, 200, path)
    return rawPayload.toString('base64')
  }
  const dispute = (no: string, ...waybill_numbers: string[]) =>
    own(`/invoice/${no}/dispute`, { waybill_numbers, reason: 'Open' })
  const settle = (no: string, waybill: string, adjustment = 0) =>
    post(`/invoice/${no}/dispute/settle`, { waybill_numbers: [waybill], adjustment, reason: 'Checked' })
  const approveSilently = () => inTenant(pool, tenant, (tx: Tx) => approveUndisputed(tx, tenant))
  t.afterEach(async () => {
    deepStrictEqual(listFindings(await checkLedger(pool, tenant)), [])
  })
  return {
    ...fixture,
    file,
    today,
    post,
    own,
    invoice,
    submit,
    read,
    readFile,
    dispute,
    settle,
    approveSilently,
    staffGet,
  }
}

t.test('the right to dispute', async t => {
  const fixture = await start(t)
  const { database, rows, make, move, today, staffOf, post, own, submit, read, dispute, settle, approveSilently } =
    fixture
  const { staffGet, get, tenant } = fixture
  const passTime = () => rows(`update invoices set objection_until = now() where state = 'submitted'`)

  t.test('the merchant learns of an invoice that is submitted', async t => {
    const no = await submit('DM97000001')
    const change = (await get('/order/changes')).body.data.at(-1)
    t.match(change, {
      ...{ type: 'invoice.submitted', waybill_number: null, status: null, by: 'staff' },
      details: { invoice_no: no, total: '469.00', currency: 'LKR', object_until: /^\d{4}-\d\d-\d\d \d\d:\d\d$/ },
    })
    t.match(await rows(`select is_relayed from log where type = 'invoice.submitted'`), [{ is_relayed: false }])
    t.equal((await own(`/invoice/${no}/approve`)).status, 200, 'the merchant approves at once')
  })

  t.test('only the merchant approves it before its time is over, whoever asks', async t => {
    const no = await submit('DM97000011')
    const { objection_until: until } = await read(`/invoice/${no}`)
    const hours = (Date.parse(until) - Date.now()) / 3_600_000
    t.ok(hours > 23.9 && hours < 24.1, String(hours))
    for (const fourEyes of [false, true]) {
      await rows(`update tenants set four_eyes = ${fourEyes}`)
      for (const name of ['Chamari', 'Ruwan'])
        t.match((await post(`/invoice/${no}/approve`, {}, await staffOf(name))).body.errors, {
          invoice_no: [`Only the merchant approves it before ${until}: it may dispute parcels.`],
        })
    }
    await rows('update tenants set four_eyes = false')
    t.equal(await approveSilently(), 0)
    await passTime()
    t.match(await read(`/invoice/${no}`), { state: 'submitted' }, 'time alone changes nothing')
    t.equal(await approveSilently(), 1)
    t.match(await read(`/invoice/${no}`), { state: 'approved', decided_by: null, decided_at: /^2/ })
    t.equal((await dispute(no, 'DM97000011')).status, 422)
  })

  t.test('a dispute that began first wins over the approval by silence', async t => {
    const no = await submit('DM97000015')
    await passTime()
    const owner = await connectTo(t, database.superuserUrl)
    await owner.query(
      `begin; select from orders where tenant_id = '${tenant}' and waybill_number = 'DM97000015' for update`,
    )
    const disputing = dispute(no, 'DM97000015')
    await untilWaiting(owner)
    const approving = approveSilently()
    await untilWaiting(owner, 2)
    await owner.query('rollback')
    t.equal((await disputing).status, 200)
    t.equal(await approving, 0)
    t.match(await read(`/invoice/${no}`), { state: 'submitted', total: 0 })
    t.equal((await post(`/invoice/${no}/cancel`, { reason: 'A test' })).status, 200)
    t.equal((await settle(no, 'DM97000015')).status, 200)
    t.equal((await own(`/invoice/${await submit()}/approve`)).status, 200)
  })

  t.test('an invoice whose only parcel is disputed waits, and is paid once that is settled', async t => {
    const no = await submit('DM97000021')
    t.equal((await dispute(no, 'DM97000021')).status, 200)
    t.match(await read(`/invoice/${no}`), { state: 'submitted', total: 0, version: 2 })
    await passTime()
    t.equal(await approveSilently(), 0)
    for (const refused of [await post(`/invoice/${no}/approve`), await own(`/invoice/${no}/approve`)])
      t.match(refused.body.errors, { invoice_no: [/^It has nothing to pay while parcels are disputed/] })
    t.equal((await settle(no, 'DM97000021', 31)).status, 200)
    const settled = await read(`/invoice/${no}`)
    t.match(settled, {
      state: 'submitted',
      total: 500,
      version: 3,
      versions: [{ total: 469 }, { total: 0 }, { total: 500 }],
    })
    t.ok(Date.parse(settled.objection_until) > Date.now(), 'the merchant may object to the new version')
    t.match((await get('/order/changes')).body.data.at(-1), { type: 'invoice.submitted', details: { total: '500.00' } })
    t.match((await staffGet(`/invoice/${no}`)).body.data.lines, [
      { kind: 'delivered' },
      { kind: 'disputed' },
      { kind: 'released', adjustment: 31 },
    ])
    t.equal((await own(`/invoice/${no}/approve`)).status, 200)
    t.match((await get('/balance')).body.data, { held: 0 })
  })

  t.test('no credit note is below zero: cancelling a total that a dispute left below zero makes none', async t => {
    await make(['DM97000031'], { initial_status_key: 'key_2', cod: 0, weight: 1 })
    t.equal((await move(['DM97000031'], 'key_13')).status, 200)
    const no = await submit('DM97000032', 'DM97000033')
    t.equal((await dispute(no, 'DM97000032', 'DM97000033')).status, 200)
    t.match(await read(`/invoice/${no}`), { total: -531 })
    t.equal((await post(`/invoice/${no}/cancel`, { reason: 'A test' })).status, 200)
    t.match((await read(`/invoice/${no}`)).versions, [
      { kind: 'submitted', total: 407 },
      { kind: 'disputed', total: -531, credited: 938 },
      { kind: 'cancelled', issued_on: today, credit_note_no: null, credited: null, reason: 'A test' },
    ])
  })
})

t.test('documents do not change', async t => {
  const fixture = await start(t)
  const { rows, apply, file, today, post, own, invoice, submit, read, readFile, dispute, settle, staffGet, get } =
    fixture
  const pay = await preparePayer(fixture)

  t.test('a dispute makes a version and a credit note; what the merchant saw stays, byte for byte', async t => {
    const no = await submit('DM97100001', 'DM97100002')
    const formats = ['json', 'csv', 'pdf']
    const readFirst = () => Promise.all(formats.map(format => readFile(`/invoice/${no}?version=1&format=${format}`)))
    const [, ...first] = await readFirst()
    t.match(await read(`/invoice/${no}?version=1`), { version: 1, total: 938, lines: [{}, {}] })
    t.equal((await dispute(no, 'DM97100001')).status, 200)
    const { versions, ...newest } = await read(`/invoice/${no}`)
    t.match(newest, { version: 2, total: 469, lines: [{}, { kind: 'disputed', held: 469 }, {}] })
    t.match(versions, [
      { version: 1, kind: 'submitted', issued_on: today, total: 938, credit_note_no: null },
      { version: 2, kind: 'disputed', total: 469, credit_note_no: /^CN-/, credited: 469, reason: 'Open' },
    ])
    const creditNo = versions[1].credit_note_no
    const credit = await read(`/credit-note/${creditNo}`)
    t.match(credit, { invoice_no: no, version: 2, credited: 469, charges_credited: 0 })
    t.match(credit.lines, [{ waybill_number: 'DM97100001', kind: 'disputed', net: -469 }])
    const creditPdf = await readFile(`/credit-note/${creditNo}?format=pdf`)
    t.equal((await own(`/invoice/${no}/approve`)).status, 200)
    t.equal((await pay([no], 'BOC 1', today)).status, 200)
    t.equal((await settle(no, 'DM97100001')).status, 200)
    const renamed = {
      ...file,
      tenant: { ...file.tenant, ...{ name: 'Other Couriers', tax_percent: 20, tax_number: 'VAT 303' } },
    }
    await apply(renamed)
    t.strictSame((await readFirst()).slice(1), first)
    t.equal(await readFile(`/credit-note/${creditNo}?format=pdf`), creditPdf)
    t.equal((await get(`/invoice/${no}?version=3`)).status, 404)
    t.equal((await get(`/invoice/${no}?version=0`)).status, 422)
    await apply(file)
  })

  t.test('a cancelled invoice keeps its lines; a credit note takes back what was submitted', async t => {
    const no = await submit('DM97100011')
    const { total, lines } = await read(`/invoice/${no}`)
    t.equal(total, 938, 'with the released parcel')
    t.equal((await post(`/invoice/${no}/cancel`, { reason: 'Wrong day' })).status, 200)
    const cancelled = await read(`/invoice/${no}`)
    t.match(cancelled, { state: 'cancelled', version: 2, total })
    t.strictSame(cancelled.lines, lines)
    const { credit_note_no: creditNo, credited } = cancelled.versions[1]
    t.equal(credited, total)
    const credit = await read(`/credit-note/${creditNo}`)
    t.match(credit.lines.at(-1), { collected: -1000, delivery: -450, tax: -81, tax_percent: 18, net: -469 })
    for (const unknown of ['CN-1', '%00'])
      t.strictSame(
        [(await get(`/credit-note/${unknown}`)).status, (await staffGet(`/credit-note/${unknown}`)).status],
        [404, 404],
      )
    t.equal((await get(`/credit-note/${creditNo}`, { token: fixture.booksToken })).status, 404)
    const draft = await invoice()
    t.equal(draft.total, total, 'its parcels are free')
    await post(`/invoice/${draft.id}/cancel`, { reason: 'Not yet' })
    const { versions, ...seen } = (await staffGet(`/invoice/${draft.id}`)).body.data
    t.match(versions, [{ version: 1, issued_on: null, credit_note_no: null }])
    t.strictSame(seen.lines, lines, 'a cancelled draft keeps its lines too')
  })

  t.test('a line shows the rate of its tax; withholding has an account of its own', async t => {
    await invoice('DM97100021')
    await apply({ ...file, tenant: { ...file.tenant, ...{ tax_percent: 20, withholding_percent: 2 } } })
    const { id: no } = await invoice('DM97100022')
    const { lines } = (await staffGet(`/invoice/${no}`)).body.data
    t.match(lines.at(-1), { tax: 90, tax_percent: 20, withholding: 20, withholding_percent: 2 })
    const closing = async (account: string) =>
      (await staffGet(`/ledger?account=${account}&from=${today}&to=${today}`)).body.data.closing
    t.equal(await closing('withholding'), -20)
    t.equal(await closing('tax'), -(81 * 4 + 90))
  })

  t.test('lines from before the rates keep their withholding in the account of the tax', async t => {
    await rows('update money_lines set tax_percent = null, withholding_percent = null')
    await rows(`update ledger_transfers tax set amount = tax.amount + withholding.amount
      from ledger_transfers withholding
      where tax.journal_id = withholding.journal_id and tax.credit = 'tax' and withholding.credit = 'withholding'`)
    await rows(`delete from ledger_transfers where credit = 'withholding'`)
    t.strictSame(await findContradictions(fixture, today, today), [])
  })
})
