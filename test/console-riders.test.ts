import t from 'tap'
import { addStaff } from '../services/orders/core/access/staff-commands.ts'
import { batch, order } from '../services/orders/test/tenant.ts'
import { findBarriers, launchBrowser, measureWidth } from './browser.ts'
import { openConsole, signIn, startConsole } from './console.ts'

const browser = await launchBrowser(t)
if (browser) {
  const { url, orders } = await startConsole(t)
  const password = 'riders-of-tests'
  await addStaff(
    orders.pool,
    { tenant: 'demo', email: 'nimal@courier.example', name: 'Nimal R', role: 'rider' },
    password,
  )
  const waybills: string[] = (await orders.bulk(batch([order({ initial_status_key: 'key_2' }), order()]))).body.data
  const { page, problems } = await openConsole(t, browser, url)
  await signIn(page)

  t.test('a dispatcher gives scanned parcels to a rider and sees the day', async t => {
    await page.goto(`${url}#/scan`)
    for (const waybill of waybills) {
      await page.locator('#scan').fill(waybill)
      await page.keyboard.press('Enter')
    }
    await page.getByText('Give to a rider').click()
    await page.locator('#give-rider').selectOption({ label: 'Nimal R' })
    await page.getByRole('button', { name: 'Give 2' }).click()
    await page.getByText('2 parcels were given.').waitFor()
    await page.goto(`${url}#/parcel/${waybills[0]}`)
    await page.getByText('Rider: Nimal R').waitFor()
    await page.goto(`${url}#/riders`)
    const row = page.getByRole('row', { name: /Nimal R/ })
    t.match(await row.textContent(), /2/)
    t.same(await findBarriers(page), [])
    t.ok(await measureWidth(page))
  })

  t.test('orders are filtered by rider; a rider gets a run sheet; who has the cash is the rider', async t => {
    const list = (await orders.bulk(batch([order({ initial_status_key: 'key_2' }), order()]))).body.data as string[]
    const [free = '', draft = ''] = list
    await page.goto(`${url}#/orders`)
    await page.locator('#filter-rider').selectOption({ label: 'Nimal R' })
    await page
      .getByRole('row')
      .filter({ hasText: waybills[0] ?? '' })
      .getByText('Nimal R')
      .waitFor()
    t.equal(await page.getByText(free).count(), 0)
    await page.locator('#filter-rider').selectOption({ label: 'With nobody' })
    await page.getByText(free).waitFor()
    await page.getByText(draft).waitFor()
    t.equal(
      await page
        .locator('tbody tr')
        .filter({ hasText: waybills[0] ?? '' })
        .count(),
      0,
    )
    await orders.rows(`update orders set status_key = 'key_12' where waybill_number = $1`, [waybills[0]])
    await page.goto(`${url}#/riders`)
    const [saved] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Run sheet' }).click(),
    ])
    t.equal(saved.suggestedFilename(), 'run-sheet.pdf')
    await page.goto(`${url}#/parcel/${waybills[0]}`)
    await page.getByRole('button', { name: 'DELIVERED', exact: true }).click()
    t.equal(await page.getByLabel('Who has the cash').inputValue(), 'Nimal R')
    await page.goto(`${url}#/riders`)
  })

  t.test('a code signs a phone in, which the console lists and ends', async t => {
    await page.getByRole('button', { name: 'Phones' }).click()
    await page.getByRole('button', { name: 'Show a sign-in code' }).click()
    await page.getByRole('img', { name: 'QR code' }).waitFor()
    const [{ staff_id }] = await orders.rows(`select staff_id from staff where name = 'Nimal R'`)
    const login = { email: 'nimal@courier.example', password }
    const options = { token: '' }
    const { body } = await orders.send('POST', '/api/staff/login', login, options)
    await page.reload()
    await page.getByRole('button', { name: 'Phones' }).click()
    await page.getByText('Signed in with a password').waitFor()
    await page.getByRole('region', { name: 'Sign-in of Nimal R' }).getByRole('button', { name: 'Sign out' }).click()
    await page.getByText('No phone is signed in.').waitFor()
    t.ok(staff_id && body.token)
    const left = await orders.rows('select from tokens where staff_id = $1 and revoked_at is null', [staff_id])
    t.equal(left.length, 0)
  })

  t.test('a refused act is decided on the screen', async t => {
    const signedIn = await orders.send(
      'POST',
      '/api/staff/login',
      { email: 'nimal@courier.example', password },
      { token: '' },
    )
    const act = { id: 'act-of-tests', kind: 'deliver', waybill_number: waybills[1], cod: 4500, amount: 4500 }
    const acts = [{ ...act, happened_at: new Date().toISOString() }]
    const { token } = signedIn.body
    t.match((await orders.send('POST', '/api/staff/rider/acts', { acts }, { token })).body.data, [{ code: 'moved' }])
    await page.goto(`${url}#/riders`)
    await page.reload()
    await page.getByText('Dismiss it').first().click()
    const form = page.locator('details[open] form')
    await form.locator('input').first().fill('It is a draft')
    await form.getByRole('button').click()
    await page.getByText('No act waits for a decision.').waitFor()
    const [{ decision }] = await orders.rows('select decision from rider_acts')
    t.equal(decision, 'dismissed')
    t.same(
      problems.filter(text => !/status of (404|422)/.test(text)),
      [],
    )
  })
}
