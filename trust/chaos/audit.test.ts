import { readdirSync, readFileSync } from 'node:fs'
import t from 'tap'
import { audit, checks } from './audit.ts'
import { makeExcerpt } from './history.ts'
import { any, change, double, find, isKeyed, isUnconfirmed, remove, type Spoils, trueHistory } from './test/spoil.ts'

t.test('a true history has no violations', async t => t.strictSame(audit(trueHistory()), []))

t.test('each check has ways to spoil a history', async t => {
  const folder = new URL('checks/', import.meta.url)
  const files = readdirSync(folder).filter(file => file.endsWith('.test.ts'))
  const tests = files.map(file => readFileSync(new URL(file, folder), 'utf8')).join()
  for (const check of Object.keys(checks)) t.match(tests, `  ${check}: {`)
})

/** Lists changes that leave a history true. */
const harmless: Spoils = {
  'a transaction on a lost connection holds its key for a while': ({ history }) => {
    const booked = find(history, isKeyed)
    const lost = { status: 503, code: 'unavailable', hasRetryAfter: true, ending: 'refused' } as const
    const [sentAt, running] = [booked.sentAt - 2_000, { status: 409, code: 'idempotency_key_running' }]
    history.unshift({ ...booked, ...lost, sentAt: sentAt - 5_000, respondedAt: sentAt - 3_000 })
    history.unshift({ ...booked, ...running, sentAt, respondedAt: sentAt + 1, ending: 'refused' })
  },
  'an edit in doubt lands after its repetition and after the next edit': ({ history, orders }) => {
    const edit = find(history, ({ what, ending }) => what === 'edit' && ending === 'done')
    const { waybill, address: last } = find(orders, order => order.waybill === edit.asked)
    const one = { ...edit, name: 'merchant0-edit-1', sentAt: edit.sentAt - 9, respondedAt: edit.sentAt - 8 }
    history.unshift({ ...one, status: 0, ending: 'in doubt' }, one)
    t.not(last, one.name)
    change(orders, order => order.waybill === waybill, { address: one.name })
  },
  'a message is made before the transaction of a STOP is committed': ({ messages, wire, optOuts }) => {
    const stop = { person: '94770000001', at: 1_000_000 }
    optOuts.push(stop)
    double(messages, any, { id: 'msg_1', person: stop.person, waybill: null, event: null, createdAt: stop.at + 5 })
    double(wire, any, { message: 'msg_1', person: stop.person, at: stop.at + 2_000 })
  },
  'facts from a webhook that the API gave up on are missing': ({ presses, stops, messages, givenUp }) => {
    const { id } = find(messages, ({ status }) => status === 'read')
    change(messages, message => message.id === id, { status: 'unknown' })
    presses.push({ message: 'msg_1', index: 1, inbound: 'wamid.1', copies: 1 })
    stops.push({ person: '94770000001', inbound: 'wamid.2' })
    const lost = { at: 0, status: null, message: null, inbound: null }
    givenUp.push({ ...lost, message: id }, { ...lost, inbound: 'wamid.1' }, { ...lost, inbound: 'wamid.2' })
  },
  'a customer confirms an address, and then an earlier one': ({ presses, actions }) => {
    const done = actions.filter(({ id, outcome }) => id.endsWith(' address') && outcome === 'done')
    const confirmed = new Set(done.map(({ waybill }) => waybill))
    const { id } = find(actions, action => confirmed.has(action.waybill) && isUnconfirmed(action))
    double(presses, any, { message: id.split(' ')[0] as string, index: 0 })
  },
}

t.test('a change that leaves a history true is not a violation', async t => {
  for (const [way, happen] of Object.entries(harmless)) {
    const evidence = trueHistory()
    happen(evidence)
    t.strictSame(audit(evidence), [], way)
  }
})

t.test('shows a violation with the requests around it', async t => {
  const evidence = trueHistory()
  const { name } = find(evidence.history, isKeyed)
  remove(evidence.effects, effect => effect.name === name)
  const [violation] = audit(evidence)
  t.match(violation?.sentence, `book ${name} was acknowledged`)
  t.match(makeExcerpt(violation?.sentence ?? '', evidence.history, []), new RegExp(`book ${name} with its key -> 200`))
})
