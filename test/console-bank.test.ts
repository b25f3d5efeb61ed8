import t from 'tap'
import { batch, order } from '../services/orders/test/tenant.ts'
import { launchBrowser, showScreen } from './browser.ts'
import { deliverFor, openConsole, signIn, startConsole } from './console.ts'

const browser = await launchBrowser(t)
if (browser) {
  const { url, orders } = await startConsole(t)
  const opened = await openConsole(t, browser, url)
  const { page } = opened
  await signIn(page)
  /** Reads what entries of the bank booked, by account, without what they took back. */
  const readBank = async () =>
    (
      await orders.rows(`select debit, sum(amount)::float8 as sum from bank_entries where state = 'approved'
        group by debit having sum(amount) <> 0 order by debit`)
    ).map(({ debit, sum }) => [debit, sum])
  const panel = (name: string) => page.getByRole('region', { name, exact: true })

  t.test('lines of a bank statement are entered, and a wrong one is taken back by its opposite', async t => {
    await page.goto(`${url}#/bank`)
    await panel('Entries of the bank').getByText('Nothing here.').waitFor()
    const form = page.getByRole('region', { name: 'Enter a line of the bank' })
    const enter = () => form.getByRole('button', { name: 'Enter a line of the bank' }).click()
    await form.getByLabel('Amount').fill('250.50')
    await form.getByLabel('Bank reference').fill('F 1')
    await form.getByLabel('Reason').fill('Fees of February')
    await enter()
    const list = panel('Entries of the bank')
    await list.getByText('Fees of February').waitFor()
    await form.getByLabel('What the statement shows').selectOption('direct_debit')
    await form.getByLabel('Amount').fill('1200')
    await form.getByLabel('Bank reference').fill('L 1')
    await form.getByLabel('Reason').fill('Rent')
    await enter()
    await list.getByText('Rent').waitFor()
    await list.getByRole('button', { name: 'Take back' }).first().click()
    t.equal(await form.getByLabel('What the statement shows').inputValue(), 'direct_debit')
    t.equal(await form.getByLabel('Amount').inputValue(), '-1200')
    await form.getByLabel('Bank reference').fill('L 2')
    await form.getByLabel('Reason').fill('Of another company')
    await showScreen(t, page, 'bank-take-back')
    await enter()
    await list.getByText('Of another company').waitFor()
    t.strictSame(await readBank(), [['bank_fees', 250.5]])

    await orders.rows(`update tenants set tax_percent = 18, withholding = '[{"name": "INCOME", "rates": [
      {"from": "2025-07-01", "goods": "shoes", "registered": false, "payment": "cash", "percent": 4.5}]}]'`)
    await page.reload()
    await panel('Taxes and withholdings').getByText('Withholding INCOME').waitFor()
    t.match(await panel('Taxes and withholdings').getByRole('row').allInnerTexts(), [
      /%/,
      /^Tax\s+18\s+any$/,
      /^Withholding INCOME\s+4.5\s+2025-07-01\s+shoes, merchant not registered, paid in cash$/,
    ])
    await orders.rows('update tenants set withholding = null')
    const taxed = (await orders.bulk(batch([order({ initial_status_key: 'key_2', cod: 2500, weight: 1 })]))).body
      .data[0]
    await orders.rows(`update orders set status_key = 'key_12' where waybill_number = $1`, [taxed])
    await page.goto(`${url}#/parcel/${taxed}`)
    await deliverFor(page)
    await panel('Money').getByText('With the rider').waitFor()
    await page.goto(`${url}#/bank`)
    await form.getByLabel('What the statement shows').selectOption('remitted')
    await form.getByLabel('Tax account').selectOption('tax')
    t.match(await form.getByLabel('Tax account').locator('option:checked').textContent(), /^tax \(LKR [\d.]+\)$/)
    await form.getByLabel('Amount').fill('50')
    await form.getByLabel('Bank reference').fill('T 1')
    await form.getByLabel('Reference of the tax office').fill('VAT 2026-02')
    await showScreen(t, page, 'bank-remit')
    await enter()
    await list.getByText('tax: VAT 2026-02').waitFor()
    await form.getByLabel('What the statement shows').selectOption('cash_written_off')
    t.equal(await form.getByLabel('Bank reference').count(), 0)
    await form.getByLabel('Amount').fill('1')
    await form.getByLabel('Reason').fill('Never found')
    await enter()
    await form.getByText('cash_differences holds 0').waitFor()
    t.equal(opened.problems.splice(0).length, 1, 'the 422')
    await orders.rows(`update tenants set four_eyes = true`)
    await form.getByLabel('What the statement shows').selectOption('bank_fee')
    await form.getByLabel('Amount').fill('10')
    await form.getByLabel('Bank reference').fill('F 2')
    await enter()
    await list.getByText('Waits for a second person').waitFor()
    await showScreen(t, page, 'bank')
    await list.getByRole('button', { name: 'Approve' }).click()
    await list.getByText('a second person must approve it').waitFor()
    t.equal(opened.problems.splice(0).length, 1, 'the 422')
    await list.getByRole('button', { name: 'Reject' }).click()
    await list.getByText('Rejected').waitFor()
    t.strictSame(await readBank(), [
      ['bank_fees', 250.5],
      ['tax', 50],
    ])
    t.strictSame(opened.problems, [])
    for (const language of ['si', 'ta']) {
      await page.locator('select.quiet').selectOption(language)
      await page.locator('.panel table').first().waitFor()
      await showScreen(t, page, `bank-${language}`)
    }
    t.strictSame(opened.problems, [])
  })
}
