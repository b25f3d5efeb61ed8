import type { RequestListener } from 'node:http'
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { stripImage } from '../services/orders/capabilities/riders/images.ts'
import { ridersFixture } from '../services/orders/test/riders-fixture.ts'
import { tenantFile } from '../services/orders/test/tenant.ts'
import { findBarriers, launchBrowser, measureWidth } from './browser.ts'
import { waitUntil } from './courier.ts'
import { confirm, openForm, openParcel, openPhone, signInRider, waitForSent, waitForWorker } from './rider.ts'

// The tests take minutes in a busy test run.
t.setTimeout(600_000)
const site = 'riders.lan'
const browser = await launchBrowser(t)
if (browser) {
  const proof = { delivered: 'code', above_cod: 50_000, failed: 'photo' }
  const fixture = await ridersFixture(t, { file: tenantFile({ proof }) })
  const { app, nimal, sunil, makeReady, assign, staffPost, readList, rows } = fixture
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  let last = 0
  /** Makes parcels that a rider has. */
  const give = async (count: number, person = nimal, fields = {}): Promise<string[]> => {
    const waybills = Array.from({ length: count }, () => `DM${String(++last).padStart(8, '0')}`)
    await makeReady(waybills, fields)
    await assign(waybills, person.id)
    return waybills
  }
  const takeAll = async (person = nimal) => {
    const waybill_numbers = (await readList(person)).parcels.map(
      (each: { waybill_number: string }) => each.waybill_number,
    )
    if (waybill_numbers.length > 0) await staffPost('/order/unassign', { waybill_numbers })
    await rows(`update rider_acts set decision = 'dismissed', decided_at = now() - interval '8 days',
      decided_by = 'Dilani' where code is not null and decision is null`)
  }
  const readState = async (waybill: string) =>
    (await rows('select status_key from orders where waybill_number = $1', [waybill]))[0].status_key
  const listWaybills = (page: Page) =>
    page
      .locator('.stops')
      .first()
      .locator('.stop')
      .evaluateAll(all => all.map(one => one.getAttribute('data-waybill')))
  /** Draws a photo of noise, which compresses least. */
  const drawNoise = async (page: Page): Promise<Buffer> => {
    const text = await page.evaluate<string>(`(async () => {
      const canvas = new OffscreenCanvas(4000, 3000)
      const pen = canvas.getContext('2d')
      for (let n = 0; n < 40000; n++) {
        pen.fillStyle = 'hsl(' + (n * 137) % 360 + ' 60% ' + (n * 7) % 90 + '%)'
        pen.fillRect((n * 7919) % 4000, (n * 104729) % 3000, 60, 40)
      }
      const file = await canvas.convertToBlob({ type: 'image/jpeg', quality: 0.95 })
      const bytes = new Uint8Array(await file.arrayBuffer())
      return Array.from(bytes, byte => String.fromCharCode(byte)).join('')
    })()`)
    return Buffer.from(text, 'latin1')
  }
  /** Reads the photo of the only act that the phone stores. */
  const readStoredPhoto = async (page: Page): Promise<Buffer> => {
    const text = await page.evaluate<string>(`(async () => {
      const settle = request => new Promise(resolve => { request.onsuccess = () => resolve(request.result) })
      const database = await settle(indexedDB.open('courier-rider'))
      const [act] = await settle(database.transaction('acts').objectStore('acts').getAll())
      const bytes = new Uint8Array(await act.proof.photo.arrayBuffer())
      return Array.from(bytes, byte => String.fromCharCode(byte)).join('')
    })()`)
    return Buffer.from(text, 'latin1')
  }
  const shoot = async (t: Test, page: Page, name: string) => {
    t.ok((await measureWidth(page)) <= 390, `${name} fits 390 px`)
    if (process.env.SCREENSHOTS) await page.screenshot({ path: `${process.env.SCREENSHOTS}/rider-${name}.png` })
    t.strictSame(await findBarriers(page), [], name)
  }

  t.test('a rider works in three languages, in light and dark, with at most three presses an act', async t => {
    for (const [language, colorScheme] of [
      ['en', 'dark'],
      ['si', 'light'],
      ['ta', 'light'],
      ['en', 'light'],
    ] as const) {
      await takeAll()
      const [first = '', second = '', third = ''] = await give(3)
      const { open, problems } = await openPhone(t, browser, url, language, { colorScheme })
      const page = await open()
      await signInRider(page, nimal.email)
      const show = (screen: string) => shoot(t, page, `${screen}-${language}-${colorScheme}`)
      await show('list')
      await openParcel(page, first)
      await show('parcel')
      await openForm(page, 'deliver')
      await show('deliver')
      await confirm(page)
      await page.locator('.undo .button').waitFor()
      await show('undo')
      await openParcel(page, second)
      await openForm(page, 'fail')
      await show('fail')
      await page.goBack()
      await openParcel(page, third)
      await openForm(page, 'hand_back')
      await show('hand-back')
      await page.goto(`${url}/rider/#/waiting`)
      await show('waiting')
      await page.goto(`${url}/rider/#/scan`)
      await page.locator('#scan').waitFor()
      await show('scan')
      t.strictSame(problems, [])
    }
  })

  t.test('an act that is undone within five seconds never leaves', async t => {
    await takeAll()
    const [waybill = ''] = await give(1)
    const { open } = await openPhone(t, browser, url)
    const page = await open()
    await signInRider(page, nimal.email)
    await openParcel(page, waybill)
    await openForm(page, 'deliver')
    await confirm(page)
    await page.getByRole('button', { name: /^Undo/ }).click()
    await page.locator(`.stop.to_do[data-waybill="${waybill}"]`).waitFor()
    await page.waitForTimeout(6_000)
    await waitForSent(page)
    t.equal(await readState(waybill), 'key_12')
    t.strictSame(await rows('select * from rider_acts where waybill_number = $1', [waybill]), [])
  })

  t.test('the list stays in the order into which the rider drags it, also on the next phone', async t => {
    await takeAll()
    const [a = '', b = '', c = ''] = await give(3)
    const { open } = await openPhone(t, browser, url)
    const page = await open()
    await signInRider(page, nimal.email)
    t.strictSame(await listWaybills(page), [a, b, c])
    const handle = page.locator(`[data-waybill="${c}"] .drag`)
    const from = await handle.boundingBox()
    const to = await page.locator(`[data-waybill="${a}"]`).boundingBox()
    if (!from || !to) throw new Error('the list is not in sight')
    await page.mouse.move(from.x + 10, from.y + 10)
    await page.mouse.down()
    await page.mouse.move(from.x + 10, to.y + 40, { steps: 5 })
    await page.mouse.up()
    t.strictSame(await listWaybills(page), [c, a, b])
    await page.locator(`[data-waybill="${a}"] .drag`).press('ArrowDown')
    t.strictSame(await listWaybills(page), [c, b, a])
    await waitForSent(page)
    const stored = async () =>
      (await readList(nimal)).parcels.map((each: { waybill_number: string }) => each.waybill_number)
    await waitUntil('the service has the order', stored, list => String(list) === String([c, b, a]))
    const other = await openPhone(t, browser, url)
    const next = await other.open()
    await signInRider(next, nimal.email)
    t.strictSame(await listWaybills(next), [c, b, a])
  })

  t.test('without a network the page opens, and an act waits in sight, through the end of the session', async t => {
    await takeAll()
    const [waybill = ''] = await give(1)
    const { context, open, problems } = await openPhone(t, browser, url)
    let page = await open()
    await signInRider(page, nimal.email)
    await waitForWorker(page)
    const { token } = JSON.parse(await page.evaluate<string>(`localStorage.getItem('courier.rider')`))
    await context.setOffline(true)
    await page.close()
    page = await open()
    await openParcel(page, waybill)
    await openForm(page, 'deliver')
    await confirm(page)
    await page.getByText('Waiting to be sent: 1').waitFor()
    await page.getByText('No network').waitFor()
    await page.close()
    await fixture.request('POST', '/api/staff/logout', {}, { token })
    await context.setOffline(false)
    page = await open()
    await page.locator('#password').waitFor()
    await page.getByText('Waiting to be sent: 1').waitFor()
    t.equal(await readState(waybill), 'key_12')
    await page.locator('#password').fill('riders-of-tests')
    await page.keyboard.press('Enter')
    await waitForSent(page)
    t.equal(await readState(waybill), 'key_13')
    t.strictSame(problems, [])
  })

  t.test('the page opens without a network even if the phone lost a file of it the first time', async t => {
    const [handle] = app.server.listeners('request') as RequestListener[]
    let lost = 0
    const lose: RequestListener = (request, response) => {
      const isOfWorker = request.headers['sec-fetch-dest'] === 'empty' && request.url?.endsWith('/kit/shell.js')
      if (isOfWorker && lost++ === 0) response.writeHead(502).end()
      else handle?.(request, response)
    }
    app.server.removeAllListeners('request').on('request', lose)
    const { context, open, problems } = await openPhone(t, browser, url)
    const page = await open()
    await signInRider(page, nimal.email)
    await waitForWorker(page)
    t.equal(lost, 2)
    await context.setOffline(true)
    await page.reload()
    await page.locator('.totals').waitFor()
    t.strictSame(problems, [])
  })

  t.test('a link signs a phone in once; acts of a rider who was deactivated since are for the office', async t => {
    const kamal = await fixture.addPerson('Kamal Rider', 'rider')
    const [waybill = ''] = await give(1, kamal)
    const link = await staffPost(`/riders/${kamal.id}/sign-in`, {})
    const [, hash] = String(link.body.data.url).split('/rider/')
    const { context, open, problems } = await openPhone(t, browser, url)
    const page = await open(hash)
    await openParcel(page, waybill)
    t.notMatch(page.url(), /in\/demo/)
    const stranger = await (await openPhone(t, browser, url)).open(hash)
    await stranger.getByText('This code was used or is older than ten minutes.').waitFor()
    await waitForWorker(page)
    await context.setOffline(true)
    await openForm(page, 'deliver')
    await confirm(page)
    await rows('update staff set is_active = false where staff_id = $1', [kamal.id])
    await page.waitForTimeout(6_000)
    await context.setOffline(false)
    const refused = `select code from rider_acts where waybill_number = '${waybill}'`
    await waitUntil(
      'the act is for the office',
      () => rows(refused),
      all => all.length === 1,
    )
    t.strictSame(await rows(refused), [{ code: 'deactivated' }])
    await page.getByText('Refused: 1').first().waitFor()
    await page.locator('#password').waitFor()
    t.equal(await readState(waybill), 'key_12')
    t.strictSame(problems, [])
  })

  t.test('what another rider did on this phone waits for that rider', async t => {
    await takeAll()
    const [waybill = ''] = await give(1)
    const { context, open } = await openPhone(t, browser, url)
    const page = await open()
    await signInRider(page, nimal.email)
    await waitForWorker(page)
    await context.setOffline(true)
    await openParcel(page, waybill)
    await openForm(page, 'hand_back')
    await confirm(page)
    await page.getByRole('button', { name: 'Sign out' }).click()
    await context.setOffline(false)
    await signInRider(page, sunil.email)
    await page.getByText(`1 entries of ${nimal.name} wait on this phone`).waitFor()
    await page.waitForTimeout(6_000)
    t.strictSame(await rows('select * from rider_acts where waybill_number = $1', [waybill]), [])
    await page.getByRole('button', { name: 'Sign out' }).click()
    t.equal(await page.getByText(waybill).count(), 0, 'no parcel is left in sight')
    await signInRider(page, nimal.email)
    await waitUntil(
      'the act arrived',
      () => rows(`select * from rider_acts where waybill_number = $1`, [waybill]),
      all => all.length === 1,
    )
  })

  t.test('the office changes and takes parcels meanwhile: both addresses show, and a refused act stays', async t => {
    await takeAll()
    const [moved = '', edited = ''] = await give(2)
    const { context, open } = await openPhone(t, browser, url)
    const page = await open()
    await signInRider(page, nimal.email)
    await waitForWorker(page)
    await context.setOffline(true)
    await openParcel(page, moved)
    await openForm(page, 'deliver')
    await confirm(page)
    await assign([moved], sunil.id)
    const before = (await readList(nimal)).parcels.find(
      (each: { waybill_number: string }) => each.waybill_number === edited,
    ).customer_address
    const change = { customer_address: '77 New Street', reason: 'The customer called.' }
    await fixture.request('PATCH', `/api/staff/order/${edited}`, change, { token: fixture.staffToken })
    await context.setOffline(false)
    await page.getByText('Refused: 1').first().waitFor({ timeout: 30_000 })
    await openParcel(page, edited)
    await page.getByText('77 New Street').waitFor()
    const both = page.locator('.notice', { hasText: 'The office changed this parcel' })
    await both.getByText(before).waitFor()
    t.equal(await page.getByRole('link', { name: 'Message' }).getAttribute('href'), 'https://wa.me/94770000101')
    await page.reload()
    await page.locator('.strip a').click()
    await page.getByText('The office gave this parcel to somebody else.').waitFor()
    await shoot(t, page, 'refused')
    t.equal(await readState(moved), 'key_12')
    await page.getByRole('button', { name: 'Give up' }).click()
    await page.getByRole('button', { name: 'Really give up?' }).click()
    await page.getByText('This is being given up.').waitFor()
    await page.getByRole('heading', { name: 'Refused: 0' }).waitFor({ timeout: 30_000 })
    t.match(await rows('select decision from rider_acts where waybill_number = $1', [moved]), [
      { decision: 'dropped' },
      {},
    ])
  })

  t.test('a code that is wrong is refused, and the next try replaces it', async t => {
    await takeAll()
    const [waybill = ''] = await give(1, nimal, { cod: 60_000 })
    const { open } = await openPhone(t, browser, url)
    const page = await open()
    await signInRider(page, nimal.email)
    await openParcel(page, waybill)
    await openForm(page, 'deliver')
    t.ok(await page.locator('form .button.primary').isDisabled(), 'the code is needed')
    await page.locator('#code').fill('000000')
    await confirm(page)
    await page.getByText('Refused: 1').first().waitFor({ timeout: 30_000 })
    await page.locator('.strip a').click()
    await page.getByText('code is wrong').first().waitFor()
    await page.getByRole('link', { name: 'Do it again' }).click()
    await page.locator('#without').fill('The phone of the recipient is off')
    await confirm(page)
    await waitForSent(page)
    t.equal(await readState(waybill), 'key_13')
    t.equal(await page.getByText(/Refused: [1-9]/).count(), 0)
  })

  t.test('the right code at the door, typed without a network, is judged once it arrives', async t => {
    await takeAll()
    const [waybill = ''] = await give(1, nimal, { cod: 60_000 })
    const headers = { authorization: `Bearer ${fixture.ordersOptions.serviceToken}` }
    const { delivery_code } = (await app.inject({ url: `/internal/orders/demo/${waybill}`, headers })).json().data
    const { context, open } = await openPhone(t, browser, url)
    const page = await open()
    await signInRider(page, nimal.email)
    await waitForWorker(page)
    await context.setOffline(true)
    await openParcel(page, waybill)
    await openForm(page, 'deliver')
    await page.locator('#code').fill(delivery_code)
    await confirm(page)
    await page.waitForTimeout(6_000)
    await context.setOffline(false)
    await waitUntil(
      'the parcel is delivered',
      () => readState(waybill),
      state => state === 'key_13',
    )
    t.match(await rows('select kind from proofs where waybill_number = $1', [waybill]), [{ kind: 'code' }])
  })

  t.test('a signature is drawn with a finger, and arrives as a picture', async t => {
    await takeAll()
    await fixture.apply(tenantFile({ proof: { ...proof, delivered: 'signature', above_cod: null } }))
    const [waybill = ''] = await give(1)
    const { open } = await openPhone(t, browser, url)
    const page = await open()
    await signInRider(page, nimal.email)
    await openParcel(page, waybill)
    await openForm(page, 'deliver')
    t.ok(await page.locator('form .button.primary').isDisabled(), 'the signature is needed')
    const canvas = page.locator('canvas.signature')
    await canvas.scrollIntoViewIfNeeded()
    const { x = 0, y = 0 } = (await canvas.boundingBox()) ?? {}
    await page.mouse.move(x + 40, y + 40)
    await page.mouse.down()
    await page.mouse.move(x + 200, y + 90, { steps: 6 })
    await page.mouse.up()
    await shoot(t, page, 'signature')
    await confirm(page)
    const readProofs = () => rows('select kind, type, bytes from proofs where waybill_number = $1', [waybill])
    const [drawn] = await waitUntil('the signature is here', readProofs, ([one]) => one?.type)
    t.match(drawn, { kind: 'signature', type: 'image/png' })
    const dark = await page.evaluate<number>(`(async () => {
      const bytes = Uint8Array.from(atob('${drawn.bytes.toString('base64')}'), char => char.charCodeAt(0))
      const picture = await createImageBitmap(new Blob([bytes]))
      const pen = new OffscreenCanvas(picture.width, picture.height).getContext('2d')
      pen.drawImage(picture, 0, 0)
      const { data } = pen.getImageData(0, 0, picture.width, picture.height)
      return data.filter((value, at) => at % 4 === 0 && value < 100).length
    })()`)
    t.ok(dark > 300, `${dark} dark pixels`)
    await fixture.apply(tenantFile({ proof }))
  })

  t.test('a photo is made small on the phone, without its metadata, and arrives', async t => {
    await takeAll()
    const [waybill = ''] = await give(1)
    const { open } = await openPhone(t, browser, url)
    const page = await open()
    await signInRider(page, nimal.email)
    const jpeg = await drawNoise(page)
    const place = Buffer.from('GPS 6.0535 N 80.2210 E')
    const comment = Buffer.concat([Buffer.from([0xff, 0xfe, 0, place.length + 2]), place])
    const buffer = Buffer.concat([jpeg.subarray(0, 2), comment, jpeg.subarray(2)])
    await openParcel(page, waybill)
    await openForm(page, 'fail')
    t.ok(await page.locator('.stack > .button.big').first().isDisabled(), 'the photo is needed')
    await page.locator('#photo').setInputFiles({ name: 'door.jpg', mimeType: 'image/jpeg', buffer })
    await page.locator('img.proof').waitFor({ timeout: 30_000 })
    await shoot(t, page, 'photo')
    await page.locator('.stack > .button.big').first().click()
    const readPhotos = () => rows('select type, bytes from proofs where waybill_number = $1', [waybill])
    const [{ bytes: photo }] = await waitUntil('the photo is here', readPhotos, ([proof]) => proof?.type)
    t.ok(photo.length <= 200_000, `${buffer.length} bytes became ${photo.length}`)
    t.notOk(photo.includes('GPS'))
    const size = await page.evaluate<number[]>(`(async () => {
      const bytes = Uint8Array.from(atob('${photo.toString('base64')}'), char => char.charCodeAt(0))
      const { width, height } = await createImageBitmap(new Blob([bytes]))
      return [width, height]
    })()`)
    t.strictSame(size, [1600, 1200])
  })

  t.test(
    'at 64 kbit/s a photo follows its act, through a closed page and a lost response; acts overtake it',
    async t => {
      await takeAll()
      const [first = '', second = ''] = await give(2)
      const { context, open, problems } = await openPhone(t, browser, url)
      let page = await open()
      await signInRider(page, nimal.email)
      await waitForWorker(page)
      const slow = { offline: false, latency: 300, downloadThroughput: 8_000, uploadThroughput: 8_000 }
      const slowDown = async () => {
        const phone = await context.newCDPSession(page)
        await phone.send('Network.enable')
        await phone.send('Network.emulateNetworkConditions', slow)
      }
      await slowDown()
      await openParcel(page, first)
      await openForm(page, 'fail')
      await page
        .locator('#photo')
        .setInputFiles({ name: 'door.jpg', mimeType: 'image/jpeg', buffer: await drawNoise(page) })
      await page.locator('img.proof').waitFor({ timeout: 30_000 })
      await page.locator('.stack > .button.big').first().click()
      const actsOf = (waybill: string) => rows('select 1 from rider_acts where waybill_number = $1', [waybill])
      const readBytes = async () =>
        (await rows('select size, type, bytes from proofs where waybill_number = $1', [first]))[0] ?? {}
      await waitUntil('a part is here', readBytes, ({ bytes }) => bytes?.length > 0)
      t.equal((await readBytes()).type, null)
      const taken = await readStoredPhoto(page)
      let isLost = false
      await context.route('**/rider/proof-part', async route => {
        if (isLost) return route.continue()
        isLost = true
        await route.fetch()
        await route.abort()
      })
      await openParcel(page, second)
      await openForm(page, 'hand_back')
      await confirm(page)
      await waitUntil(
        'the act overtakes the photo',
        () => actsOf(second),
        ({ length }) => length === 1,
      )
      const { size, type, bytes } = await readBytes()
      t.equal(type, null, `${bytes.length} of ${size} bytes are here`)
      await page.close()
      page = await open()
      await slowDown()
      await page.getByText('Waiting to be sent: 1').waitFor()
      await page.locator('.strip.good').getByText('Everything is sent.').waitFor({ timeout: 120_000 })
      const whole = await readBytes()
      t.equal(whole.type, 'image/jpeg')
      t.ok(stripImage(taken)?.bytes.equals(whole.bytes), `${taken.length} bytes: nothing is lost or doubled`)
      t.equal((await actsOf(first)).length, 1)
      t.ok(isLost)
      t.strictSame(problems, [])
    },
  )

  t.test('two pages of one phone send an act once, and both show it', async t => {
    await takeAll()
    const [waybill = ''] = await give(1)
    const { open } = await openPhone(t, browser, url)
    const page = await open()
    await signInRider(page, nimal.email)
    const other = await open()
    await other.locator('.totals').waitFor()
    await openParcel(page, waybill)
    await openForm(page, 'deliver')
    await confirm(page)
    await other.getByText('Waiting to be sent: 1').waitFor()
    await page.waitForTimeout(5_000)
    await Promise.all([page, other].map(one => one.evaluate(`dispatchEvent(new Event('online'))`)))
    await Promise.all([page, other].map(waitForSent))
    t.equal((await rows('select * from rider_acts where waybill_number = $1', [waybill])).length, 1)
  })

  t.test('a scanned parcel of nobody can be taken, and one of somebody else says whose it is', async t => {
    await takeAll()
    const [strange = ''] = await give(1, sunil)
    const [free = ''] = await give(1, nimal)
    await takeAll()
    const { open } = await openPhone(t, browser, url)
    const page = await open()
    await signInRider(page, nimal.email)
    await page.getByRole('link', { name: 'Scan' }).click()
    const type = async (text: string) => {
      await page.locator('#scan').fill(text)
      await page.keyboard.press('Enter')
    }
    await type(strange)
    await page.getByText(`With ${sunil.name}:`).waitFor()
    await type('DM99999999')
    await page.getByText('No parcel has this number.').waitFor()
    await type(` ${free.toLowerCase()} `)
    await page.getByText('With nobody:').waitFor()
    await page.getByRole('button', { name: 'Take it' }).click()
    await page.locator(`.stop[data-waybill="${free}"]`).getByText('not sent yet').waitFor()
    await page.locator(`.stop[data-waybill="${free}"] .address`, { hasText: 'Galle' }).waitFor({ timeout: 30_000 })
    t.strictSame((await readList(nimal)).parcels.length, 1)
  })

  t.test('on plain http, or where nothing is stored, the page says so and works with a network', async t => {
    for (const [address, script, says] of [
      [url.replace('127.0.0.1', site), '', 'it needs an address that begins with https'],
      [url, 'delete window.indexedDB', 'This browser stores nothing'],
      [url, 'delete window.BroadcastChannel; delete navigator.__proto__.locks; delete Object.groupBy', ''],
    ] as const) {
      await takeAll()
      const [waybill = ''] = await give(1)
      const { context, open, problems } = await openPhone(t, browser, address)
      if (script) await context.addInitScript(script)
      const page = await open()
      await signInRider(page, nimal.email)
      if (says) await page.getByText(says).first().waitFor()
      await openParcel(page, waybill)
      await openForm(page, 'deliver')
      await confirm(page)
      await waitForSent(page)
      t.equal(await readState(waybill), 'key_13', script || address)
      t.strictSame(problems, [])
    }
  })

  t.test('a list of 200 parcels draws only the cards near the screen', async t => {
    await takeAll()
    await give(200)
    const { open } = await openPhone(t, browser, url)
    const page = await open()
    await signInRider(page, nimal.email)
    t.equal(await page.locator('.totals dd').first().innerText(), '200')
    t.ok((await page.locator('.stop').count()) < 60)
    for (let screens = 0; screens < 60 && (await page.locator('.stop').count()) < 200; screens++) {
      await page.evaluate('scrollTo(0, document.body.scrollHeight)')
      await page.waitForTimeout(50)
    }
    t.equal(await page.locator('.stop').count(), 200)
  })
}
