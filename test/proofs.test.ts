import t from 'tap'
import { ridersFixture } from '../services/orders/test/riders-fixture.ts'
import { findBarriers, launchBrowser } from './browser.ts'
import { openDesk } from './desk.ts'

const browser = await launchBrowser(t)
if (browser) {
  const fixture = await ridersFixture(t)
  const { app, nimal, makeReady, assign, act } = fixture
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  const waybill = 'DM00000001'
  await makeReady([waybill])
  await assign([waybill], nimal.id)
  const isLoaded = `[...document.images].every(image => image.complete && image.naturalWidth === 40)`

  t.test('the desk shows its merchant a photo once they ask, and the signed tracking page the recipient', async t => {
    const desk = await openDesk(t, browser, `${url}/desk/`)
    const page = await desk.open()
    const photo = await page.evaluate<string>(`(() => {
      const canvas = Object.assign(document.createElement('canvas'), { width: 40, height: 30 })
      canvas.getContext('2d').fillRect(0, 0, 40, 30)
      return canvas.toDataURL('image/jpeg').split(',')[1]
    })()`)
    const done = await act(nimal, 'deliver', waybill, { cod: 4500, amount: 4500, proof: { photo, signature: photo } })
    t.match(done, { outcome: 'done' })
    await page.goto(`${url}/desk/#/parcel/${waybill}`)
    const proofs = page.getByRole('region', { name: 'Proof' })
    await proofs.getByText('Photo, delivered').waitFor()
    t.equal(await proofs.locator('img').count(), 0)
    for (const kind of ['Photo', 'Signature']) {
      await proofs.getByRole('listitem').filter({ hasText: kind }).getByRole('button', { name: 'Show' }).click()
      await proofs.getByRole('img', { name: kind }).waitFor()
    }
    await page.waitForFunction(isLoaded)
    t.strictSame(await findBarriers(page), [])

    const bearer = { authorization: `Bearer ${fixture.ordersOptions.serviceToken}` }
    const details = (await app.inject({ url: `/internal/orders/demo/${waybill}`, headers: bearer })).json().data
    const problems: string[] = []
    page.on('console', message => message.type() === 'error' && problems.push(message.text()))
    await page.goto(`${url}/t/demo/${waybill}/${details.tracking_code}`)
    await page.getByRole('img', { name: 'Photo of the door' }).waitFor()
    await page.waitForFunction(isLoaded)
    t.equal(await page.locator('img').count(), 1, 'the signature is not for the recipient')
    t.strictSame(await findBarriers(page), [])
    t.strictSame(problems, [])
    // No notifier runs here, which would list the messages.
    t.strictSame(
      desk.problems.filter(text => !/status of 503/.test(text)),
      [],
    )
  })
}
