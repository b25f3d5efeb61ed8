import { Webhook } from 'standardwebhooks'
import type { Check, Facts } from '../facts.ts'

/** Of each waybill what its feed has to say, from the timelines and edits. */
const dueOf = ({ timeline, edits }: Facts) => {
  const [steps, edited] = [timeline, edits].map(all => Map.groupBy(all, ({ waybill }) => waybill))
  return new Map(
    [...(steps ?? [])].map(([waybill, all]) => [
      waybill,
      {
        statuses: (all as Facts['timeline']).map(({ status }) => status).join(' '),
        edits: edited?.get(waybill)?.length ?? 0,
      },
    ]),
  )
}

/** A reader of the changes gets each once, those of a waybill in their order. */
export const changesComeOnceInOrder: Check = facts => {
  const read = Map.groupBy(facts.changes, ({ waybill }) => waybill)
  const wrong = [...dueOf(facts)].flatMap(([waybill, due]) => {
    const all = read.get(waybill) ?? []
    const statuses = all.filter(({ type }) => type !== 'order.edited').map(({ status }) => status)
    const edits = all.length - statuses.length
    const isBegun = all[0]?.type === 'order.created'
    return isBegun && statuses.join(' ') === due.statuses && edits === due.edits
      ? []
      : [`the changes of ${waybill} are ${statuses.join(' ')} and ${edits} edits, not ${due.statuses} and ${due.edits}`]
  })
  const strangers = [...read.keys()].filter(waybill => !facts.orders.some(order => order.waybill === waybill))
  const ids = Map.groupBy(facts.changes, ({ id }) => id)
  const twice = [...ids].filter(([, all]) => all.length > 1).map(([id]) => id)
  return [
    ...wrong,
    ...strangers.map(waybill => `the changes have ${waybill}, which is not stored`),
    ...twice.map(id => `change ${id} was read twice`),
  ]
}

export const endpointGetsEveryEvent: Check = ({ changes, received }) => {
  const got = new Set(received.map(({ id }) => id))
  return changes.filter(({ id }) => !got.has(id)).map(({ id, waybill }) => `the endpoint never got ${id} of ${waybill}`)
}

/** The first time; what is sent again may come later. */
export const endpointGetsThemInOrder: Check = ({ received }) => {
  const first = new Map(received.toReversed().map(event => [event.id, event]))
  const latest = new Map<string, number>()
  return received
    .filter(event => first.get(event.id) === event)
    .flatMap(({ id, waybill }) => {
      const position = Number(id.split('.')[1])
      const before = latest.get(waybill) ?? 0
      latest.set(waybill, Math.max(before, position))
      return before < position ? [] : [`the endpoint got ${id} of ${waybill} after position ${before}`]
    })
}

/** By the time that the sender wrote: its clock may be wrong. */
export const signaturesAreRight: Check = ({ received, webhookSecret }) => {
  const webhook = new Webhook(webhookSecret)
  return received
    .filter(({ id, payload, timestamp, signature }) => {
      const right = webhook.sign(id, new Date(Number(timestamp) * 1000), payload)
      return !signature.split(' ').includes(right)
    })
    .map(({ id, waybill }) => `the endpoint got ${id} of ${waybill} with a wrong signature`)
}

export const nothingIsLeftWaiting: Check = ({ waiting }) =>
  Object.entries(waiting)
    .filter(([, count]) => count > 0)
    .map(([what, count]) => `once all is well there are still ${count} ${what}`)
