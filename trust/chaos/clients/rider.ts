import { pick } from '../plan.ts'
import { type Act, type Client, createRequester } from './client.ts'

/** Lists the statuses from a confirmed parcel to the first from which riders take parcels. */
const way = ['key_2', 'key_9', 'key_10']

interface Parcel {
  readonly waybill_number: string
  readonly state: string
  readonly cod: number
}

/**
 * Acts as a rider's phone: takes parcels, and delivers, fails or hands back those on its list. It repeats a list of
 * acts until there is a response.
 */
export const rider = (client: Client): Act => {
  const { who, chance, known } = client
  const { call, insist } = createRequester(client, 'rider', '/api/staff/rider')
  const office = createRequester(client, 'staff', '/api/staff')
  const send = (name: string, acts: readonly object[]) => {
    const happened_at = new Date().toISOString()
    const body = { acts: acts.map((act, part) => ({ ...act, id: `${name}_${part}`, happened_at })) }
    const parts = acts.map((_, part) => String(part))
    return insist('acts', name, '/acts', { parts, body, key: name, isKeyInBody: true })
  }
  /** Has the office move a few parcels near their delivery, and takes them. */
  const take = async (name: string) => {
    const first = known.find(({ fate, status }) => fate === 'staff' && way.includes(status))
    if (!first) return
    const { status: before } = first
    const free = known.filter(({ fate, status }) => fate === 'staff' && status === before).slice(0, 6)
    const waybills = free.map(({ waybill }) => waybill)
    for (const one of free) one.status = 'with a rider'
    for (const status_key of way.slice(way.indexOf(before) + 1)) {
      const note = `${name}-${status_key}`
      const body = { waybill_numbers: waybills, status_key, note }
      const options = { parts: waybills, asked: status_key, body, key: note }
      if ((await office.insist('move', note, '/order/status', options)).ending !== 'done') return
    }
    await send(
      name,
      waybills.map(waybill_number => ({ kind: 'take', waybill_number })),
    )
  }
  const visit = async (name: string) => {
    const { data } = await call('read', `${name}-read`, '/parcels')
    const parcels = ((data as { parcels: Parcel[] } | null)?.parcels ?? []).filter(({ state }) => state === 'to_do')
    const acts = parcels.slice(0, 6).map(({ waybill_number, cod }) => {
      const ways = [{ kind: 'fail', reason_code: 'not_home' }, { kind: 'hand_back' }]
      const delivery = { kind: 'deliver', cod, amount: cod, method: 'cash' }
      return { waybill_number, ...(chance() < 0.8 ? delivery : pick(ways, chance)) }
    })
    if (acts.length > 0) await send(name, acts)
  }
  return n => (n % 2 === 0 ? take : visit)(`${who}-${n}`)
}
