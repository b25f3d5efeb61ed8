import { randomBytes } from 'node:crypto'
import t from 'tap'
import { deactivateStaff } from '../../core/access/staff-commands.ts'
import { makeJpeg, ridersTenant } from '../../test/riders-fixture.ts'
import { tenantFile } from '../../test/tenant.ts'

const proof = { delivered: 'photo', failed: 'none' }
const fixture = await ridersTenant(t, { file: tenantFile({ proof }) })
const { makeReady, assign, act, sendActs, writeAct, addPerson, nimal, sunil, staffGet, send, app, pool, rows } = fixture

/** Makes a JPEG of about 60 kB whose pixels contain no marker. */
const photo = makeJpeg('GPS here', Buffer.from(randomBytes(60_000).map(byte => byte % 255)))
let number = 0
/** Delivers a parcel, and says that its photo follows. */
const deliver = async (size = photo.length, person = nimal) => {
  const waybill = `DM${String(++number).padStart(8, '0')}`
  await makeReady([waybill])
  await assign([waybill], person.id)
  const given = writeAct('deliver', waybill, { cod: 4500, amount: 4500, proof: { follows: { photo: size } } })
  return { waybill, given, id: given.id, outcome: (await sendActs(person, [given]))[0] }
}
const sendPart = (id: string, offset: number, bytes: Buffer, person = nimal) => {
  const body = { act: id, kind: 'photo', offset, bytes: bytes.toString('base64') }
  return send('POST', '/api/public/rider/proof-part', body, { token: person.token })
}
const listOf = async (waybill: string) => (await staffGet(`/order/${waybill}/proofs`)).body.data

t.test('a photo follows its act in parts, each of which may come twice or be lost', async t => {
  const { waybill, given, id, outcome } = await deliver()
  t.match(outcome, { outcome: 'done' }, 'the act does not wait')
  t.match(await listOf(waybill), [{ kind: 'photo', type: null, is_applied: true }], 'it has not arrived')
  const shop = `/api/public/merchant/order/${waybill}/proofs`
  const [{ id: proofId }] = (await fixture.request('GET', shop)).body.data
  t.match(await sendPart(id, 0, photo.subarray(0, 16_000)), { status: 200, body: { data: { received: 16_000 } } })
  t.match((await sendPart(id, 0, photo.subarray(0, 16_000))).body.data, { received: 16_000 }, 'the response was lost')
  t.match((await sendPart(id, 32_000, photo.subarray(32_000, 48_000))).body.data, { received: 16_000 }, 'a gap')
  const headers = { authorization: `Bearer ${fixture.token}`, 'x-tenant': fixture.tenant }
  t.equal((await app.inject({ url: `${shop}/${proofId}`, headers })).statusCode, 404, 'half a picture is none')
  const both = [1, 2].map(() => sendPart(id, 16_000, photo.subarray(16_000)))
  for (const { body } of await Promise.all(both)) t.strictSame(body.data, { received: photo.length, is_complete: true })
  t.match((await sendPart(id, 0, photo.subarray(0, 10))).body.data, { is_complete: true })
  t.match(await sendActs(nimal, [given]), [{ outcome: 'done', replayed: true }])
  t.match(await listOf(waybill), [{ kind: 'photo', type: 'image/jpeg' }])
  const image = (await app.inject({ url: `${shop}/${proofId}`, headers })).rawPayload
  t.notOk(image.includes('GPS'))
  t.equal(image.length, makeJpeg('', Buffer.alloc(60_000)).length - 10, 'nothing is lost or doubled')
})

t.test('what is no image, too long, of somebody else or never announced is no proof', async t => {
  const text = Buffer.from('<script>alert(1)</script>, which is no image')
  const { waybill, id } = await deliver(text.length)
  t.match(await sendPart(id, 0, text, sunil), { status: 404 })
  t.match(await sendPart('never-announced', 0, text), { status: 404 })
  t.match(await sendPart(id, 0, Buffer.concat([text, text])), { status: 422, body: { errors: { bytes: [/more/] } } })
  t.match(await sendPart(id, 0, text, { ...nimal, token: 'courier_nobody' }), { status: 401 })
  t.match((await sendPart(id, 0, text)).body.data, { received: text.length, is_complete: true })
  t.match(await listOf(waybill), [{ kind: 'none', type: null, reason: /no image/ }])
  const broken = { act: id, kind: 'photo', offset: 0, bytes: 'AAA?' }
  t.match(await send('POST', '/api/public/rider/proof-part', broken, { token: nimal.token }), { status: 422 })
})

t.test('a photo of a rider who was deactivated meanwhile arrives; a phone that was signed out sends none', async t => {
  const gone = await addPerson('Gone Rider', 'rider')
  const { waybill, id } = await deliver(photo.length, gone)
  await sendPart(id, 0, photo.subarray(0, 100), gone)
  await fixture.request('POST', '/api/staff/logout', {}, { token: gone.token })
  t.match(await sendPart(id, 100, photo.subarray(100), gone), { status: 401 })
  await deactivateStaff(pool, { tenant: fixture.tenant, email: gone.email })
  t.match(await sendPart(id, 100, photo.subarray(100), gone), { status: 200 })
  t.match(await listOf(waybill), [{ type: 'image/jpeg', rider: gone.name }])
})

t.test('a proof that follows is as good as one that came with its act; a code cannot follow', async t => {
  const { waybill } = await deliver()
  t.match(await act(nimal, 'fail', waybill, { reason_code: 'not_home' }), { code: 'moved' })
  const follows = { follows: { code: 6 } }
  const wrong = [writeAct('deliver', waybill, { cod: 4500, amount: 4500, proof: follows })]
  t.match(await send('POST', '/api/staff/rider/acts', { acts: wrong }, { token: nimal.token }), { status: 422 })
  t.strictSame(await rows(`select count(*)::int from proofs where waybill_number = $1`, [waybill]), [{ count: 1 }])
})
