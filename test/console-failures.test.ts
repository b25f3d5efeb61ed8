import t, { type Test } from 'tap'
import { batch, order } from '../services/orders/test/tenant.ts'
import { launchBrowser, showScreen } from './browser.ts'
import { openConsole, signIn, startConsole } from './console.ts'

const browser = await launchBrowser(t)
if (browser) {
  const { url, orders } = await startConsole(t)
  const confirmed = { initial_status_key: 'key_2' }
  const [waybill = '', other = ''] = (
    await orders.bulk(batch([order({ ...confirmed, order_no: 'LS-7', cod: 1850 }), order(confirmed)]))
  ).body.data
  await orders.rows(`update orders set status_key = 'key_12' where waybill_number = any($1)`, [[waybill, other]])
  const opened = await openConsole(t, browser, url)
  const { page } = opened
  await signIn(page)
  const show = (t: Test, screen: string) => showScreen(t, page, screen)
  const panel = (name: string) => page.getByRole('region', { name, exact: true })

  t.test('staff mark two deliveries as failed, say why, and decide what happens', async t => {
    for (const each of [waybill, other]) {
      await page.goto(`${url}#/parcel/${each}`)
      await panel('Move to').getByLabel('Reason').selectOption({ label: 'Nobody at home' })
      await page.getByRole('button', { name: 'RETURN TO DESTINATION WAREHOUSE', exact: true }).click()
      await panel('Failed attempts: 1').waitFor()
    }
    await show(t, 'parcel-failed')
    await page.goto(`${url}#/failures`)
    const row = (name: string) => page.getByRole('row').filter({ hasText: name })
    await row(waybill).getByText('Nobody at home').waitFor()
    await row(waybill).getByText('None yet').waitFor()
    t.match(await row(waybill).innerText(), /LS-7\s+Nimali Perera\s+0770000101\s+LKR 1,850/)
    t.equal(await row(waybill).getByRole('link', { name: '0770000101' }).getAttribute('href'), 'tel:0770000101')
    await row(waybill).getByRole('button', { name: 'Decide' }).click()
    const form = panel(`Decide: ${waybill}`)
    await form.getByLabel('What happens').selectOption({ label: 'Deliver on a day' })
    await form.getByRole('button', { name: 'Save the instruction' }).click()
    await form.getByText('State the date: the action is reschedule.').waitFor()
    await show(t, 'failures-form')
    await form.getByLabel('What happens').selectOption({ label: 'Deliver again' })
    await form.getByLabel('Note for the rider').fill('Ring twice')
    await form.getByRole('button', { name: 'Save the instruction' }).click()
    await row(waybill).getByText('Ring twice').waitFor()
    await show(t, 'failures')
    t.match(
      await orders.rows('select waybill_number, reason_code, action, note, given_as from attempts order by attempt_id'),
      [
        { waybill_number: waybill, action: 'reattempt', note: 'Ring twice', given_as: 'staff' },
        { waybill_number: other, reason_code: 'not_home', action: null },
      ],
    )
  })

  t.test('a scanned parcel is moved to a failed status with the reason', async t => {
    const [scanned = ''] = (await orders.bulk(batch([order(confirmed)]))).body.data
    await orders.rows(`update orders set status_key = 'key_12' where waybill_number = $1`, [scanned])
    await page.goto(`${url}#/scan`)
    await page.locator('#scan').fill(scanned)
    await page.keyboard.press('Enter')
    await page.locator('#scan-status').selectOption('key_13')
    t.equal(await page.getByLabel('Reason').count(), 0, 'a delivery needs no reason')
    await page.locator('#scan-status').selectOption('key_15')
    await page.getByLabel('Reason').selectOption({ label: 'Phone off' })
    await show(t, 'scan-failed')
    await page.locator('button.primary', { hasText: 'Move' }).click()
    await page.locator('tbody .badge', { hasText: 'RETURN TO DESTINATION WAREHOUSE' }).waitFor()
    const found = await orders.rows('select reason_code from attempts where waybill_number = $1', [scanned])
    t.strictSame(found, [{ reason_code: 'phone_off' }])
    await orders.rows('update attempts set is_open = false where waybill_number = $1', [scanned])
  })

  t.test('the filter shows only deliveries without an instruction, and the run sheet is saved', async t => {
    await page.goto(`${url}#/failures?instructed=false`)
    await page.getByRole('link', { name: other }).waitFor()
    t.equal(await page.getByRole('link', { name: waybill }).count(), 0)
    const download = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Run sheet of reattempts' }).click()
    t.equal((await download).suggestedFilename(), 'run-sheet.pdf')
    t.strictSame(
      opened.problems.filter(problem => !problem.includes('422')),
      [],
    )
  })

  t.test('the run sheet of reattempts is for the company’s day, wherever the person is', async t => {
    const { page } = await openConsole(t, browser, url, { timezoneId: 'Pacific/Kiritimati' })
    // In Colombo it is still the day before.
    await page.clock.setFixedTime('2026-11-24T12:00:00Z')
    await signIn(page)
    await page.goto(`${url}#/failures`)
    const sent = page.waitForRequest(request => request.url().endsWith('/run-sheet') && request.method() === 'POST')
    await page.getByRole('button', { name: 'Run sheet of reattempts' }).click()
    t.match((await sent).postDataJSON(), { reattempts_by: '2026-11-24', title: /2026-11-24/ })
  })

  t.test('the list fits in Sinhala and Tamil', async t => {
    for (const language of ['si', 'ta']) {
      await page.getByRole('combobox').first().selectOption(language)
      await page.goto(`${url}#/failures`)
      await page.getByRole('link', { name: waybill }).waitFor()
      await show(t, `failures-${language}`)
    }
  })
}
