import { type TSchema, Type } from '@sinclair/typebox'
import { TypeCompiler } from '@sinclair/typebox/compiler'
import t, { type Test as Tap } from 'tap'
import { isBlank, label, listErrors, maxSentences, required, selectedInvalid } from './field-errors.ts'

const findErrors = (schema: TSchema, value: unknown) => {
  const check = TypeCompiler.Compile(schema)
  if (check.Check(value)) throw new Error('the value is valid')
  return listErrors(check, value).errors
}

/** Returns the sentence about the field `customer_name` of that schema. */
const findSentence = (schema: TSchema, value: unknown): string | undefined =>
  findErrors(Type.Object({ customer_name: schema }), { customer_name: value }).customer_name?.[0]

t.test('a missing field is required, whatever its type', async t => {
  const values = [undefined, null, '', ' \n', []]
  const schemas = [Type.Integer(), Type.Object({}), Type.Array(Type.String(), { minItems: 1 })]
  for (const schema of [...schemas, Type.String({ pattern: '\\S' })])
    for (const value of values.filter(value => !TypeCompiler.Compile(schema).Check(value)))
      t.equal(
        findSentence(schema, value),
        'The customer name field is required.',
        `${schema.type} ${JSON.stringify(value)}`,
      )
})

t.test('each kind of error has its sentence', async t => {
  const table: [TSchema, unknown, string][] = [
    [Type.String(), 7, 'be a string'],
    [Type.Number(), 'seven', 'be a number'],
    [Type.Integer(), 7.5, 'be an integer'],
    [Type.Boolean(), 'yes', 'be a boolean'],
    [Type.Object({}), 'Nimali', 'be an object'],
    [Type.Array(Type.String()), 'Nimali', 'be an array'],
    [Type.String({ maxLength: 3 }), 'four', 'not be greater than 3 characters'],
    [Type.Array(Type.String(), { maxItems: 1 }), ['a', 'b'], 'not have more than 1 items'],
    [Type.Union([Type.String({ maxLength: 3 }), Type.Null()]), 'four', 'not be greater than 3 characters'],
    [Type.Union([Type.String(), Type.Null()]), 7, 'be a string'],
    [Type.Union([Type.Literal('on'), Type.Literal('off'), Type.Null()]), 'of', 'be one of on, off'],
    [Type.Union([Type.Literal('on'), Type.Integer()]), [1], 'be on or an integer'],
    [Type.Integer({ minimum: 1, maximum: 9 }), 0, 'be an integer of at least 1 and at most 9'],
    [Type.String({ minLength: 2 }), 'a', 'have at least 2 characters'],
    [Type.String({ pattern: '^a+$' }), 'b', 'be a string that matches ^a+$'],
    [Type.Integer({ minimum: 1, must: 'be at least 1' }), 0, 'be at least 1'],
    [Type.Union([Type.Integer(), Type.Null()], { must: 'be whole' }), 0.5, 'be whole'],
  ]
  for (const [schema, value, demand] of table)
    t.equal(findSentence(schema, value), `The customer name field must ${demand}.`, demand)
})

t.test('a schema may have the whole sentence', async t => {
  const schema = Type.Union([Type.Literal('key_1')], { sentence: 'The selected status is invalid.' })
  t.equal(findSentence(schema, 'key_9'), 'The selected status is invalid.')
})

t.test('an unknown field is reported as such', async t => {
  const schema = Type.Object({ tenant: Type.Object({}, { additionalProperties: false }) })
  for (const colour of ['red', '', null, { of: 'a bag' }])
    t.strictSame(findErrors(schema, { tenant: { colour } }), { 'tenant.colour': ['The colour field is not known.'] })
})

t.test('an unknown field is reported with the nearest known name, if one is near', async t => {
  const schema = Type.Object(
    { waybill_number: Type.Any(), to: Type.Any(), send_at: Type.Any() },
    { additionalProperties: false },
  )
  const table = {
    waybilNumber: 'The waybilNumber field is not known. Did you mean waybill_number?',
    sent_at: 'The sent at field is not known. Did you mean send_at?',
    colour: 'The colour field is not known.',
    ['x'.repeat(100_000)]: `The ${'x'.repeat(100_000)} field is not known.`,
  }
  for (const [name, expected] of Object.entries(table))
    t.strictSame(findErrors(schema, { waybill_number: 1, to: 1, send_at: 1, [name]: 1 }), { [name]: [expected] })
  const odd = JSON.parse('{"waybill_number": 1, "to": 1, "send_at": 1, "__proto__": {"to": 2}, "constructor": 1}')
  t.strictSame(Object.keys(findErrors(schema, odd)), ['__proto__', 'constructor'])
})

t.test('the error of a value that fits no type of a union names every type', async t => {
  const id = Type.Union([Type.String({ maxLength: 3 }), Type.Number(), Type.Null()])
  t.equal(findSentence(id, true), 'The customer name field must be a string or a number.')
  t.equal(findSentence(id, 'four'), 'The customer name field must not be greater than 3 characters.')
})

t.test('the error of a list in place of an object names the field that holds the list', async t => {
  const messages = Type.Object({ messages: Type.Array(Type.Any()), note: Type.Any() })
  const expected = 'The data must be an object. Send the list as {"messages": [...]}.'
  t.strictSame(findErrors(messages, [{}]), { '': [expected] })
})

t.test('counts the errors beyond a thousand, up to four thousand', async t => {
  const check = TypeCompiler.Compile(Type.Array(Type.Object({ cod: Type.Integer() })))
  const countMore = (length: number) =>
    listErrors(
      check,
      Array.from({ length }, () => ({})),
    ).more
  t.strictSame([countMore(1000), countMore(1001), countMore(4_999), countMore(30_000)], [0, 1, 3_999, 4_000])
})

t.test('paths lead through objects and lists', async t => {
  const schema = Type.Object({ orders: Type.Array(Type.Object({ cod: Type.Integer() })) })
  const value = { orders: [{ cod: 1 }, { cod: '1' }, {}] }
  t.strictSame(findErrors(schema, value), {
    'orders.1.cod': ['The cod field must be an integer.'],
    'orders.2.cod': ['The cod field is required.'],
  })
})

t.test('a name with a slash or a tilde is in the path as it is', async t => {
  const schema = Type.Record(Type.String(), Type.Integer())
  t.strictSame(Object.keys(findErrors(schema, { 'Kotte/Dehiwala~': 'metro' })), ['Kotte/Dehiwala~'])
})

t.test('a field with several errors gets one sentence', async t => {
  const schema = Type.Object({ name: Type.Intersect([Type.String({ maxLength: 2 }), Type.String({ pattern: '^a' })]) })
  t.strictSame(findErrors(schema, { name: 'bcd' }), { name: ['The name field must not be greater than 2 characters.'] })
})

t.test('a list of errors ends after a thousand sentences', async t => {
  const schema = Type.Array(Type.Object({ cod: Type.Integer() }))
  t.equal(maxSentences, 1000)
  const found = findErrors(
    schema,
    Array.from({ length: maxSentences + 5 }, () => ({})),
  )
  t.equal(Object.keys(found).length, 1000)
  t.strictSame(found['999.cod'], ['The cod field is required.'])
  t.notOk('1000.cod' in found)
})

t.test('the items of a list that is too long are not inspected', async t => {
  let looked = 0
  const item = new Proxy({}, { get: () => ++looked, has: () => Boolean(++looked), ownKeys: () => [`${++looked}`] })
  const list = Type.Array(Type.Object({ cod: Type.Integer() }), { maxItems: 2 })
  const schema = Type.Object({ name: Type.String(), orders: list })
  t.strictSame(findErrors(schema, { orders: Array(200_000).fill(item) }), {
    name: ['The name field is required.'],
    orders: ['The orders field must not have more than 2 items.'],
  })
  t.equal(looked, 0)
})

t.test('a value that is not an object is reported without a field name', async t => {
  for (const value of [null, [], 'text'])
    t.strictSame(findErrors(Type.Object({ id: Type.Integer() }), value), { '': ['The data must be an object.'] })
})

t.test('labels and the fixed sentences read as docs/merchants/contract.md#errors shows them', async t => {
  t.equal(label('order_data.3.customer_name'), 'customer name')
  t.equal(label('order_data.3'), 'order_data.3')
  t.equal(required('general_data.merchant_business_id'), 'The merchant business id field is required.')
  t.equal(selectedInvalid('general_data.merchant_business_id'), 'The selected merchant business id is invalid.')
})

t.test('blank values count as absent', async t => {
  for (const value of [undefined, null, '', ' \t\n', []]) t.equal(isBlank(value), true, JSON.stringify(value))
  for (const value of [0, false, 'a', [''], {}]) t.equal(isBlank(value), false, JSON.stringify(value))
})

/** Returns the length of the longest text that a pattern was tried on while `check` ran. */
const findLongestTried = (t: Tap, check: () => void): number => {
  const tried = t.capture(RegExp.prototype, 'test', RegExp.prototype.test)
  check()
  return Math.max(0, ...tried().map(({ args: [text] }) => text.length))
}

const Short = Type.String({ maxLength: 9, pattern: '^a+$' })
const long = 'a'.repeat(1_000_000)
const tooLong: Record<string, [schema: TSchema, value: unknown, path: string, demand: string]> = {
  'a text': [Type.Object({ a: Short }), { a: long }, 'a', '9 characters'],
  'a text of a list': [Type.Object({ a: Type.Array(Short) }), { a: ['a', long] }, 'a.1', '9 characters'],
  'a text of a union': [Type.Object({ a: Type.Union([Short, Type.Null()]) }), { a: long }, 'a', '9 characters'],
  'an object of a union': [
    Type.Object({ a: Type.Union([Type.Object({ b: Short }), Type.Null()]) }),
    { a: { b: long } },
    'a',
    'object',
  ],
  'a list of texts': [
    Type.Object({ a: Type.Array(Type.String({ maxLength: 2_000_000, pattern: '^b' }), { maxItems: 1 }) }),
    { a: [long, long] },
    'a',
    '1 items',
  ],
}

for (const [name, [schema, value, path, demand]] of Object.entries(tooLong))
  t.test(`${name} that is too long is refused before a pattern sees it; the rest is checked`, async t => {
    const both = Type.Object({ ...schema.properties, other: Short })
    const given = { ...(value as object), other: 'b' }
    let found: Record<string, string[]> = {}
    t.ok(findLongestTried(t, () => (found = findErrors(both, given))) < 100)
    t.match(found[path], [new RegExp(`${demand}\\.$`)])
    t.match(found.other, [/be a string/])
    t.strictSame(Object.keys(found).length, 2)
  })
