import t from 'tap'
import { claimMessages } from '../../core/sending/claim.ts'
import { storeOutcomes } from '../../core/sending/outcomes.ts'
import { orderEvent, orderFacts } from '../../test/orders-stand-in.ts'
import { build } from '../../test/portal.ts'
import { dayMinutes, peopleByParcels, recordDay } from '../../test/recorded-day.ts'
import { giveRules } from '../../test/rules-of-demo.ts'
import { admitPerPerson } from './capability.ts'

/** The price of a utility message in the example of docs/staff/costs.md. */
const price = 0.0165
const stepMinutes = 10
const claiming = { room: 500, sendingSeconds: 30, recipientPauseSeconds: 0, admissions: [admitPerPerson] }

/** Plays the day with these fields in each rule; returns the messages that arrived and the parcels. */
const play = async (more: object) => {
  const { deliver, rows, pool, send } = await build(t)
  const rule = { template: 'order_delivered', language: 'en_US', body: ['{{customer_name}}', '{{waybill_number}}'] }
  await giveRules(
    pool,
    ['key_12', 'key_13'].map(on => ({ ...rule, on, ...more })),
  )
  const scans = recordDay()
  for (let minute = 0; minute <= dayMinutes; minute += stepMinutes) {
    const now = scans.filter(scan => scan.minute >= minute && scan.minute < minute + stepMinutes)
    const events = now.map(({ waybill, phone, status }) => {
      const order = orderFacts({ waybill_number: waybill, customer_phone: phone, status_key: status })
      return orderEvent(`${waybill} ${status}`, order, 'order.status_changed')
    })
    if (events.length > 0) await deliver(...events)
    for (let isMore = true; isMore; ) {
      const { messages } = await claimMessages(pool, claiming)
      await storeOutcomes(pool, await Promise.all(messages.map(send)), 0)
      isMore = messages.length > 0
    }
    const shift = `make_interval(mins => ${stepMinutes})`
    await rows(`update messages set due_at = due_at - ${shift}, send_at = send_at - ${shift} where status = 'queued'`)
  }
  const open = await rows(`select from messages where status <> 'accepted'`)
  t.same(open, [], 'each parcel’s messages have left')
  const sent = await rows('select from messages where provider_message_id is not null')
  return { messages: sent.length, parcels: new Set(scans.map(({ waybill }) => waybill)).size }
}

t.test('a recorded day costs less with one message per person', async t => {
  const before = await play({})
  const after = await play({ per: 'person', within: '20m', body: ['{{count}}', '{{waybill_numbers}}'] })
  for (const [name, { messages, parcels }] of Object.entries({ before, after }))
    t.comment(
      `${name}: ${messages} messages, ${(messages / parcels).toFixed(2)} per parcel, ${(messages * price).toFixed(2)} USD`,
    )
  t.equal(before.messages, before.parcels * 2)
  const people = peopleByParcels.reduce((sum, count) => sum + count)
  t.equal(after.messages, people * 2)
})
