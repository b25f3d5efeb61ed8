import t from 'tap'
import { ordersFixture } from '../services/orders/test/orders-fixture.ts'
import { shortStatuses, tenantFile } from '../services/orders/test/tenant.ts'
import { launchBrowser } from './browser.ts'
import { openDesk, showDesk, showInLanguages } from './desk.ts'

const browser = await launchBrowser(t)
if (browser) {
  const file = { ...tenantFile({ tax_percent: 18, money: { payable_when: 'delivered' } }), statuses: shortStatuses }
  const { app, make, move, request, staffOf, readFacts } = await ordersFixture(t, { file })
  const url = `${await app.listen({ host: '127.0.0.1', port: 0 })}/desk/`
  const token = await staffOf('Chamari')
  const { today } = await readFacts()
  const staff = async (path: string, body: object = {}) =>
    (await request('POST', `/api/staff/invoice${path}`, body, { token })).body.data
  const waybills = ['DM98000001', 'DM98000002']
  await make(waybills, { initial_status_key: 'key_2', cod: 1000, weight: 1 })
  await move(waybills, 'key_13', { collected_by: 'Nimal' })
  const [{ id }] = await staff('', { all: true, until: today })
  const { invoice_no: no } = await staff(`/${id}/submit`)
  const { open, problems } = await openDesk(t, browser, url)
  const page = await open()

  t.test('a merchant disputes a parcel beside its lines, and keeps what it saw', async t => {
    await page.getByRole('link', { name: 'Money' }).click()
    await page.getByRole('link', { name: no }).click()
    const lines = page.getByRole('region', { name: 'Lines' })
    await lines.getByText('Choose a parcel first.').waitFor()
    await showDesk(t, page, 'invoice')
    await lines.getByLabel(`Choose ${waybills[0]}`).check()
    await lines.getByLabel('What is wrong').fill('The parcel came open')
    await lines.getByRole('button', { name: 'Dispute the chosen parcels (1)' }).click()
    await lines.getByText('Disputed').waitFor()
    const versions = page.getByRole('region', { name: 'Versions and credit notes' })
    const download = page.waitForEvent('download')
    await versions.getByRole('button', { name: 'Version 1' }).click()
    t.equal((await download).suggestedFilename(), `${no}-1.pdf`)
    const credit = page.waitForEvent('download')
    await versions.getByRole('button', { name: /^CN-/ }).click()
    t.match((await credit).suggestedFilename(), /^CN-.*\.pdf$/)
    await lines.getByLabel(`Choose ${waybills[1]}`).check()
    t.ok(await page.getByRole('button', { name: 'Approve' }).isDisabled(), 'a parcel is ticked')
    await page.getByText('Parcels are ticked for a dispute (1).').waitFor()
    await showDesk(t, page, 'invoice-ticked')
    await showInLanguages(t, page, 'invoice-ticked', 'td a')
    await lines.getByLabel(`Choose ${waybills[1]}`).uncheck()
    await page.getByRole('button', { name: 'Approve' }).click()
    await page.getByRole('button', { name: /^Press again: approve LKR/ }).waitFor()
    await lines.getByLabel(`Choose ${waybills[1]}`).check()
    await page.getByText('Parcels are ticked for a dispute (1).').waitFor()
    await lines.getByLabel('What is wrong').fill('This one too')
    await lines.getByRole('button', { name: /^Dispute/ }).click()
    await page.getByText('Nothing is left to pay').waitFor()
    t.equal(await page.getByRole('button', { name: 'Approve' }).count(), 0)
    await showDesk(t, page, 'invoice-waits')
    await showInLanguages(t, page, 'invoice', 'td a')
  })

  t.test('a parcel shows what was collected and charged, and where its money is', async t => {
    await page.goto(`${url}#/parcel/${waybills[0]}`)
    const money = page.getByRole('region', { name: 'Money' })
    await money.getByText('Held for disputes').waitFor()
    await money.getByRole('link', { name: no }).waitFor()
    t.same(await money.locator('dd').allTextContents(), ['LKR 1,000', 'Cash', 'LKR 450', 'LKR 81', 'LKR 0', no])
    await showDesk(t, page, 'parcel-money')
    await showInLanguages(t, page, 'parcel-money', 'dd a')
    const others = problems.filter(problem => !problem.includes('503'))
    t.strictSame(others, [], 'only the messages of the parcel are missing: no notifier runs')
  })
}
