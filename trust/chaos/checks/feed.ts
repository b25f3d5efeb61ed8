import { Webhook } from 'standardwebhooks'
import { findWrongChanges } from '../../follow-changes.ts'
import type { Check } from '../evidence.ts'

/** A reader of the changes gets each once, those of a waybill in their order. */
export const changesComeOnceInOrder: Check = evidence => findWrongChanges(evidence.changes, evidence)

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
