import t from 'tap'
import type { Evidence, Identity } from '../evidence.ts'
import { any, change, double, find, pickTwo, remove, swap, testChecks } from '../test/spoil.ts'
import * as messages from './messages.ts'
import * as people from './people.ts'

/** Adds the user id of somebody who opted out, which leads to the number, with the changes. */
const setIdentity = (evidence: Evidence, changes: Partial<Identity>): void => {
  const { person } = find(evidence.optOuts, any)
  Object.assign(evidence, { identities: [{ person, knownAs: person, left: 0, isOut: true, ...changes }] })
}

testChecks(
  t,
  { ...messages, ...people },
  {
    eventsMakeTheirMessagesOnce: {
      'an event makes no message': ({ messages }) => remove(messages, ({ event }) => event === 'order.created'),
      'an event makes two messages': ({ messages }) =>
        double(messages, ({ event }) => event === 'order.created', { id: 'msg_1' }),
    },
    noMessageTwiceOnTheWire: {
      'a message arrives twice': ({ wire }) => double(wire, any),
      'a message arrives that is not stored': ({ wire }) => double(wire, any, { message: 'msg_1' }),
    },
    resendsAreAskedFor: {
      'a message is sent again, and nobody asked for it': ({ messages }) => change(messages, any, { resends: 1 }),
      'a resend that was acknowledged is lost': ({ history, messages }) =>
        double(history, any, { what: 'resend', ending: 'done', asked: messages[0]?.id, parts: [], key: null }),
    },
    sendsNameTheirMessages: {
      'a response names a message that does not exist': ({ history }) =>
        change(history, ({ what, ending, parts }) => what === 'send' && ending === 'done' && parts.length === 1, {
          data: { id: 'msg_1', status: 'queued' },
        }),
      'a response names no message': ({ history }) =>
        change(history, ({ what, ending }) => what === 'send' && ending === 'done', { data: null }),
    },
    statusesAreTrue: {
      'a message is delivered and never arrived': ({ messages, wire }) =>
        remove(wire, ({ message }) => find(messages, ({ status }) => status === 'read').id === message),
      'a message was cancelled and arrived': ({ messages }) =>
        change(messages, ({ status }) => status === 'read', { isCancelled: true }),
      'a message arrived, and its webhook was lost': ({ messages }) =>
        change(messages, ({ status }) => status === 'read', { status: 'unknown' }),
      'a message arrived, and staff are shown that it failed': ({ messages }) =>
        change(messages, ({ status }) => status === 'read', { status: 'failed' }),
      'a message arrived, its webhook was lost, and another one was given up': ({ messages, givenUp }) => {
        change(messages, ({ status }) => status === 'read', { status: 'unknown' })
        givenUp.push({ at: 0, status: null, message: 'msg_1', inbound: null })
      },
    },
    messagesKeepTheirOrder: {
      'two messages about an order are swapped': ({ messages, wire }) => {
        const aboutOrders = messages.filter(
          ({ id, event }) => /^(order\.|key_)/.test(event ?? '') && wire.some(({ message }) => message === id),
        )
        const [one, other] = pickTwo(aboutOrders, ({ waybill }) => waybill)
        const of = (id: string) => find(wire, ({ message }) => message === id)
        swap(wire, of(one.id), of(other.id))
      },
    },
    peopleGetTheirPause: {
      'two messages come at once': ({ wire }) => double(wire, any),
    },
    parcelsAreInTheirMessage: {
      'a message arrives without the parcel of one that joined it': ({ messages, wire }) => {
        const [one, other] = pickTwo(messages, ({ person, status }) => `${person} ${status}`)
        Object.assign(one, { joinedTo: other.id, status: 'read' })
        other.status = 'read'
        Object.assign(find(wire, any), { message: other.id, text: other.waybill })
      },
      'a message joined one to another person': ({ messages }) =>
        change(messages, any, { joinedTo: find(messages, ({ person }) => person !== messages[0]?.person).id }),
    },
    identitiesLeadToTheirPeople: {
      'a user id leads to another person': evidence => setIdentity(evidence, { knownAs: '94770000001' }),
      'a conversation by user id stays': evidence => setIdentity(evidence, { left: 1 }),
      'an opt-out by user id does not stop messages by number': evidence => setIdentity(evidence, { isOut: false }),
    },
    optOutsHold: {
      'a message is made and sent after staff opted a person out': ({ history, messages, wire }) => {
        const { parts, respondedAt } = find(history, ({ what, ending }) => what === 'opt out' && ending === 'done')
        const [person = ''] = parts
        double(messages, any, { id: 'msg_1', person, createdAt: respondedAt + 5 })
        double(wire, any, { message: 'msg_1', person, at: respondedAt + 1_000 })
      },
      'a message arrives a minute after a STOP': ({ messages, wire, optOuts }) => {
        const { person, at } = optOuts[0] as Evidence['optOuts'][number]
        double(messages, any, { id: 'msg_1', person, createdAt: at - 1 })
        double(wire, any, { message: 'msg_1', person, at: at + 61_000 })
      },
    },
    writtenOptOutsAreKept: {
      'an opt-out is lost': ({ stops }) => void stops.push({ person: '94770000001', inbound: 'wamid.1' }),
      'an opt-out is lost, and another webhook was given up': ({ stops, givenUp }) => {
        stops.push({ person: '94770000001', inbound: 'wamid.1' })
        givenUp.push({ at: 0, status: null, message: null, inbound: 'wamid.2' })
      },
    },
  },
)
