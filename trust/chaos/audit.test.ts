import { readFileSync } from 'node:fs'
import t from 'tap'
import { audit, checks } from './audit.ts'
import type { Facts } from './facts.ts'
import { type Call, storyOf } from './history.ts'

/** A part of what a run of `npm run trust -- chaos` recorded: a line for each kind of facts. */
const lines = readFileSync(new URL('true-history.jsonl', import.meta.url), 'utf8')
  .trim()
  .split('\n')
const trueHistory = () => Object.fromEntries(lines.map(line => JSON.parse(line))) as Facts

/** The first that is so; the recorded history has one. */
const find = <Item>(items: readonly Item[], isSo: (item: Item) => boolean): Item => {
  const found = items.find(isSo)
  if (found === undefined) throw new Error('the recorded history has no such thing')
  return found
}
const remove = <Item>(items: Item[], isSo: (item: Item) => boolean): void =>
  void items.splice(items.indexOf(find(items, isSo)), 1)
/** With one more of them, or another one in its place. */
const double = <Item>(items: Item[], isSo: (item: Item) => boolean, changes: Partial<Item> = {}): void =>
  void items.push({ ...find(items, isSo), ...changes })
const change = <Item extends object>(items: Item[], isSo: (item: Item) => boolean, changes: Partial<Item>): void =>
  void Object.assign(find(items, isSo), changes)
/** The two change places. */
const swap = <Item>(items: Item[], one: Item, other: Item): void => {
  const [first, second] = [items.indexOf(one), items.indexOf(other)]
  items[first] = other
  items[second] = one
}
/** The first two that belong to the same waybill, or person. */
const twoOf = <Item>(items: readonly Item[], of: (item: Item) => unknown): [Item, Item] =>
  find([...Map.groupBy(items, of).values()], ({ length }) => length > 1) as [Item, Item]

const any = (): boolean => true
const isBatch = ({ what, ending, parts }: Call): boolean => what === 'book' && ending === 'done' && parts.length > 2
const isKeyed = (call: Call): boolean => isBatch(call) && call.key !== null
const isOther = ({ what, ending }: Call): boolean => what === 'move' && ending === 'done'
const later = ({ answeredAt }: Call) => ({ sentAt: answeredAt + 1, answeredAt: answeredAt + 2 })

/** Ways to spoil it, by the check that has to notice. */
const spoils: Record<keyof typeof checks, Record<string, (facts: Facts) => unknown>> = {
  acknowledgedIsStored: {
    'an order is lost': ({ history, effects }) => remove(effects, ({ name }) => name === find(history, isBatch).name),
    'a move is lost': ({ history, effects }) => remove(effects, ({ name }) => name === find(history, isOther).name),
  },
  refusedIsNotStored: {
    'a 503 says that nothing was changed, and a batch is stored': ({ history }) => {
      const { name } = find(history, isBatch)
      for (const call of history.filter(call => call.name === name))
        Object.assign(call, { status: 503, code: 'unavailable', hasRetryAfter: true, ending: 'refused' })
    },
  },
  inDoubtIsWholeOrNot: {
    'a batch in doubt is stored in part': ({ history, effects }) => {
      const { name } = find(history, isBatch)
      for (const call of history.filter(call => call.name === name)) Object.assign(call, { ending: 'in doubt' })
      remove(effects, effect => effect.name === name)
    },
  },
  nothingTwice: {
    'a batch with a key is stored twice': ({ history, effects }) =>
      double(effects, ({ name }) => name === find(history, isKeyed).name),
    'a batch was refused first, and is stored twice': ({ history, effects }) => {
      const batch = find(history, call => isBatch(call) && call.key === null)
      history.push({ ...batch, ending: 'refused', status: 503, code: 'unavailable', hasRetryAfter: true })
      double(effects, ({ name }) => name === batch.name)
    },
  },
  nothingUnasked: {
    'an order is stored that nobody sent': ({ effects }) => double(effects, any, { name: 'stranger-1' }),
  },
  oneResponseForAKey: {
    'a key gets another response': ({ history }) => double(history, isKeyed, { data: ['DM99999999'] }),
  },
  onlyTheErrorsOfTheDocs: {
    'a 500': ({ history }) => change(history, any, { status: 500, code: 'internal_error' }),
    'a 503 without its header': ({ history }) =>
      change(history, any, { status: 503, code: 'unavailable', hasRetryAfter: false }),
  },
  keysRunOnlyWhileTheyRun: {
    'a key runs after its response': ({ history }) => {
      const booked = find(history, isKeyed)
      history.push({ ...booked, ...later(booked), status: 409, code: 'idempotency_key_running', ending: 'refused' })
    },
  },
  nobodyWaitsForever: {
    'the last call with a key has no response': ({ history }) => {
      const booked = history.findLast(isKeyed) as Call
      history.push({ ...booked, ...later(booked), status: 0, ending: 'in doubt' })
    },
  },
  ordersAreInFull: { 'an amount differs': ({ orders }) => change(orders, any, { cod: -1 }) },
  waybillsAreTrue: {
    'two orders have one waybill': ({ orders }) =>
      change(orders, any, { waybill: (orders[1] as { waybill: string }).waybill }),
    'a response names the order of another batch': ({ history }) => {
      const one = find(history, isBatch)
      const other = find(history, call => isBatch(call) && call.name !== one.name)
      Object.assign(one, { data: [...one.parts.slice(1), (other.data as string[])[0]] })
    },
  },
  timelinesAreTrue: {
    'a step is missing': ({ timeline }) => remove(timeline, ({ status }) => status === 'key_9'),
    'the status is another one': ({ orders }) => change(orders, any, { status: 'key_21' }),
  },
  editsAreKept: {
    'an edit is lost': ({ history, orders }) => {
      const edit = find(history, ({ what, ending }) => what === 'edit' && ending === 'done')
      change(orders, ({ waybill }) => waybill === edit.asked, { address: 'the old one' })
    },
  },
  readersSeeWhatWasAcknowledged: {
    'an order is not found': ({ history }) => change(history, ({ what }) => what === 'look up', { status: 404 }),
  },
  changesComeOnceInOrder: {
    'a change is skipped': ({ changes }) => remove(changes, any),
    'a change comes twice': ({ changes }) => double(changes, any),
    'two changes of an order are swapped': ({ changes }) => swap(changes, ...twoOf(changes, ({ waybill }) => waybill)),
  },
  endpointGetsEveryEvent: {
    'an event is lost': ({ changes, received }) => {
      const { id } = changes[0] as { id: string }
      for (const event of received.filter(event => event.id === id)) received.splice(received.indexOf(event), 1)
    },
  },
  endpointGetsThemInOrder: {
    'two events of an order are swapped': ({ received }) =>
      swap(received, ...twoOf(received, ({ waybill }) => waybill)),
  },
  signaturesAreRight: {
    'a signature is wrong': ({ received }) => change(received, any, { signature: 'v1,bm8=' }),
    'a body is another one than was signed': ({ received }) => change(received, any, { payload: '{}' }),
  },
  nothingIsLeftWaiting: { 'an event stays in the outbox': ({ waiting }) => Object.assign(waiting, { events: 1 }) },
  eventsMakeTheirMessagesOnce: {
    'an event makes no message': ({ messages }) => remove(messages, ({ event }) => event === 'order.created'),
    'an event makes two': ({ messages }) => double(messages, ({ event }) => event === 'order.created', { id: 'msg_1' }),
  },
  noMessageTwiceOnTheWire: {
    'a message arrives twice': ({ wire }) => double(wire, any),
    'a message arrives that is not stored': ({ wire }) => double(wire, any, { message: 'msg_1' }),
  },
  statusesAreTrue: {
    'a message is delivered and never arrived': ({ messages, wire }) =>
      remove(wire, ({ message }) => find(messages, ({ status }) => status === 'read').id === message),
    'a message was cancelled and arrived': ({ messages }) =>
      change(messages, ({ status }) => status === 'read', { isCancelled: true }),
    'a message arrived, and its webhook was lost': ({ messages }) =>
      change(messages, ({ status }) => status === 'read', { status: 'unknown' }),
  },
  messagesKeepTheirOrder: {
    'two messages about an order are swapped': ({ messages, wire }) => {
      const aboutOrders = messages.filter(
        ({ id, event }) => /^(order\.|key_)/.test(event ?? '') && wire.some(({ message }) => message === id),
      )
      const [one, other] = twoOf(aboutOrders, ({ waybill }) => waybill)
      const of = (id: string) => find(wire, ({ message }) => message === id)
      swap(wire, of(one.id), of(other.id))
    },
  },
  peopleGetTheirPause: {
    'two messages come at once': ({ wire }) => double(wire, any),
  },
  optOutsHold: {
    'a message is made and sent after an opt-out': ({ messages, wire, optOuts }) => {
      const { person, at } = optOuts[0] as Facts['optOuts'][number]
      double(messages, any, { id: 'msg_1', person, createdAt: at + 1_000 })
      double(wire, any, { message: 'msg_1', person, at: at + 2_000 })
    },
  },
  writtenOptOutsAreKept: { 'an opt-out is lost': ({ stops }) => void stops.push({ person: '94770000001' }) },
  pressesActOnce: {
    'a press acts twice': ({ acted }) => double(acted, any),
    'a press is taken twice': ({ actions }) => double(actions, any),
  },
  noPressIsLost: { 'a press is lost': ({ presses }) => double(presses, any, { index: 9 }) },
  ordersAndNotifierAgree: {
    'the outcome is another one': ({ actions }) => change(actions, any, { outcome: null }),
    'orders acts on what nobody pressed': ({ acted }) => double(acted, any, { id: 'msg_1 1' }),
  },
  customersStepsAreTheirs: {
    'an order is cancelled twice by one press': ({ timeline }) => double(timeline, ({ by }) => by === 'customer'),
    'what a customer did is not in the timeline': ({ timeline }) => remove(timeline, ({ by }) => by === 'customer'),
  },
}

t.test('a true history has no violations', async t => t.strictSame(audit(trueHistory()), []))

t.test('a history that is spoiled in any way is noticed by the check for that', async t => {
  t.strictSame(Object.keys(spoils).toSorted(), Object.keys(checks).toSorted())
  for (const [check, ways] of Object.entries(spoils))
    for (const [way, spoil] of Object.entries(ways)) {
      const facts = trueHistory()
      spoil(facts)
      t.ok(
        audit(facts).some(found => found.check === check),
        `${check}: ${way}`,
      )
    }
})

t.test('a violation is told with the calls around it', async t => {
  const facts = trueHistory()
  const { name } = find(facts.history, isKeyed)
  remove(facts.effects, effect => effect.name === name)
  const [violation] = audit(facts)
  t.match(violation?.sentence, `book ${name} was acknowledged`)
  t.match(storyOf(violation?.sentence ?? '', facts.history, []), new RegExp(`book ${name} with its key -> 200`))
})
