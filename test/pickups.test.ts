import t from 'tap'
import { addStaff } from '../services/orders/core/access/staff-commands.ts'
import { batch, order } from '../services/orders/test/tenant.ts'
import { launchBrowser, showScreen } from './browser.ts'
import { openConsole, signIn, startConsole } from './console.ts'
import { openDesk } from './desk.ts'

const browser = await launchBrowser(t)
if (browser) {
  const { url, ordersUrl, orders } = await startConsole(t)
  await addStaff(
    orders.pool,
    { tenant: 'demo', email: 'nimal@courier.example', name: 'Nimal R', role: 'rider' },
    'riders-of-tests',
  )
  const confirmed = order({ initial_status_key: 'key_2' })
  const waybills: string[] = (await orders.bulk(batch([confirmed, confirmed, confirmed]))).body.data
  const [{ day }] = await orders.rows(
    `select (now() at time zone time_zone)::date::text as day from tenants where tenant_id = 'demo'`,
  )
  const [{ later }] = await orders.rows('select ($1::date + 3)::text as later', [day])
  const { open } = await openDesk(t, browser, `${ordersUrl}/desk/`)
  const desk = await open()
  await desk.setViewportSize({ width: 390, height: 844 })
  const { page, problems } = await openConsole(t, browser, url)
  await signIn(page)

  t.test('a merchant adds its address, asks for a pickup and writes to the company, on a phone', async t => {
    await desk.goto(`${ordersUrl}/desk/#/pickups`)
    await desk.locator('#address-name').fill('Shop')
    await desk.locator('#address-address').fill('12 Temple Road')
    await desk.locator('#address-phone').fill('0112000100')
    await desk.locator('#address-city_id').fill('Kotte')
    await desk.locator('#address-city_id-options option').first().waitFor({ state: 'attached' })
    await desk.locator('#address-city_id').fill('Kotte, Colombo')
    await desk.locator('#address-city_id').blur()
    await desk.getByRole('button', { name: 'Add the address' }).click()
    await desk.locator('#pickup-day').fill(day)
    await desk.getByRole('button', { name: 'Ask for a pickup' }).click()
    await desk.getByText('All confirmed', { exact: true }).waitFor()
    await desk.locator('#ticket-subject').fill('Bring bags')
    await desk.getByRole('button', { name: 'Send', exact: true }).click()
    await desk.getByRole('cell', { name: /Bring bags/ }).waitFor()
    await showScreen(t, desk, 'pickups-desk')
  })

  t.test('a merchant asks for chosen parcels alone', async t => {
    await desk.goto(`${ordersUrl}/desk/#/orders`)
    await desk.getByRole('checkbox', { name: new RegExp(waybills[0] ?? '') }).check()
    await desk.getByRole('link', { name: 'Ask for a pickup' }).click()
    await desk.getByText(`Chosen parcels: ${waybills[0]}`).waitFor()
    await desk.locator('#pickup-day').fill(later)
    await desk.getByRole('button', { name: 'Ask for a pickup' }).click()
    await desk.getByText('Chosen parcels:').waitFor({ state: 'detached' })
    const asked = (await orders.send('GET', '/api/public/merchant/pickup')).body.data
    t.match(
      asked.find((pickup: { day: string }) => pickup.day === later),
      { waybill_numbers: [waybills[0]] },
    )
    await orders.rows(`delete from pickups where day = $1`, [later])
  })

  t.test('dispatch assigns the pickup, scans two of three, and counts them', async t => {
    await page.goto(`${url}#/pickups`)
    await page.getByRole('link', { name: /Lanka Shoes/ }).waitFor()
    await showScreen(t, page, 'pickups-console')
    await page.getByRole('link', { name: /Lanka Shoes/ }).click()
    await page.getByText('Assign to a rider').first().click()
    await page.locator('#assign-rider').fill('Nimal R')
    await page.getByRole('button', { name: 'Assign to a rider' }).click()
    await page.getByText('Nimal R').waitFor()
    for (const waybill of waybills.slice(0, 2)) {
      await page.locator('#scan').fill(waybill)
      await page.keyboard.press('Enter')
    }
    await page.getByText('Scanned 2, expected 3, missing 1').waitFor()
    await page.reload()
    await page.getByText('Scanned 2, expected 3, missing 1').waitFor()
    await showScreen(t, page, 'pickups-count')
    await page.getByRole('button', { name: 'Done', exact: true }).click()
    await page.getByRole('button', { name: /Press again/ }).click()
    const [saved] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Receipt (PDF)' }).click(),
    ])
    t.match(saved.suggestedFilename(), /^pickup-\d+\.pdf$/)
    await showScreen(t, page, 'pickups-done')
    const moved = await orders.rows(`select waybill_number from orders where status_key = 'key_6'`)
    t.same(moved.map(row => row.waybill_number).sort(), waybills.slice(0, 2).sort())
  })

  t.test('staff reply to the message; the merchant reads it, and its receipt on the phone', async t => {
    await page.goto(`${url}#/pickups`)
    await page.getByText('Reply', { exact: true }).first().click()
    await page.locator('details[open] form input').first().fill('We will')
    await page.locator('details[open] form').getByRole('button').click()
    await page.getByText('We will').waitFor()
    await page.getByRole('button', { name: 'Close', exact: true }).click()
    await page.getByText('Closed', { exact: true }).waitFor()
    await desk.setViewportSize({ width: 390, height: 844 })
    await desk.reload()
    await desk.getByText('We will').waitFor()
    await desk.getByText('Missing 1, extra 0').waitFor()
    const [saved] = await Promise.all([
      desk.waitForEvent('download'),
      desk.getByRole('button', { name: 'Receipt (PDF)' }).click(),
    ])
    t.match(saved.suggestedFilename(), /^pickup-\d+\.pdf$/)
    await showScreen(t, desk, 'pickups-receipt')
    t.same(problems, [])
  })
}
