import { setTimeout as delay } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import t from 'tap'
import { addStaff } from '../services/orders/core/access/staff-commands.ts'
import { createTokenFor } from '../services/orders/core/access/token-commands.ts'
import { batch, order } from '../services/orders/test/tenant.ts'
import { launchBrowser } from './browser.ts'
import { request, waitUntil } from './courier.ts'
import { prepareOrders } from './orders-process.ts'
import {
  confirm,
  loseResponse,
  openForm,
  openParcel,
  openPhone,
  riderPassword,
  signInRider,
  waitForSent,
  waitForWorker,
} from './rider.ts'

const parcels = 60
/** Names what breaks during an act; each act takes the next one. */
const breaks = ['before', 'form', 'seconds', 'closed', 'response', 'killed', 'nothing'] as const
/** Names what the rider does; each parcel takes the next one. */
const doings = ['cash', 'card', 'less', 'fail', 'hand_back', 'undone', 'cash'] as const

// A day takes minutes in a busy test run.
t.setTimeout(600_000)
const browser = await launchBrowser(t)
if (browser) {
  const { pool, orders, start } = await prepareOrders(t)
  const email = 'nimal@courier.example'
  await addStaff(pool, { tenant: 'demo', email, name: 'Nimal Fonseka', role: 'rider' }, riderPassword)
  const { token: staff } = await createTokenFor(pool, { tenant: 'demo', staff: 'Dilani' })
  const { token: merchant } = await createTokenFor(pool, { tenant: 'demo', merchant: 'shop@example.com' })
  const post = async (path: string, body: object, token = staff) => {
    const { status, body: data } = await request(`${orders.url}/api${path}`, { token, body })
    if (status !== 200) throw new Error(JSON.stringify(data))
    return data
  }
  /** Books parcels, moves them to the rider's status and gives them to the rider. */
  const prepare = async (): Promise<string[]> => {
    const booked = Array.from({ length: parcels }, (_, n) => order({ initial_status_key: 'key_2', cod: 1_000 + n }))
    const { data } = await post('/public/merchant/order/bulk', batch(booked), merchant)
    for (const key of [9, 10, 11, 12])
      await post('/staff/order/status', { waybill_numbers: data, status_key: `key_${key}` })
    await post('/staff/order/assign', { waybill_numbers: data, rider: 'Nimal Fonseka' })
    return data
  }

  t.test('a day of 60 parcels loses and doubles nothing, wherever the network and the service break', async t => {
    await start()
    const waybills = await prepare()
    const { context, open, problems } = await openPhone(t, browser, orders.url)
    let page = await open()
    await signInRider(page, email)
    await waitForWorker(page)
    /** Holds what the day must lead to: the status of each parcel, and the cash and other money of delivered ones. */
    const model = { cash: 0, others: 0, statuses: new Map<string, string>(), acts: 0 }
    const kills: Promise<unknown>[] = []

    const reopen = async (): Promise<Page> => {
      await page.close()
      page = await open()
      await page.locator('.totals').waitFor()
      return page
    }
    const killWhenActsArrive = () =>
      context.route('**/rider/acts', async route => {
        await context.unroute('**/rider/acts')
        const sending = route.continue()
        kills.push(
          delay(5)
            .then(() => orders.stop('SIGKILL'))
            .then(start),
        )
        await sending.catch(() => undefined)
      })

    for (const [at, waybill] of waybills.entries()) {
      const broken = breaks[at % breaks.length]
      const doing = doings[Math.floor(at / 2) % doings.length] ?? 'cash'
      const cod = 1_000 + at
      if (broken === 'before') await context.setOffline(true)
      if (broken === 'response') await loseResponse(context)
      if (broken === 'killed') await killWhenActsArrive()
      await openParcel(page, waybill)
      await openForm(page, doing === 'fail' || doing === 'hand_back' ? doing : 'deliver')
      if (broken === 'form') await context.setOffline(true)
      if (doing === 'fail') {
        await page.locator('.stack > .button.big').first().click()
        await page.locator('.totals').waitFor()
      } else {
        if (doing === 'card') await page.locator('#method').selectOption('card')
        if (doing === 'less') {
          await page.locator('#amount').fill(String(cod - 500))
          await page.locator('#reason').fill('Agreed by phone')
        }
        await confirm(page)
      }
      if (broken === 'seconds') await context.setOffline(true)
      if (doing === 'undone') {
        await page.getByRole('button', { name: /^Undo/ }).click()
        await openParcel(page, waybill)
        await openForm(page, 'deliver')
        await confirm(page)
      }
      if (broken === 'closed') await reopen()
      if (at % 3 === 2) await context.setOffline(false)
      model.acts += 1
      model.statuses.set(waybill, doing === 'fail' ? 'failed' : doing === 'hand_back' ? 'back' : 'key_13')
      if (doing === 'card') model.others += cod
      else if (doing === 'less') model.cash += cod - 500
      else if (doing === 'cash' || doing === 'undone') model.cash += cod
    }
    await context.setOffline(false)
    await page.getByText(`LKR ${model.cash.toLocaleString('en')}`).waitFor()
    await Promise.all(kills)
    t.ok(kills.length > 3, `the service was killed ${kills.length} times while acts arrived`)
    await page.reload()
    await waitForSent(page)

    const rows = async (sql: string) => (await pool.query(sql)).rows
    const [{ acts, ids }] = await rows(
      'select count(*)::int as acts, count(distinct act_id)::int as ids from rider_acts',
    )
    t.strictSame({ acts, ids }, { acts: model.acts, ids: model.acts }, 'every act arrived once')
    t.strictSame(await rows('select waybill_number, code from rider_acts where code is not null'), [])
    const delivered = await rows(`select waybill_number from order_events where status_key = 'key_13'`)
    const wanted = waybills.filter(waybill => model.statuses.get(waybill) === 'key_13')
    t.strictSame(delivered.map(row => row.waybill_number).sort(), wanted.sort(), 'each was delivered once')
    const { body } = await request(`${orders.url}/api/staff/cash`, { token: staff })
    t.equal(body.data.people.find((one: { name: string }) => one.name === 'Nimal Fonseka')?.amount, model.cash)
    t.equal(body.data.clearing.amount, model.others)
    await waitUntil(
      'the page shows the cash of the model',
      () => page.locator('.totals .cash').innerText(),
      text => text.includes(`LKR ${model.cash.toLocaleString('en')}`),
    )
    t.strictSame(problems, [])
  })
}
