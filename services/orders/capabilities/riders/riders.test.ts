import t from 'tap'
import { refusal } from '../../test/orders-fixture.ts'
import { ridersTenant } from '../../test/riders-fixture.ts'

const fixture = await ridersTenant(t)
const { make, makeReady, assign, act, sendActs, writeAct, readList, nimal, sunil, staffPost, staffGet, request } =
  fixture
const waybillsOf = async (person = nimal) =>
  (await readList(person)).parcels.map((parcel: { waybill_number: string }) => parcel.waybill_number)

t.test('parcels are given to a rider, all or none, and taken away; reassigning says from whom', async t => {
  await makeReady(['DM00000001', 'DM00000002'])
  const first = await assign(['DM00000001', 'DM00000002'], nimal.name)
  t.match(first, { status: 200, body: { data: { rider: { id: nimal.id, name: nimal.name } } } })
  t.strictSame(first.body.data.parcels[0], { waybill_number: 'DM00000001', former: null })
  t.strictSame((await assign(['DM00000001'], sunil.id)).body.data.parcels[0].former, nimal.name)
  t.strictSame(await waybillsOf(), ['DM00000002'])
  t.strictSame(await waybillsOf(sunil), ['DM00000001'])

  const wrong = await assign(['DM00000002', 'DM00000099'], sunil.name)
  t.strictSame(wrong.body, refusal({ 'waybill_numbers.1': ['The requested waybill does not exist in the system.'] }))
  t.strictSame(await waybillsOf(), ['DM00000002'])
  const unknown = await assign(['DM00000002'], 'Nimal Ridr')
  t.strictSame(
    unknown.body,
    refusal({
      rider: ['No member of staff with the role rider has the name or id Nimal Ridr. Did you mean Nimal Rider?'],
    }),
  )
  t.match(await assign(['DM00000002'], 'Kamal Perera'), { status: 422 }, 'a dispatcher is no rider')

  const { data } = (await staffGet('/order/DM00000001')).body
  t.match(data.rider, { name: sunil.name })
  t.match(data.rider_changes, [
    { rider: sunil.name, former: nimal.name, by: 'Kamal Perera' },
    { rider: nimal.name, former: null },
  ])
  const taken = await staffPost('/order/unassign', { waybill_numbers: ['DM00000001'] })
  t.strictSame(taken.body.data.parcels, [{ waybill_number: 'DM00000001', former: sunil.name }])
  t.match(await staffPost('/order/unassign', { waybill_numbers: ['DM00000001'] }), {
    status: 422,
    body: { errors: { 'waybill_numbers.0': ['No rider has DM00000001.'] } },
  })
})

t.test('lists of staff show and filter by the rider; those of merchants do not know riders', async t => {
  const mine = (await staffGet(`/order?rider=${nimal.id}`)).body.data
  t.match(mine, [{ waybill_number: 'DM00000002', rider: { id: nimal.id, name: nimal.name } }])
  t.strictSame(mine.length, 1)
  t.match((await staffGet('/order?rider=none')).body.data, [{ waybill_number: 'DM00000001', rider: null }])
  t.match((await staffGet('/order?rider=none&noPagination=1')).body.data, [{ rider: null }])
  t.match(await staffGet('/order?rider=nobody'), { status: 422 })
  const own = (await request('GET', '/api/public/merchant/order')).body.data
  t.ok(own.length > 0 && own.every((order: object) => !('rider' in order)))
  t.match(await request('GET', '/api/public/merchant/order?filter[rider]=1'), { status: 422 })
})

t.test('a rider delivers, fails, takes and hands back; each act counts once', async t => {
  const deliver = writeAct('deliver', 'DM00000002', { cod: 4500, amount: 4500 })
  t.strictSame(await sendActs(nimal, [deliver]), [
    { id: deliver.id, outcome: 'done', code: null, message: null, replayed: false },
  ])
  t.match(await sendActs(nimal, [deliver]), [{ outcome: 'done', replayed: true }])
  t.match(await sendActs(nimal, [{ ...deliver, amount: 1 }]), [{ outcome: 'refused', code: 'reused' }])
  t.match(await readList(nimal), {
    counts: { to_do: 0, done: 1, failed: 0 },
    cash: { parcels: 1, amount: 4500 },
    parcels: [{ state: 'done', status: { key: 'key_13' }, whatsapp_digits: '94770000101' }],
  })
  const { data } = (await staffGet('/order/DM00000002')).body
  t.match(data.timeline[0], { user: { first_name: 'Nimal' }, status: { key: 'key_13' } })

  t.match(await act(nimal, 'take', 'DM00000001'), { outcome: 'done' })
  t.match(await act(nimal, 'take', 'DM00000001'), { outcome: 'done' }, 'it has the parcel already')
  t.match(await act(sunil, 'take', 'DM00000001'), { code: 'given_away', message: /Nimal Rider/ })
  t.match(await act(nimal, 'fail', 'DM00000001', { reason_code: 'on_the_moon' }), { code: 'reason' })
  t.match(await act(nimal, 'fail', 'DM00000001', { reason_code: 'not_home' }), { outcome: 'done' })
  t.match(await act(nimal, 'fail', 'DM00000001', { reason_code: 'not_home' }), { code: 'moved' })
  t.match((await readList(nimal)).parcels[0], { state: 'failed', failed_attempts: 1 })
  t.match(await act(nimal, 'hand_back', 'DM00000001'), { outcome: 'done' })
  t.match(await act(nimal, 'hand_back', 'DM00000001'), { code: 'not_with_you' })
  t.match(await act(nimal, 'take', 'DM00000001'), { code: 'moved' }, 'after a failure the office decides')
  t.match(await act(nimal, 'take', 'DM00000077'), { code: 'unknown' })
})

t.test('a rider sees and does nothing else', async t => {
  for (const path of ['/order', '/order/DM00000002', '/today', '/riders', '/merchant', '/cash', '/status'])
    t.match(await staffGet(path, { token: nimal.token }), { status: 403 }, path)
  t.match(await staffPost('/order/assign', { waybill_numbers: ['DM00000001'], rider: nimal.id }, nimal.token), {
    status: 403,
  })
  t.match(await staffGet('/me', { token: nimal.token }), { status: 200, body: { data: { role: 'rider' } } })
  await make(['DM00000003'])
  t.strictSame((await staffGet('/rider/parcels/dm00000003', { token: nimal.token })).body.data, {
    ...{ waybill_number: 'DM00000003', with: 'nobody', rider: null, can_take: false },
  })
  t.match(await staffGet('/rider/parcels/DM00000088', { token: nimal.token }), { status: 404 })
})

t.test('the sequence of a list is stored, and parcels of others are ignored', async t => {
  await makeReady(['DM00000011', 'DM00000012', 'DM00000013'])
  await assign(['DM00000011', 'DM00000012', 'DM00000013'], sunil.name)
  const token = sunil.token
  const sorted = await staffPost(
    '/rider/sequence',
    { waybill_numbers: ['DM00000013', 'DM00000002', 'DM00000011'] },
    token,
  )
  t.match(sorted, { status: 200, body: { data: { sorted: 2 } } })
  t.strictSame(await waybillsOf(sunil), ['DM00000013', 'DM00000011', 'DM00000012'])
})

t.test('dispatch sees the day of each rider', async t => {
  t.match((await staffGet('/riders')).body.data, [
    { name: nimal.name, to_do: 0, done: 1, failed: 0, cash: 4500, refused: 5 },
    { name: sunil.name, to_do: 3, done: 0, failed: 0, cash: 0, refused: 1 },
  ])
})

t.test('the address of a picture in a company that does not exist leads nowhere', async t => {
  for (const tenant of ['0', 'nobody', 'DEMO', '%00'])
    t.match(await request('GET', `/api/public/proof/${tenant}/DM00000001/1/0/0`), { status: 404 }, tenant)
})
