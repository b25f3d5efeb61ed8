import t, { type Test } from 'tap'
import { createTokenFor } from '../services/orders/core/access/token-commands.ts'
import { preparePayer } from '../services/orders/test/payer.ts'
import { batch, order } from '../services/orders/test/tenant.ts'
import { launchBrowser, showScreen } from './browser.ts'
import { deliverFor, openConsole, signIn, startConsole } from './console.ts'

const browser = await launchBrowser(t)
if (browser) {
  const { url, orders } = await startConsole(t)
  await orders.rows('update tenants set objection_hours = 0')
  const confirmed = { initial_status_key: 'key_2', cod: 2500, weight: 1 }
  const [first = '', second = '', lost = ''] = (
    await orders.bulk(batch([order(confirmed), order(confirmed), order(confirmed)]))
  ).body.data
  const today = (await orders.rows('select (now() at time zone time_zone)::date::text as today from tenants'))[0].today
  await orders.rows(`update orders set status_key = 'key_12' where waybill_number = any($1)`, [[first, second]])
  const opened = await openConsole(t, browser, url)
  const { page } = opened
  await signIn(page)
  const show = (t: Test, screen: string) => showScreen(t, page, screen)
  const panel = (name: string) => page.getByRole('region', { name, exact: true })

  t.test("a rider's cash is handed over and deposited at the bank", async t => {
    for (const waybill of [first, second]) {
      await page.goto(`${url}#/parcel/${waybill}`)
      await deliverFor(page)
      await panel('Money').getByText('With the rider').waitFor()
    }
    await show(t, 'parcel-money')
    await page.goto(`${url}#/cash`)
    await panel('Who holds cash').getByText('LKR 5,000').waitFor()
    const suggested = await page.locator('#people option').evaluateAll(all => all.map(one => one.getAttribute('value')))
    t.ok(suggested.includes('Nimal') && suggested.includes('Sunil'))
    await page.getByText('Pass cash on to somebody else').first().click()
    await page.getByLabel('From', { exact: true }).fill('Nimal')
    await page.getByLabel('To', { exact: true }).fill('sunil')
    await show(t, 'cash-transfer')
    await page.getByRole('button', { name: 'Pass cash on to somebody else' }).click()
    await panel('Who holds cash').getByText('Sunil').waitFor()
    await panel('Who holds cash').getByRole('button', { name: 'Hand over' }).click()
    await page.getByLabel('Counted').fill('5000')
    await show(t, 'cash')
    await panel('Hand over').getByRole('button', { name: 'Hand over' }).click()
    await panel('Office and bank').getByText('LKR 5,000 from 2 parcels').waitFor()
    await page.getByText('Deposit some parcels').click()
    await panel('Office and bank').getByRole('checkbox', { name: first }).check()
    await page.getByText('Deposit some parcels (1)').waitFor()
    t.equal(await panel('Office and bank').getByLabel('Amount').inputValue(), '2500')
    await show(t, 'cash-part')
    await page.getByLabel('Bank reference').fill('BOC 0')
    await panel('Office and bank').getByRole('button', { name: 'Deposit' }).click()
    await panel('Office and bank').getByText('LKR 2,500 from 1 parcels').waitFor()
    const banked = 'select waybill_number from money_lines where banked_by is not null'
    t.strictSame(await orders.rows(banked), [{ waybill_number: first }])
    await page.getByLabel('Bank reference').fill('BOC 1')
    await panel('Office and bank').getByRole('button', { name: 'Deposit' }).click()
    await panel('Office and bank').getByText('LKR 0 from 0 parcels').waitFor()
    t.strictSame(opened.problems, [])
  })

  t.test('a handover that is short stays open, and the person who received it cannot settle it', async t => {
    await page.goto(`${url}#/parcel/${first}`)
    const again = (await orders.bulk(batch([order(confirmed)]))).body.data[0]
    await orders.rows(`update orders set status_key = 'key_12' where waybill_number = $1`, [again])
    await page.goto(`${url}#/parcel/${again}`)
    await deliverFor(page)
    await panel('Money').getByText('With the rider').waitFor()
    await page.goto(`${url}#/cash`)
    await panel('Who holds cash').getByRole('button', { name: 'Hand over' }).click()
    await page.getByLabel('Counted').fill('2000')
    await panel('Hand over').getByRole('button', { name: 'Hand over' }).click()
    const open = panel('Handovers whose sums differ')
    await open.getByText('expected LKR 2,500, declared LKR 2,500, counted LKR 2,000').waitFor()
    await open.getByLabel('Decision').selectOption('owed')
    await open.getByLabel('Reason').fill('Friday')
    await open.getByRole('button', { name: 'Settle' }).click()
    await open.getByText('Somebody else must settle what you took.').waitFor()
    t.equal(opened.problems.splice(0).length, 1, 'the 422')
    await show(t, 'cash-open')
  })

  t.test('an invoice is made, submitted and approved', async t => {
    await page.goto(`${url}#/invoices`)
    await panel('Make invoices').getByLabel('Until').fill(today)
    await panel('Make invoices').getByRole('button').click()
    const draft = panel('Invoices').getByRole('link', { name: 'Draft' })
    await draft.waitFor()
    await show(t, 'invoices')
    await draft.click()
    await page.getByRole('button', { name: 'Submit', exact: true }).click()
    await page.getByRole('heading', { name: /^CFX.*0001$/ }).waitFor()
    await page.getByRole('button', { name: 'Approve', exact: true }).click()
    const sure = page.getByRole('button', { name: /^Press again: approve LKR/ })
    await sure.waitFor()
    t.strictSame(await orders.rows('select state from invoices'), [{ state: 'submitted' }], 'the first press asks')
    await sure.click()
    await page.getByText('Approved', { exact: true }).waitFor()
    await show(t, 'invoice')
    t.strictSame(opened.problems, [])
  })

  t.test('a batch of payments is made, released by a second person, saved, and settled', async t => {
    const staffOf = async (staff: string) => (await createTokenFor(orders.pool, { tenant: 'demo', staff })).token
    await preparePayer({ ...orders, staffOf })
    await page.goto(`${url}#/payouts`)
    await panel('Due for payment').getByText('Lanka Shoes').waitFor()
    await show(t, 'payouts')
    await page.getByRole('button', { name: 'Make a batch' }).click()
    await page.getByText('Waits for its release').waitFor()
    await show(t, 'payout-made')
    await page.getByRole('button', { name: 'Show the accounts' }).click()
    await page.getByText('0071234567').waitFor()
    await show(t, 'payout-accounts')
    await page.getByRole('button', { name: 'Release to the bank' }).click()
    await page.getByText('Dilani Perera made it: a second person must release it.').waitFor()
    t.equal(opened.problems.splice(0).length, 1, 'the 422')
    const release = '/api/staff/payout/PAY-00001/release'
    const second = { token: await staffOf('Ruwan') }
    await orders.send('GET', '/api/staff/payout/PAY-00001/lines', undefined, second)
    t.equal((await orders.send('POST', release, {}, second)).status, 200)
    await page.goto(`${url}#/payouts`)
    await panel('Batches').getByText('Released').waitFor()
    await panel('Batches').getByRole('link', { name: 'PAY-00001' }).click()
    const saving = page.waitForEvent('download')
    await page.getByRole('button', { name: 'CSV' }).click()
    t.equal((await saving).suggestedFilename(), 'PAY-00001.csv')
    await show(t, 'payout-released')
    await page.getByLabel('Bank reference').fill('BOC 2')
    await page.getByLabel('Paid on').fill(today)
    await page.getByRole('button', { name: 'Mark as paid' }).click()
    await page.getByText(`BOC 2, ${today}`).waitFor()
    await page.goto(`${url}#/parcel/${first}`)
    await panel('Money').getByText('Paid', { exact: true }).waitFor()
    t.strictSame(opened.problems, [])
  })

  t.test('an invoice offers only its own open disputes, also once it is cancelled', async t => {
    const line = { kind: 'disputed', booked_on: today, collected: 0, held: 1, net: -1 }
    let invoice = {
      id: 'X-1',
      document: 'invoice',
      invoice_no: 'X-1',
      merchant_id: 1,
      merchant_name: 'Shoes',
      state: 'approved',
      total: 1,
      versions: [],
    }
    let lines = ['DM1', 'DM2'].map(waybill_number => ({ ...line, waybill_number }))
    await page.route('**/api/staff/invoice/X-1', route => route.fulfill({ json: { data: { ...invoice, lines } } }))
    const held = { amount: 1, reason: 'x', since: '2026-02-19T00:00:00Z' }
    const held_for = [
      { ...held, waybill_number: 'DM2', invoice_no: 'X-1' },
      { ...held, waybill_number: 'DM3', invoice_no: 'X-2' },
    ]
    await page.route('**/api/staff/merchant/1/balance', route => route.fulfill({ json: { data: { held_for } } }))
    const readOffered = async () => {
      await page.goto(`${url}#/cash`)
      await page.goto(`${url}#/invoices/X-1`)
      await page.getByText('Settle a dispute').first().click()
      return (await page.getByLabel('Parcel', { exact: true }).locator('option').allTextContents()).slice(1)
    }
    t.strictSame(await readOffered(), ['DM2'], 'DM1 is settled')
    invoice = { ...invoice, state: 'cancelled' }
    lines = []
    t.strictSame(await readOffered(), ['DM2'])
    await page.unroute('**/api/staff/invoice/X-1')
    await page.unroute('**/api/staff/merchant/1/balance')
  })

  t.test('a handover of cash and a debt declares whole cents', async t => {
    const cash = { parcels: 1, amount: 2500.1, since: null }
    const people = [{ name: 'Sunil', ...cash, debt: 0.2, above_ceiling: false }]
    await page.route('**/api/staff/cash', route =>
      route.fulfill({ json: { data: { currency: 'LKR', ceiling: null, people, office: cash, clearing: cash } } }),
    )
    await page.goto(`${url}#/cash`)
    await panel('Who holds cash').getByRole('button', { name: 'Hand over' }).click()
    t.equal(await page.getByLabel('Declared').inputValue(), '2500.3')
    await page.unroute('**/api/staff/cash')
  })

  t.test('a lost parcel is compensated, and the merchant’s balance shows it', async t => {
    await page.goto(`${url}#/parcel/${lost}`)
    await page.getByText('Compensate for the loss').first().click()
    await page.getByLabel('Amount').fill('2500.01')
    await panel('Money').getByLabel('Reason').last().fill('Lost in the hub')
    await page.getByRole('button', { name: 'Compensate for the loss' }).click()
    await panel('Money').getByText('say why the goods are worth more').waitFor()
    await show(t, 'compensation')
    t.equal(opened.problems.splice(0).length, 1, 'the 422')
    await page.getByLabel('Amount').fill('1800.50')
    await page.getByRole('button', { name: 'Compensate for the loss' }).click()
    await panel('Money').getByText('Compensated').first().waitFor()
    await page.goto(`${url}#/merchants`)
    await page.getByRole('link', { name: 'Balance' }).first().click()
    await panel('Balance').getByText('LKR 1,800.50').first().waitFor()
    await show(t, 'balance')
    const statement = panel('Statement of account')
    await statement.getByText('Compensated').waitFor()
    t.match(await statement.locator('.details').textContent(), 'Opening balanceLKR 0')
    const saving = page.waitForEvent('download')
    await statement.getByRole('button', { name: 'CSV' }).click()
    t.match((await saving).suggestedFilename(), /^account-1-.*\.csv$/)
    await statement.getByLabel('To').fill('2020-01-31')
    await statement.getByText('Give a day from').waitFor()
    await statement.getByLabel('From').fill('2020-01-01')
    await statement.getByText('Nothing here.').waitFor()
    t.equal(opened.problems.splice(0).length, 1, 'the 422')
  })

  t.test('a correction is made with the fields of its kind, and a second person approves it', async t => {
    await page.goto(`${url}#/corrections`)
    await page.getByLabel('What to correct').selectOption('compensation')
    await page.getByLabel('Waybill number').fill(lost)
    await page.getByLabel('Amount').fill('-800.50')
    await page.getByLabel('Reason').fill('Found in Galle')
    await show(t, 'correction-form')
    await page.getByRole('button', { name: 'Correct the books' }).click()
    const list = panel('Corrections')
    await list.getByRole('button', { name: 'Approve' }).click()
    await list.getByText('a second person must approve it').waitFor()
    const [{ id }] = await orders.rows('select correction_id::text as id from corrections')
    const { status } = await orders.send(
      'POST',
      `/api/staff/ledger/correction/${id}/approve`,
      {},
      {
        token: (await createTokenFor(orders.pool, { tenant: 'demo', staff: 'Second' })).token,
      },
    )
    t.equal(status, 200)
    await page.getByLabel('What to correct').selectOption('returned_transfer')
    await page.getByLabel('Invoice', { exact: true }).fill('NONE')
    await page.getByLabel('Reason').fill('The account is closed')
    await page.getByRole('button', { name: 'Correct the books' }).click()
    await page.getByText('Not found').or(page.locator('.error')).first().waitFor()
    await page.reload()
    await list.getByText('Approved').waitFor()
    await show(t, 'corrections')
    opened.problems.splice(0)
    await page.goto(`${url}#/parcel/${lost}`)
    await panel('Money').getByText('Found in Galle').waitFor()
  })

  t.test('the audit shows who did what, and can be narrowed and saved', async t => {
    await page.goto(`${url}#/audit`)
    await page.getByText('correction.approved').first().waitFor()
    await page.getByLabel('Action').selectOption('correction')
    await page.getByLabel('Who').fill('Second')
    await page.getByLabel('Who').press('Enter')
    await page.getByText('correction.made').first().waitFor({ state: 'detached' })
    await page.getByText('correction.approved').waitFor()
    await show(t, 'audit')
    const saving = page.waitForEvent('download')
    await page.getByRole('button', { name: 'CSV' }).click()
    t.match((await saving).suggestedFilename(), /^audit-.*\.csv$/)
  })

  for (const language of ['si', 'ta'])
    t.test(`the money screens fit in ${language}`, async t => {
      await page.locator('select.quiet').selectOption(language)
      for (const screen of [
        'cash',
        'invoices',
        'payouts',
        'payouts/PAY-00001',
        'corrections',
        'audit',
        'merchants/1',
      ]) {
        await page.goto(`${url}#/${screen}`)
        await page.locator('.panel').first().waitFor()
        await show(t, `${screen.replace('/', '-')}-${language}`)
      }
    })
}
