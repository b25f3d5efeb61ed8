import t from 'tap'
import { phoneNumberId } from '../services/notifier/test/fixture.ts'
import { batch, order } from '../services/orders/test/tenant.ts'
import { launchBrowser } from './browser.ts'
import { deliverFor, openConsole, signIn, startConsole } from './console.ts'

const browser = await launchBrowser(t)
if (browser) {
  const { url, orders, notifier } = await startConsole(t)
  const opened = await openConsole(t, browser, url)
  const { page } = opened
  await signIn(page)

  t.test('a reply that is being written stays while older messages are read', async t => {
    const phone = '94770000101'
    await notifier.rows(
      `with opened as (
         insert into conversations (tenant_id, phone_number_id, recipient, last_inbound_at)
         values ('demo', $1, $2, now())
       )
       insert into inbound_messages (tenant_id, phone_number_id, inbound_id, recipient, type, text, happened_at)
       select 'demo', $1, n::text, $2, 'text', 'Message ' || n, now() - make_interval(mins => n)
       from generate_series(1, 120) n`,
      [phoneNumberId, phone],
    )
    await page.goto(`${url}#/conversations/${phone}`)
    await page.locator('#reply').fill('It arrives tomorrow')
    await page.getByRole('button', { name: 'Older messages' }).click()
    await page.getByText('Message 100').waitFor()
    t.equal(await page.locator('#reply').inputValue(), 'It arrives tomorrow')
  })

  t.test('a bank reference that is being written stays while other cash arrives at the office', async t => {
    const confirmed = { initial_status_key: 'key_2', cod: 2500 }
    const waybills: string[] = (await orders.bulk(batch([order(confirmed), order(confirmed)]))).body.data
    await orders.rows(`update orders set status_key = 'key_12' where waybill_number = any($1)`, [waybills])
    const deliver = async (waybill: string | undefined) => {
      await page.goto(`${url}#/parcel/${waybill}`)
      await deliverFor(page)
      await page.getByRole('region', { name: 'Money' }).getByText('With the rider').waitFor()
    }
    const handOver = async () => {
      await page.getByRole('region', { name: 'Who holds cash' }).getByRole('button', { name: 'Hand over' }).click()
      await page.getByLabel('Counted').fill('2500')
      await page.getByRole('region', { name: 'Hand over', exact: true }).getByRole('button').click()
    }
    const office = page.getByRole('region', { name: 'Office and bank' })
    await deliver(waybills[0])
    await page.goto(`${url}#/cash`)
    await handOver()
    await office.getByText('LKR 2,500 from 1 parcels').waitFor()
    await deliver(waybills[1])
    await page.goto(`${url}#/cash`)
    await office.getByLabel('Bank reference').fill('BOC 4711')
    await handOver()
    await office.getByText('LKR 5,000 from 2 parcels').waitFor()
    t.equal(await office.getByLabel('Bank reference').inputValue(), 'BOC 4711')
    t.equal(await office.getByLabel('Amount').inputValue(), '2500', 'the amount that the person has counted')
  })

  t.test('a reason that is being written stays while the parcel moves', async t => {
    const [waybill] = (await orders.bulk(batch([order({ initial_status_key: 'key_2' })]))).body.data
    await page.goto(`${url}#/parcel/${waybill}`)
    await page.locator('summary', { hasText: 'Compensate' }).click()
    await page.locator('#compensation-reason').fill('Lost in the flood')
    await orders.rows(`update orders set status_key = 'key_5' where waybill_number = $1`, [waybill])
    await page.locator('h1 + .badge', { hasText: 'PICKUP RIDER ASSIGNED' }).waitFor()
    t.equal(await page.locator('#compensation-reason').inputValue(), 'Lost in the flood')
  })
}
