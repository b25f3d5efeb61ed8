import t from 'tap'
import { createChance } from '../../../../test/chance.ts'
import { ridersTenant } from '../../test/riders-fixture.ts'

// Compares random histories of two phones of a rider, and of a dispatcher, with a model. The phones collect acts
// without a network and send some of them later, also twice at once. RIDER_SEED repeats a history; RIDER_STEPS makes
// it longer.

const seed = Number(process.env.RIDER_SEED ?? Date.now() % 1_000_000)
const steps = Number(process.env.RIDER_STEPS ?? 150)

interface Parcel {
  readonly waybill: string
  state: 'to_do' | 'failed' | 'delivered'
  holder: 'me' | 'other' | null
  cod: number
  /** Is the cash of the delivery that the rider has; 0 once it was handed over. */
  cash: number
  isHandedOver: boolean
}
interface PhoneAct {
  readonly id: string
  readonly kind: string
  readonly waybill_number: string
  readonly cod?: number
  readonly amount?: number
  readonly act?: string
}

/** Says what becomes of an act, and does it. `isForced`: the office applies it. Returns the code of a refusal. */
const apply = (parcel: Parcel, { kind, cod, amount = 0 }: PhoneAct, isForced = false): string | null => {
  const foreign = parcel.holder === 'other' ? 'given_away' : 'not_with_you'
  if (kind === 'take') {
    if (parcel.holder === 'me') return null
    if (parcel.holder === 'other' && !isForced) return 'given_away'
    if (parcel.state === 'delivered') return parcel.isHandedOver ? 'cash_handed_over' : 'moved'
    if (parcel.state === 'failed' && !isForced) return 'moved'
    parcel.holder = 'me'
    return null
  }
  if (parcel.holder !== 'me' && !isForced) return foreign
  if (parcel.state === 'delivered') return parcel.isHandedOver ? 'cash_handed_over' : 'moved'
  if (kind === 'hand_back') {
    if (parcel.holder === 'me') parcel.holder = null
    return null
  }
  if (kind === 'fail') {
    if (parcel.state === 'failed') return 'moved'
    parcel.state = 'failed'
    return null
  }
  if (!isForced && amount !== parcel.cod && cod !== parcel.cod) return 'cod_changed'
  Object.assign(parcel, { state: 'delivered', cash: amount, isHandedOver: false })
  return null
}

t.test(`histories of riders agree with a model (RIDER_SEED=${seed})`, async t => {
  const { makeReady, assign, sendActs, writeAct, readList, nimal, sunil, staffPost, staffGet, rows, request, staffOf } =
    await ridersTenant(t)
  const clerk = await staffOf('Chamari')
  const random = createChance(seed)
  const below = (count: number): number => Math.floor(random() * count)
  const pick = <Each>(list: readonly Each[]): Each => list[below(list.length)] as Each
  const parcels = Array.from({ length: 12 }, (_, n): Parcel => {
    const waybill = `DM970000${String(n).padStart(2, '0')}`
    return { waybill, state: 'to_do', holder: null, cod: [0, 900, 4500][n % 3] ?? 0, cash: 0, isHandedOver: false }
  })
  for (const { waybill, cod } of parcels) await makeReady([waybill], { cod })
  const phones: [PhoneAct[], PhoneAct[]] = [[], []]
  const sent = new Map<string, PhoneAct>()
  const refused = new Map<string, PhoneAct & { code: string }>()

  const collect = () => {
    const { waybill, cod } = pick(parcels)
    const drops = refused.size > 0 && below(6) === 0
    const kind = drops ? 'drop' : pick(['deliver', 'deliver', 'fail', 'hand_back', 'take', 'take'])
    const rest = { deliver: { cod, amount: cod }, fail: { reason_code: 'not_home' } }[kind] ?? {}
    const { id = '', waybill_number = waybill } = drops ? pick([...refused.values()]) : {}
    pick(phones).push(writeAct(kind, waybill_number, { ...rest, ...(drops && { act: id }) }))
  }
  const send = async () => {
    const phone = pick(phones)
    const acts = phone.slice(0, 1 + below(4))
    if (acts.length === 0) return
    // The response is lost, and the phone sends again: at once, later, or never.
    const repeats = below(4)
    const outcomes = await (repeats === 0
      ? Promise.all([sendActs(nimal, acts), sendActs(nimal, acts)]).then(([one]) => one)
      : sendActs(nimal, acts))
    if (repeats !== 1) phone.splice(0, acts.length)
    for (const [index, act] of acts.entries()) {
      const { code } = outcomes[index]
      if (sent.has(act.id)) continue
      sent.set(act.id, act)
      const parcel = parcels.find(({ waybill }) => waybill === act.waybill_number) as Parcel
      const expected = act.kind === 'drop' ? null : apply(parcel, act)
      if (act.kind === 'drop') refused.delete(act.act ?? '')
      t.equal(code, expected, `${act.kind} ${act.waybill_number}`)
      if (expected) refused.set(act.id, { ...act, code: expected })
    }
  }
  const give = async () => {
    const parcel = pick(parcels)
    const [rider, holder] = pick([[nimal, 'me'] as const, [nimal, 'me'] as const, [sunil, 'other'] as const])
    const { status } = await assign([parcel.waybill], rider.id)
    t.equal(status, parcel.state === 'delivered' ? 422 : 200, `assign ${parcel.waybill}`)
    if (status === 200) parcel.holder = holder
  }
  const withdraw = async () => {
    const parcel = pick(parcels)
    const { status } = await staffPost('/order/unassign', { waybill_numbers: [parcel.waybill] })
    t.equal(status, parcel.holder === null ? 422 : 200, `unassign ${parcel.waybill}`)
    parcel.holder = null
  }
  const editCod = async () => {
    const parcel = pick(parcels)
    if (parcel.state === 'delivered') return
    parcel.cod += 100
    await rows('update orders set cod = $2 where waybill_number = $1', [parcel.waybill, parcel.cod])
  }
  const takeBack = async () => {
    const parcel = pick(parcels)
    if (parcel.state !== 'delivered' || parcel.isHandedOver) return
    const path = `/order/${parcel.waybill}/take-back`
    t.match(await staffPost(path, { reason: 'Wrong parcel' }), { status: 200 }, `take back ${parcel.waybill}`)
    Object.assign(parcel, { state: 'to_do', cash: 0 })
  }
  const decide = async () => {
    const listed = (await staffGet('/rider-acts')).body.data
    t.strictSame(listed.map(({ id }: { id: string }) => id).sort(), [...refused.keys()].sort(), 'what waits')
    if (listed.length === 0) return
    const { act_no, id } = pick<{ act_no: number; id: string }>(listed)
    const act = refused.get(id) as PhoneAct
    const parcel = parcels.find(({ waybill }) => waybill === act.waybill_number) as Parcel
    const decision = pick(['applied', 'dismissed'])
    const isWrong = decision === 'applied' && apply(parcel, act, true) !== null
    const { status } = await staffPost(`/rider-acts/${act_no}/decide`, { decision, note: 'Asked by phone' })
    t.equal(status, isWrong ? 422 : 200, `${decision} ${act.kind} ${act.waybill_number}`)
    if (!isWrong) refused.delete(id)
  }
  const sumCash = () => parcels.reduce((sum, { cash }) => sum + cash, 0)
  const handOver = async () => {
    const cash = sumCash()
    if (cash === 0) return
    const body = { collected_by: nimal.name, declared: cash, counted: cash }
    const { status, body: answer } = await request('POST', '/api/staff/cash/handover', body, { token: clerk })
    t.match([status, answer.data?.state], [200, 'cleared'])
    for (const parcel of parcels) if (parcel.cash > 0) Object.assign(parcel, { cash: 0, isHandedOver: true })
  }
  const check = async () => {
    const { parcels: listed, cash, counts } = await readList(nimal)
    const mine = parcels.filter(({ holder }) => holder === 'me')
    const byWaybill = new Map(listed.map((each: { waybill_number: string }) => [each.waybill_number, each]))
    t.strictSame([...byWaybill.keys()].sort(), mine.map(({ waybill }) => waybill).sort(), 'the list of the phone')
    for (const { waybill, state } of mine)
      t.match(byWaybill.get(waybill), { state: state === 'delivered' ? 'done' : state }, waybill)
    t.equal(cash.amount, sumCash(), 'the cash')
    t.equal(counts.done, mine.filter(({ state }) => state === 'delivered').length)
  }
  const plans = [collect, collect, collect, collect, send, send, send, give, give, withdraw, editCod, takeBack, decide]
  for (let step = 0; step < steps; step++) {
    await pick([...plans, ...(step % 10 === 0 ? [handOver] : [])])()
    if (step % 15 === 0) await check()
  }
  for (const phone of phones) while (phone.length > 0) await send()
  await check()
  const [{ count }] = await rows('select count(*)::int from rider_acts')
  t.equal(count, sent.size, 'each act is stored once')
  const twice = await rows(`
    select waybill_number from money_lines line where kind = 'delivered' and not exists (
      select from money_lines later where later.waybill_number = line.waybill_number
        and later.refers_to = line.line_no and later.kind = 'delivery_reversed'
    ) group by 1 having count(*) > 1`)
  t.strictSame(twice, [], 'no delivery is booked twice')
})
