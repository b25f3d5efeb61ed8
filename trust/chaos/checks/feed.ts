import { isStatusEvent } from '@courier/shared/contract/order-events.ts'
import { Webhook } from 'standardwebhooks'
import type { Check, Evidence, Received } from '../evidence.ts'

/** Requires that a reader of the changes gets each once, and the changes of a waybill in order. */
export const changesComeOnceInOrder: Check = ({ changes, timeline, edits }) => {
  const read = Map.groupBy(changes, ({ waybill }) => waybill)
  const edited = Map.groupBy(edits, ({ waybill }) => waybill)
  const steps = Map.groupBy(timeline, ({ waybill }) => waybill)
  const wrong = [...steps].flatMap(([waybill, all]) => {
    const wanted = `${all.map(({ status }) => status).join(' ')} and ${edited.get(waybill)?.length ?? 0} edits`
    const own = read.get(waybill) ?? []
    const statuses = own.filter(({ type }) => isStatusEvent(type)).map(({ status }) => status)
    const found = `${statuses.join(' ')} and ${own.filter(({ type }) => type === 'order.edited').length} edits`
    const isBegun = own[0]?.type === 'order.created'
    return isBegun && found === wanted ? [] : [`the changes of ${waybill} are ${found}, not ${wanted}`]
  })
  const strangers = [...read.keys()].filter(waybill => waybill !== '' && !steps.has(waybill))
  const twice = [...Map.groupBy(changes, ({ id }) => id)].filter(([, all]) => all.length > 1)
  return [
    ...wrong,
    ...strangers.map(waybill => `the changes have ${waybill}, which is not stored`),
    ...twice.map(([id]) => `change ${id} was read twice`),
  ]
}

/** Lists the events that each endpoint accepted, in the order of their arrival. */
const groupByEndpoint = ({ endpoints, received }: Evidence): [name: string, received: Received[]][] =>
  Object.keys(endpoints).map(name => [name, received.filter(({ endpoint }) => endpoint === name)])

export const endpointsGetEveryEvent: Check = evidence =>
  groupByEndpoint(evidence).flatMap(([name, received]) => {
    const got = new Set(received.map(({ id }) => id))
    const lost = evidence.changes.filter(({ id }) => !got.has(id))
    return lost.map(({ id, waybill }) => `the endpoint ${name} never got ${id} of ${waybill}`)
  })

/** Requires order at the endpoints; a repeated event may arrive later. */
export const endpointsGetThemInOrder: Check = evidence =>
  groupByEndpoint(evidence).flatMap(([name, received]) => {
    const first = new Map(received.toReversed().map(event => [event.id, event]))
    const latest = new Map<string, number>()
    return received
      .filter(event => first.get(event.id) === event)
      .flatMap(({ id, waybill }) => {
        const position = Number(id.split('.')[1])
        const before = latest.get(waybill) ?? 0
        latest.set(waybill, Math.max(before, position))
        return before < position ? [] : [`the endpoint ${name} got ${id} of ${waybill} after position ${before}`]
      })
  })

/** Requires correct signatures. Signs again with the sender's time, since its clock may be wrong. */
export const signaturesAreRight: Check = ({ received, endpoints }) => {
  const signers = new Map(Object.entries(endpoints).map(([name, secret]) => [name, new Webhook(secret)]))
  return received
    .filter(({ endpoint, id, payload, timestamp, signature }) => {
      const right = signers.get(endpoint)?.sign(id, new Date(Number(timestamp) * 1000), payload)
      return !signature.split(' ').includes(right ?? '')
    })
    .map(({ endpoint, id, waybill }) => `the endpoint ${endpoint} got ${id} of ${waybill} with a wrong signature`)
}

export const nothingIsLeftWaiting: Check = ({ waiting }) =>
  Object.entries(waiting)
    .filter(([, count]) => count > 0)
    .map(([what, count]) => `once all is well there are still ${count} ${what}`)
