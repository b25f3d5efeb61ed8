import t from 'tap'
import type { Evidence, StoredOrder } from '../evidence.ts'
import { any, change, double, find, isBatch, isQuestion, pickTwo, remove, swap, testChecks } from '../test/spoil.ts'
import * as feed from './feed.ts'
import * as orders from './orders.ts'

/** Delivers the first order, and books these amounts for it. */
const deliver = ({ orders, money }: Evidence, book: (order: StoredOrder) => number[]): void => {
  change(orders, any, { status: 'key_13' })
  const order = find(orders, any)
  money.push(...book(order).map(cod => ({ waybill: order.waybill, cod })))
}

testChecks(
  t,
  { ...orders, ...feed },
  {
    ordersAreInFull: { 'an amount differs': ({ orders }) => change(orders, any, { cod: -1 }) },
    waybillsAreTrue: {
      'two orders have one waybill': ({ orders }) =>
        change(orders, any, { waybill: (orders[1] as { waybill: string }).waybill }),
      'a response names the order of another batch': ({ history }) => {
        const one = find(history, isBatch)
        const other = find(history, call => isBatch(call) && call.name !== one.name)
        Object.assign(one, { data: (one.data as string[]).with(0, (other.data as string[])[0] as string) })
      },
      'a response names orders that do not exist': ({ history }) => {
        const batch = find(history, isBatch)
        Object.assign(batch, { data: batch.parts.map(part => `DM9999999${part}`) })
      },
      'a response names no orders': ({ history }) => change(history, isBatch, { data: null }),
    },
    timelinesAreTrue: {
      'a step is missing': ({ timeline }) => remove(timeline, ({ status }) => status === 'key_9'),
      'the status is not the last one of the timeline': ({ orders }) => change(orders, any, { status: 'key_21' }),
    },
    editsAreKept: {
      'an edit is lost': ({ history, orders }) => {
        const edit = find(history, ({ what, ending }) => what === 'edit' && ending === 'done')
        change(orders, ({ waybill }) => waybill === edit.asked, { address: 'the old one' })
      },
      'an address of a customer is lost': ({ history, orders, acted }) => {
        const order = find(orders, ({ waybill }) => history.every(({ asked }) => asked !== waybill))
        double(acted, any, { id: 'msg_1 2 address', waybill: order.waybill, action: 'change_address', outcome: 'done' })
      },
      'an order has the address of another customer': ({ messages, orders, acted }) => {
        const { id, question, waybill } = find(messages, isQuestion)
        change(orders, order => order.waybill !== waybill, { address: question as string })
        double(acted, any, { id: `${id} 0 address`, action: 'change_address', outcome: 'done' })
      },
      'an order has an address that nobody confirmed': ({ orders, texts }) =>
        change(orders, any, { address: texts[0]?.text as string }),
    },
    readersSeeWhatWasAcknowledged: {
      'an order is not found': ({ history }) => change(history, ({ what }) => what === 'look up', { status: 404 }),
      'an order is found with an older status': ({ history }) =>
        change(history, ({ what }) => what === 'look up', { data: { status: { key: 'key_2' } } }),
      'an order is found with a status that it never had': ({ history }) =>
        change(history, ({ what }) => what === 'look up', { data: { status: { key: 'key_21' } } }),
    },
    changesComeOnceInOrder: {
      'a change is skipped': ({ changes }) => remove(changes, any),
      'a change comes twice': ({ changes }) => double(changes, any),
      'two changes of an order are swapped': ({ changes }) =>
        swap(changes, ...pickTwo(changes, ({ waybill }) => waybill)),
    },
    endpointsGetEveryEvent: {
      'an event is lost': ({ changes, received }) => {
        const { id } = changes[0] as { id: string }
        for (const event of received.filter(event => event.id === id)) received.splice(received.indexOf(event), 1)
      },
    },
    endpointsGetThemInOrder: {
      'two events of an order are swapped': ({ received }) =>
        swap(received, ...pickTwo(received, ({ waybill }) => waybill)),
    },
    signaturesAreRight: {
      'a signature is wrong': ({ received }) => change(received, any, { signature: 'v1,bm8=' }),
      'a body is not the one that was signed': ({ received }) => change(received, any, { payload: '{}' }),
    },
    nothingIsLeftWaiting: { 'an event stays in the outbox': ({ waiting }) => Object.assign(waiting, { events: 1 }) },
    moneyIsBookedOnce: {
      'a delivered parcel has no line': evidence => deliver(evidence, () => []),
      'a parcel was booked twice': evidence => deliver(evidence, ({ cod }) => [cod, cod]),
      'another amount was booked': evidence => deliver(evidence, ({ cod }) => [cod + 1]),
      'a parcel that was not delivered has a line': ({ orders, money }) => money.push(find(orders, any)),
      'the check of the ledger found something': ({ brokenLedger }) => brokenLedger.push('unequal 018f'),
    },
  },
)
