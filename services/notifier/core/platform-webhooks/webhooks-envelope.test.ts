import fc from 'fast-check'
import t from 'tap'
import { change, envelope, inbound, status } from '../../test/webhooks-fixture.ts'
import { listOrigins, readFacts, scanOrigins } from './envelope.ts'
import { parseJson } from './json.ts'

const now = new Date('2026-11-20T12:00:00.500Z')
const read = (body: unknown) => readFacts(parseJson(Buffer.from(JSON.stringify(body))), now)

t.test('a status becomes a fact', t => {
  const errors = [{ code: 131026, title: 'Message undeliverable', error_data: { details: '+94 77 …' }, href: 'x' }]
  const fields = { status: 'failed', timestamp: '1750030073', biz_opaque_callback_data: 'msg_1', errors, pricing: {} }
  t.match(read(envelope({ statuses: [status(fields)] })), [
    {
      kind: 'status',
      phoneNumberId: '100',
      providerMessageId: 'wamid.1',
      messageId: 'msg_1',
      status: 'failed',
      at: new Date(1750030073_000),
      errorCode: 131026,
      errorMeaning: 'Message undeliverable',
    },
  ])
  t.end()
})

t.test('a person is named by number, by user id, or by both, wherever a webhook writes them', t => {
  const [phone, userId] = ['94770000101', 'LK.13491208655302741918']
  const names = (value: object, field?: string) =>
    read(
      field
        ? { entry: [change({ ...(envelope({}).entry[0]?.changes[0]?.value as object), ...value }, field)] }
        : envelope({ ...value }),
    ).map(fact => 'phone' in fact && [fact.phone, fact.userId, fact.username])
  const says = (fields: object, contacts: object[] = []) =>
    names({ contacts, messages: [{ ...inbound(), from: undefined, ...fields }] })
  t.same(says({ from: phone }), [[phone, undefined, undefined]])
  t.same(says({ from: phone, from_user_id: userId }), [[phone, userId, undefined]])
  t.same(says({ from_user_id: userId }), [[undefined, userId, undefined]])
  t.same(says({ from_parent_user_id: 'LK.ENT.1181' }), [[undefined, 'LK.ENT.1181', undefined]])
  t.same(says({ from: userId }), [[undefined, userId, undefined]], 'a user id in from')
  const profile = { name: 'Nimali', username: 'nimali.p' }
  t.same(says({}, [{ user_id: userId, profile }]), [[undefined, userId, 'nimali.p']])
  t.same(says({ from_user_id: userId }, [{ wa_id: userId, profile }]), [[undefined, userId, 'nimali.p']])
  t.same(says({ from_user_id: userId }, [{ wa_id: phone, user_id: userId }]), [[phone, userId, undefined]])
  const stranger = { wa_id: '94770000999', user_id: 'LK.9' }
  t.same(says({ from: phone }, [stranger]), [[phone, undefined, undefined]], 'a contact of somebody else')
  const reports = (fields: object, contacts: object[] = []) =>
    names({ contacts, statuses: [{ ...status({}), recipient_id: undefined, ...fields }] })
  t.same(reports({ recipient_user_id: userId }), [[undefined, userId, undefined]])
  t.same(reports({ recipient_id: phone, recipient_user_id: userId }), [[phone, userId, undefined]])
  t.same(reports({ recipient_id: phone }, [{ wa_id: phone, user_id: userId }]), [[phone, userId, undefined]])
  const stop = { category: 'marketing_messages', value: 'stop', timestamp: 1750030073 }
  t.same(names({ user_preferences: [{ ...stop, user_id: userId }] }, 'user_preferences'), [
    [undefined, userId, undefined],
  ])
  const echo = { from: '9411', id: 'wamid.e', type: 'text', text: { body: 'Hi' } }
  t.same(names({ message_echoes: [{ ...echo, to_user_id: userId }] }, 'smb_message_echoes'), [
    [undefined, userId, undefined],
  ])
  t.same(says({ from: 'nonsense' }), [])
  t.end()
})

t.test('labels a file with its caption, else with its name', t => {
  const file = (document: object) =>
    read(envelope({ messages: [inbound({ type: 'document', text: undefined, document })] }))
  t.match(file({ id: '9', filename: 'slip.pdf' }), [{ label: 'slip.pdf', mediaId: '9' }])
  t.match(file({ id: '9', filename: 'slip.pdf', caption: 'paid' }), [{ label: 'paid' }])
  t.end()
})

t.test('a person’s message or press becomes a fact', t => {
  const button = inbound({ type: 'button', text: undefined, button: { text: 'Stop', payload: 'p' } })
  const reply = { type: 'button_reply', button_reply: { id: '1', title: 'Yes' } }
  const interactive = inbound({ type: 'interactive', text: undefined, interactive: reply })
  const facts = read(envelope({ messages: [inbound(), button, interactive, inbound({ type: 'image', text: 7 })] }))
  t.same(
    facts.map(fact => fact.kind === 'inbound' && [fact.phone, fact.text, fact.buttons]),
    [
      ['94770000101', 'Where is my parcel?', []],
      ['94770000101', undefined, ['Stop', 'p']],
      ['94770000101', undefined, ['Yes', '1']],
      ['94770000101', undefined, []],
    ],
  )
  t.end()
})

t.test('a message from nobody or in a group, and an unknown system message, are no facts', t => {
  const bad = [inbound({ from: 'x' }), inbound({ type: 'system' }), inbound({ group_id: 'g1' })]
  t.same(read(envelope({ messages: bad })), [])
  t.end()
})

t.test('a template event becomes a fact, its id digit for digit and its language as in a send', t => {
  const value = `{"event":"Approved","message_template_id":90071992547409931,"message_template_name":"order_created",
    "message_template_language":"en-US","reason":"NONE"}`
  const body = `{"entry":[{"id":"waba-demo","time":1750030073,"changes":[
    {"field":"message_template_status_update","value":${value}}]}]}`
  t.same(readFacts(parseJson(Buffer.from(body)), now), [
    {
      kind: 'template',
      wabaId: 'waba-demo',
      name: 'order_created',
      language: 'en_US',
      status: 'APPROVED',
      reason: 'NONE',
      templateId: '90071992547409931',
      at: new Date(1750030073_000),
    },
  ])
  t.end()
})

t.test('leaves out events that do not change whether a template may be sent', t => {
  const event = (name: string) => ({ event: name, message_template_name: 'x', message_template_language: 'en' })
  const facts = ['FLAGGED', 'UNARCHIVED', 'REINSTATED', 'paused', 'a b', ''].flatMap(name =>
    read({ entry: [change(event(name), 'message_template_status_update')] }),
  )
  t.same(
    facts.map(fact => fact.kind === 'template' && fact.status),
    ['APPROVED', 'PAUSED'],
  )
  t.end()
})

t.test('times are Unix seconds as text or number; invalid and future ones count as now', t => {
  const readTime = (timestamp: unknown) => read(envelope({ statuses: [status({ timestamp })] }))[0]?.at.toISOString()
  t.equal(readTime('1750030073'), '2025-06-15T23:27:53.000Z')
  t.equal(readTime(1750030073), '2025-06-15T23:27:53.000Z')
  for (const nonsense of [
    '1750030073000',
    'soon',
    '',
    null,
    undefined,
    -1,
    0,
    1e300,
    {},
    [],
    true,
    '99999999999999999999',
  ])
    t.equal(readTime(nonsense), now.toISOString(), JSON.stringify(nonsense))
  t.end()
})

t.test('leaves out unknown statuses and fields, and texts that Postgres would refuse', t => {
  const bad = [
    status({ status: 'played' }),
    status({ status: 7 }),
    status({ id: 'a\0b' }),
    status({ id: '\ud800' }),
    status({ id: 'x'.repeat(513) }),
    status({ id: undefined }),
    null,
    'text',
    [],
  ]
  t.same(read(envelope({ statuses: bad })), [])
  t.same(
    read({ entry: [change({ metadata: { phone_number_id: '100' }, statuses: [status({})] }, 'account_update')] }),
    [],
  )
  t.end()
})

t.test('the origins of a webhook are its numbers, and the accounts of changes without one', t => {
  const entry = [...envelope({}).entry, ...envelope({}, '101').entry, change({}, 'account_update', 'waba-2')]
  t.same(listOrigins({ entry }), ['100', '101', 'waba-2'])
  const many = Array.from({ length: 5000 }, (_, index) => change({}, 'x', `waba-${index}`))
  t.equal(listOrigins({ entry: many }).length, 1000)
  t.end()
})

t.test('reads a thousand updates', t => {
  const statuses = Array.from({ length: 1000 }, (_, index) => status({ id: `wamid.${index}` }))
  t.equal(read(envelope({ statuses })).length, 1000)
  t.end()
})

t.test('returns undefined for invalid JSON, and does not throw on deep nesting', t => {
  for (const text of ['', '{', 'null x', '['.repeat(1_000_000), '\xff'])
    t.equal(parseJson(Buffer.from(text, 'latin1')), undefined)
  const deep = `{"message_template_id":${'['.repeat(200_000)}${']'.repeat(200_000)}}`
  t.doesNotThrow(() => readFacts(parseJson(Buffer.from(deep)), now))
  t.end()
})

t.test('never throws on any JSON', t => {
  fc.assert(
    fc.property(fc.json(), text => {
      const document = parseJson(Buffer.from(text))
      readFacts(document, now)
      listOrigins(document)
    }),
    { numRuns: 1000 },
  )
  t.end()
})

const anything = fc.anything({ maxDepth: 3, withNullPrototype: true })
/** Generates values of the right type, of the wrong one, and none. */
const orAnything = <T>(right: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 4, arbitrary: right }, { weight: 1, arbitrary: anything })
const record = (fields: Record<string, fc.Arbitrary<unknown>>) =>
  orAnything(
    fc.record(Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, orAnything(value)])), {
      requiredKeys: [],
    }),
  )
const words = fc.constantFrom(
  'sent',
  'failed',
  'text',
  'en-US',
  'APPROVED',
  '94770000101',
  '1750030073',
  'a\0',
  '\ud800',
)
const nearlyRight = record({
  entry: fc.array(
    record({
      id: words,
      time: fc.integer(),
      changes: fc.array(
        record({
          field: fc.constantFrom('messages', 'message_template_status_update'),
          value: record({
            metadata: record({ phone_number_id: words }),
            statuses: fc.array(
              record({
                id: words,
                status: words,
                timestamp: words,
                errors: fc.array(record({ code: fc.integer(), title: words })),
              }),
            ),
            messages: fc.array(
              record({
                id: words,
                from: words,
                timestamp: words,
                text: record({ body: words }),
                button: record({ text: words }),
                interactive: record({ button_reply: record({ title: words }) }),
              }),
            ),
            event: words,
            message_template_id: fc.oneof(fc.integer(), words),
            message_template_name: words,
            message_template_language: words,
          }),
        }),
      ),
    }),
  ),
})

t.test('never throws on an almost valid envelope, and every fact has sound fields', t => {
  fc.assert(
    fc.property(nearlyRight, document => {
      listOrigins(document)
      for (const fact of readFacts(document, now)) {
        const texts = Object.values(fact).filter(value => typeof value === 'string')
        if (texts.some(text => text.includes('\0') || !text.isWellFormed())) return false
        if (!(fact.at.getTime() <= now.getTime())) return false
      }
      return true
    }),
    { numRuns: 1000 },
  )
  t.end()
})

t.test('the origins of an unverified body are its numbers, else its accounts', t => {
  const scanned = (document: unknown) => scanOrigins(Buffer.from(JSON.stringify(document)))
  const entry = [...envelope({}).entry, ...envelope({}, '101').entry, change({}, 'account_update', 'waba-2')]
  for (const indent of [0, 1, 8]) {
    const bytes = Buffer.from(JSON.stringify({ object: 'x', entry }, null, indent))
    t.same(scanOrigins(bytes), ['100', '101'])
    const accounts = { object: 'x', entry: entry.slice(2) }
    t.same(scanOrigins(Buffer.from(JSON.stringify(accounts, null, indent))), ['waba-2'])
  }
  const numbered = (id: string) => `{"entry":[{"id":7,"changes":[{"value":{"metadata":{"phone_number_id":${id}}}}]}]}`
  t.same(scanOrigins(Buffer.from(numbered('9'))), ['9'])
  for (const noId of ['false', 'null', '1.5', '{}']) t.same(scanOrigins(Buffer.from(numbered(noId))), ['7'], noId)
  const text = '\\","phone_number_id":"200"}}]}],"entry":[{"id":"200"}] {{{{{{ "phone_number_id":"200"'
  t.same(scanned(envelope({ messages: [inbound({ text: { body: text } })] })), ['100'])
  const many = Array.from({ length: 5000 }, (_, index) => change({}, 'x', `waba-${index}`))
  t.equal(scanned({ entry: many }).length, 32)
  t.end()
})

t.test('the scan never throws, and finds an origin of the document', t => {
  fc.assert(
    fc.property(
      fc.oneof(fc.uint8Array(), fc.string({ unit: fc.constantFrom('"', '\\', '{', '[', '}', ':', '1') })),
      some => Boolean(scanOrigins(Buffer.from(some as string))),
    ),
  )
  fc.assert(
    fc.property(nearlyRight, document => {
      const bytes = Buffer.from(JSON.stringify(document) ?? '')
      const all = listOrigins(parseJson(bytes))
      const scanned = scanOrigins(bytes)
      const isPlain = all.length > 0 && all.every(id => /^\d+$/.test(id))
      return !isPlain || all.some(id => scanned.includes(id))
    }),
  )
  t.end()
})
