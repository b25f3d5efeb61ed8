import { inTenant } from '@courier/shared/postgres/database.ts'
import t from 'tap'
import { deactivateStaff } from '../../core/access/staff-commands.ts'
import type { Tx } from '../../core/database/tables.ts'
import { makeJpeg, ridersFixture } from '../../test/riders-fixture.ts'
import { tenantFile } from '../../test/tenant.ts'
import { deleteOldProofs } from './proofs.ts'

const proof = { delivered: 'photo', above_cod: 10_000, failed: 'none' }
const fixture = await ridersFixture(t, { file: tenantFile({ proof }) })
const { makeReady, assign, act, sendActs, writeAct, readList, addPerson, nimal, sunil, staffPost, staffGet } = fixture
const { request, send, pool, rows, staffToken, app, apply } = fixture

let number = 0
/** Makes a parcel that Nimal has. */
const give = async (fields: Record<string, unknown> = {}, rider = nimal.name) => {
  const waybill = `DM${String(++number).padStart(8, '0')}`
  await makeReady([waybill], fields)
  await assign([waybill], rider)
  return waybill
}
const readStaff = async (waybill: string) => (await staffGet(`/order/${waybill}`)).body.data
const findRefused = async (waybill: string) =>
  (await staffGet('/rider-acts')).body.data.find((each: { waybill_number: string }) => each.waybill_number === waybill)
const decide = async (waybill: string, decision: string, rest: object = {}) =>
  staffPost(`/rider-acts/${(await findRefused(waybill)).act_no}/decide`, { decision, note: 'Asked by phone', ...rest })

t.test('a delivery that is taken back is in the list of its rider again', async t => {
  const waybill = await give()
  t.match(await act(nimal, 'deliver', waybill, { cod: 4500, amount: 4500 }), { outcome: 'done' })
  t.match(await staffPost(`/order/${waybill}/take-back`, { reason: 'Wrong parcel' }), { status: 200 })
  const { parcels, cash } = await readList(nimal)
  t.match([parcels[0], cash], [{ waybill_number: waybill, state: 'to_do' }, { amount: 0 }])
  t.match(await act(nimal, 'deliver', waybill, { cod: 4500, amount: 4500 }), { outcome: 'done' }, 'once more')
})

t.test('an act about a parcel that was given away waits for the office, which may apply it', async t => {
  const waybill = await give()
  await assign([waybill], sunil.name)
  t.match(await act(nimal, 'deliver', waybill, { cod: 4500, amount: 4500 }), { code: 'given_away' })
  t.match((await readList(nimal)).refused.at(-1), { waybill_number: waybill, code: 'given_away', amount: 4500 })
  t.match(await decide(waybill, 'applied'), { status: 200 })
  t.match(await readStaff(waybill), { status: { key: 'key_13' } })
  t.strictSame(await findRefused(waybill), undefined)
  const { decided, refused, cash } = await readList(nimal)
  t.match(decided.at(-1), { waybill_number: waybill, decision: 'applied', by: 'Kamal Perera', note: 'Asked by phone' })
  t.notOk(refused.some((each: { waybill_number: string }) => each.waybill_number === waybill))
  t.strictSame(cash.amount, 9000, 'the rider has the cash')
})

t.test('a COD that was edited meanwhile is not guessed', async t => {
  const waybill = await give()
  await rows('update orders set cod = 5000 where waybill_number = $1', [waybill])
  t.match(await act(nimal, 'deliver', waybill, { cod: 4500, amount: 4500 }), {
    code: 'cod_changed',
    message: /5000 now/,
  })
  t.match(await act(nimal, 'deliver', waybill, { cod: 4500 }), { code: 'amount' })
  t.match(await readStaff(waybill), { status: { key: 'key_12' } }, 'nothing was done')
  t.match(await decide(waybill, 'applied'), { status: 200 })
  t.match((await readStaff(waybill)).status, { key: 'key_13' })
  t.match(await decide(waybill, 'applied'), { status: 422, body: { errors: { decision: [/is key_13 DELIVERED/] } } })
  t.match(await decide(waybill, 'dismissed'), { status: 200 })
  const fair = await give()
  await rows('update orders set cod = 5000 where waybill_number = $1', [fair])
  t.match(await act(nimal, 'deliver', fair, { cod: 4500, amount: 5000 }), { outcome: 'done' }, 'the new COD was paid')
})

t.test('an act that arrives once its cash was counted is refused for that', async t => {
  const waybill = await give({}, sunil.name)
  const late = ['deliver', 'fail', 'hand_back'].map(kind =>
    writeAct(kind, waybill, { deliver: { cod: 4500, amount: 4500 }, fail: { reason_code: 'not_home' } }[kind]),
  )
  t.match(await act(sunil, 'deliver', waybill, { cod: 4500, amount: 4500 }), { outcome: 'done' })
  t.match(
    await act(sunil, 'deliver', waybill, { cod: 4500, amount: 4500 }),
    { code: 'moved' },
    'the rider has the cash',
  )
  const handover = { collected_by: sunil.name, declared: 4500, counted: 4500 }
  t.match(await staffPost('/cash/handover', handover, await fixture.staffOf('Chamari')), { status: 200 })
  for (const outcome of await sendActs(sunil, late))
    t.match(outcome, { code: 'cash_handed_over', message: /key_13 DELIVERED.*cash/ })
  t.match(await decide(waybill, 'applied'), { status: 422 })
  const free = await give({ cod: 0 }, sunil.name)
  t.match(await act(sunil, 'deliver', free, { cod: 0 }), { outcome: 'done' })
  t.match(await act(sunil, 'deliver', free, { cod: 0 }), { code: 'moved' }, 'there is no cash')
})

t.test('what the office moved or cancelled, or a phone from the future, changes nothing', async t => {
  const waybill = await give()
  await fixture.move([waybill], 'key_15')
  t.match(await act(nimal, 'fail', waybill, { reason_code: 'not_home' }), { code: 'moved' })
  const early = await give()
  const happened_at = new Date(Date.now() + 600_000).toISOString()
  t.match(await act(nimal, 'fail', early, { reason_code: 'not_home', happened_at }), { code: 'clock' })
  const late = writeAct('fail', early, { reason_code: 'not_home', happened_at: '2026-01-31T09:00:00Z' })
  t.match(await sendActs(nimal, [late]), [{ outcome: 'done' }])
  const { rider_acts } = await readStaff(early)
  t.match(rider_acts[0], { kind: 'fail', happened_at: '2026-01-31T09:00:00.000000Z' })
  t.not(rider_acts[0].received_at, rider_acts[0].happened_at)
})

t.test('under four_eyes a rider who also counts cash does not count their own', async t => {
  const both = await addPerson('Kasun Both', 'rider,accounts')
  const waybill = await give({}, both.name)
  t.match(await act(both, 'deliver', waybill, { cod: 4500, amount: 4500 }), { outcome: 'done' })
  const counted = { collected_by: both.name, declared: 4500, counted: 4500 }
  await rows('update tenants set four_eyes = true')
  t.teardown(() => rows('update tenants set four_eyes = false'))
  t.match(await staffPost('/cash/handover', counted, both.token), {
    status: 422,
    body: { errors: { collected_by: [/somebody else must take it/] } },
  })
  t.match(await staffPost('/cash/handover', counted), { status: 200 })
})

t.test('under four_eyes nobody decides on their own act', async t => {
  const both = await addPerson('Both Hats', 'rider,dispatcher')
  const waybill = await give({}, both.name)
  await assign([waybill], sunil.name)
  t.match(await act(both, 'deliver', waybill, { cod: 4500, amount: 4500 }), { code: 'given_away' })
  await rows('update tenants set four_eyes = true')
  const path = `/rider-acts/${(await findRefused(waybill)).act_no}/decide`
  const own = await staffPost(path, { decision: 'applied', note: 'Mine' }, both.token)
  t.match(own, { status: 422, body: { errors: { decision: [/somebody else must decide/] } } })
  t.match(await staffPost(path, { decision: 'dismissed', note: 'Given to Sunil' }), { status: 200 })
  await rows('update tenants set four_eyes = false')
})

t.test('a proof that the company wants is asked, checked, stripped and shown to who may see it', async t => {
  const waybill = await give({ cod: 20_000 })
  const paid = { cod: 20_000, amount: 20_000 }
  t.match((await readList(nimal)).parcels.find((each: { cod: number }) => each.cod === 20_000).proof, {
    delivered: 'photo',
  })
  t.match(await act(nimal, 'deliver', waybill, paid), { code: 'proof_missing' })
  const text = Buffer.from('<script>alert(1)</script>, which is no image').toString('base64')
  t.match(await act(nimal, 'deliver', waybill, { ...paid, proof: { photo: text } }), { code: 'proof_invalid' })
  const photo = makeJpeg().toString('base64')
  t.match(await act(nimal, 'deliver', waybill, { ...paid, proof: { photo } }), { outcome: 'done' })
  const [shown] = (await staffGet(`/order/${waybill}/proofs`)).body.data
  t.match(shown, { kind: 'photo', event: 'delivered', type: 'image/jpeg', rider: nimal.name, is_applied: true })
  const readImage = (url: string, token: string) =>
    app.inject({ url, headers: { authorization: `Bearer ${token}`, 'x-tenant': 'demo' } })
  const image = await readImage(`/api/staff/order/${waybill}/proofs/${shown.id}`, staffToken)
  t.strictSame(image.rawPayload.includes('GPS'), false, 'neither metadata nor a trailer is left')
  t.strictSame(image.rawPayload.subarray(-2).toString('hex'), 'ffd9')
  t.match(image.headers, {
    ...{ 'content-type': 'image/jpeg', 'x-content-type-options': 'nosniff', 'cache-control': /private/ },
    'content-security-policy': /sandbox/,
  })
  const shop = `/api/public/merchant/order/${waybill}/proofs`
  t.strictSame(Object.keys((await request('GET', shop)).body.data[0]).sort(), ['at', 'event', 'id', 'kind', 'type'])
  t.strictSame((await readImage(`${shop}/${shown.id}`, fixture.token)).statusCode, 200)
  t.match(await request('GET', shop, undefined, { token: fixture.booksToken }), { status: 404 })
  t.match(await staffGet(`/order/${waybill}/proofs`, { token: nimal.token }), { status: 403 })

  const bearer = { authorization: `Bearer ${fixture.ordersOptions.serviceToken}` }
  const details = (await app.inject({ url: `/internal/orders/demo/${waybill}`, headers: bearer })).json().data
  const track = async (tracking_code?: string) => {
    const body = { waybill_number: waybill, ...(tracking_code && { tracking_code }) }
    return (await send('POST', '/api/public/order/tracking-info', body, { token: '' })).body.data
  }
  t.notOk('proofs' in (await track()), 'without the code of the link nobody sees a picture')
  t.notOk('proofs' in (await track('wrong-code1')))
  const { proofs, timeline } = await track(details.tracking_code)
  const [picture] = proofs
  t.match(picture, { kind: 'photo', event: 'delivered' })
  t.match(timeline[0], { status: { key: 'key_13' }, proofs: [{ kind: 'photo', at: picture.at }] })
  t.ok(timeline.slice(1).every((entry: { proofs: object[] }) => entry.proofs.length === 0))
  const page = (link: string) => app.inject({ url: `/t/demo/${waybill}/${link}` })
  const signed = await page(details.tracking_code)
  const [, shownUrl = ''] = /<img src="([^"]+)"/.exec(signed.body) ?? []
  t.match(await app.inject({ url: new URL(shownUrl, 'http://127.0.0.1').pathname }), { statusCode: 200 })
  t.match(signed.headers, { 'content-security-policy': /img-src data: 'self';/ })
  t.notMatch((await page('wrong-code1')).body, /<img/)
  const path = new URL(picture.url, 'http://127.0.0.1').pathname
  t.match(await app.inject({ url: path }), { statusCode: 200, headers: { 'content-type': 'image/jpeg' } })
  t.strictSame((await app.inject({ url: `${path.slice(0, -1)}${path.endsWith('A') ? 'B' : 'A'}` })).statusCode, 404)
  t.strictSame((await app.inject({ url: path.replace(waybill, 'DM00000001') })).statusCode, 404)

  const without = await give({ cod: 20_000 })
  const reason = 'The camera is broken'
  t.match(await act(nimal, 'deliver', without, { ...paid, proof: { without: reason } }), { outcome: 'done' })
  t.match((await readStaff(without)).rider_acts[0], { without: reason })
})

t.test('housekeeping deletes proofs that are older than the company keeps them, and nothing else', async t => {
  await apply(tenantFile({ proof: { ...proof, keep_days: 30 } }))
  const [old, young] = [await give(), await give()]
  const photo = makeJpeg().toString('base64')
  for (const waybill of [old, young])
    t.match(await act(nimal, 'deliver', waybill, { cod: 4500, amount: 4500, proof: { photo } }), { outcome: 'done' })
  const age = `update rider_acts set received_at = received_at - make_interval(days => $2) where waybill_number = $1`
  await rows(age, [old, 31])
  await rows(age, [young, 29])
  const sweep = () => inTenant(pool, 'demo', (tx: Tx) => deleteOldProofs(tx, 'demo'))
  t.equal(await sweep(), 1)
  t.equal(await sweep(), 0)
  t.strictSame((await staffGet(`/order/${old}/proofs`)).body.data, [])
  t.match((await staffGet(`/order/${young}/proofs`)).body.data, [{ type: 'image/jpeg' }])
  t.match((await readStaff(old)).rider_acts, [{ kind: 'deliver' }], 'the act stays')
  await apply(tenantFile({ proof }))
})

t.test('a part of a parcel is delivered for a part of its COD, with a reason', async t => {
  const waybill = await give()
  const { parcels } = await readList(nimal)
  t.match(
    parcels.find((each: { waybill_number: string }) => each.waybill_number === waybill),
    { can_deliver_partly: true },
  )
  const part = { cod: 4500, amount: 2000, partly: true }
  t.match(await act(nimal, 'deliver', waybill, part), { code: 'amount' })
  t.match(await act(nimal, 'deliver', waybill, { ...part, reason: 'One of two shoes' }), { outcome: 'done' })
  t.match(await readStaff(waybill), { status: { key: 'key_14' } })
  const [line] = await rows(`select cod::float8 from money_lines where waybill_number = $1 and kind = 'delivered'`, [
    waybill,
  ])
  t.strictSame(line, { cod: 2000 })
})

t.test('five wrong codes at the door block it until the office decides', async t => {
  await apply(tenantFile({ proof: { delivered: 'code' } }))
  const waybill = await give()
  const headers = { authorization: `Bearer ${fixture.ordersOptions.serviceToken}` }
  const { delivery_code: code } = (await app.inject({ url: `/internal/orders/demo/${waybill}`, headers })).json().data
  t.match(code, /^\d{6}$/)
  t.notOk(JSON.stringify(await readList(nimal)).includes(code), 'the phone never knows it')
  const wrong = code === '000000' ? '000001' : '000000'
  const say = (said: string) => act(nimal, 'deliver', waybill, { cod: 4500, amount: 4500, proof: { code: said } })
  for (let tries = 0; tries < 5; tries++) t.match(await say(wrong), { code: 'wrong_code' })
  t.match(await say(code), { code: 'code_blocked' })
  for (let tries = 0; tries < 6; tries++) t.match(await decide(waybill, 'dismissed'), { status: 200 })
  t.match(await say(code.replace(/(...)/, '$1 ')), { outcome: 'done' })
  await apply(tenantFile({ proof }))
})

t.test('a code signs one phone in, once; the office sees and ends it', async t => {
  const { data } = (await staffPost(`/riders/${nimal.id}/sign-in`, {})).body
  t.match(data.url, /\/rider\/#\/in\/demo\/[\w-]{43}$/)
  t.ok(data.qr.length > 20 && data.qr.every((line: string) => /^[01]+$/.test(line) && line.length === data.qr.length))
  const code = data.url.split('/').at(-1)
  const signIn = (given: string, tenant = 'demo') =>
    send('POST', '/api/staff/sign-in', { code: given, device: 'Test phone' }, { token: '', tenant })
  t.match(await signIn('x'.repeat(43)), { status: 422 })
  t.match(await signIn(code, 'other'), { status: 422 })
  const both = await Promise.all([signIn(code), signIn(code)])
  t.strictSame(both.map(({ status }) => status).sort(), [200, 422])
  const { token } = both.find(({ status }) => status === 200)?.body ?? {}
  t.match(await staffGet('/rider/parcels', { token }), { status: 200, body: { data: { rider: { id: nimal.id } } } })
  const phones = (await staffGet(`/riders/${nimal.id}/sign-ins`)).body.data
  const phone = phones.find(({ device }: { device: string | null }) => device === 'Test phone')
  t.match(await staffPost(`/riders/${sunil.id}/sign-ins/${phone.id}/end`, {}), { status: 404 })
  t.match(await staffPost(`/riders/${nimal.id}/sign-ins/${phone.id}/end`, {}), { status: 200 })
  t.notOk((await staffGet(`/riders/${nimal.id}/sign-ins`)).body.data.some(({ id }: { id: string }) => id === phone.id))
  const stored = await rows('select encode(hash, $1) as hash from sign_in_links', ['escape'])
  t.notOk(JSON.stringify(stored).includes(code))
  const late = (await staffPost(`/riders/${nimal.id}/sign-in`, {})).body.data.url.split('/').at(-1)
  await rows(`update sign_in_links set expires_at = now() where token_id is null`)
  t.match(await signIn(late), { status: 422 })
})

t.test('a dispatcher gets no more rights by a link, and links are for riders', async t => {
  const dispatcher = await addPerson('Dilani Dispatch', 'dispatcher')
  const chief = await addPerson('Chief Rider', 'rider,admin')
  const link = (id: string) => staffPost(`/riders/${id}/sign-in`, {}, dispatcher.token)
  t.match(await link(chief.id), { status: 403 })
  t.match(await link(dispatcher.id), { status: 422 })
  t.match(await link('99999'), { status: 404 })
  t.match(await link(sunil.id), { status: 200 })
})

t.test('acts of a deactivated rider arrive, and are for dispatch', async t => {
  const gone = await addPerson('Gone Rider', 'rider')
  const waybill = await give({}, gone.name)
  const acts = [writeAct('deliver', waybill, { cod: 4500, amount: 4500 })]
  const leave = () => send('POST', '/api/public/rider/acts', { acts }, { token: gone.token })
  t.match(await leave(), { status: 401 }, 'an active rider sends them as usual')
  await deactivateStaff(pool, { tenant: 'demo', email: gone.email })
  t.match(await leave(), { status: 200, body: { data: [{ code: 'deactivated', replayed: false }] } })
  t.match(await leave(), { status: 200, body: { data: [{ code: 'deactivated', replayed: true }] } })
  t.match(
    (await staffGet('/riders')).body.data.find((each: { id: string }) => each.id === gone.id),
    {
      ...{ is_active: false, to_do: 1, refused: 1 },
    },
  )
  t.match(await decide(waybill, 'applied'), { status: 200 })
  t.match(await readStaff(waybill), { status: { key: 'key_13' } })
  const { people } = (await staffGet('/cash')).body.data
  t.match(
    people.find(({ name }: { name: string }) => name === gone.name),
    { amount: 4500 },
  )
})
