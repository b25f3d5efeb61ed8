import { type TSchema, Type } from '@sinclair/typebox'
import { TypeCompiler } from '@sinclair/typebox/compiler'
import t from 'tap'
import { faultsOf, isBlank, label, maxSentences, required, selectedInvalid } from './faults.ts'

const faults = (schema: TSchema, value: unknown, prefix?: string) => {
  const check = TypeCompiler.Compile(schema)
  if (check.Check(value)) throw new Error('the value has no fault')
  return faultsOf(check, value, prefix)
}

/** The sentence about the field `customer_name` of that schema. */
const sentence = (schema: TSchema, value: unknown): string | undefined =>
  faults(Type.Object({ customer_name: schema }), { customer_name: value }).customer_name?.[0]

t.test('a missing field is required, whatever its type', async t => {
  const values = [undefined, null, '', ' \n', []]
  const schemas = [Type.Integer(), Type.Object({}), Type.Array(Type.String(), { minItems: 1 })]
  for (const schema of [...schemas, Type.String({ pattern: '\\S' })])
    for (const value of values.filter(value => !TypeCompiler.Compile(schema).Check(value)))
      t.equal(
        sentence(schema, value),
        'The customer name field is required.',
        `${schema.type} ${JSON.stringify(value)}`,
      )
})

t.test('each kind of fault has its sentence', async t => {
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
    [Type.Integer({ minimum: 1, must: 'be at least 1' }), 0, 'be at least 1'],
    [Type.Union([Type.Integer(), Type.Null()], { must: 'be whole' }), 0.5, 'be whole'],
  ]
  for (const [schema, value, demand] of table)
    t.equal(sentence(schema, value), `The customer name field must ${demand}.`, demand)
})

t.test('a schema can bring the whole sentence', async t => {
  const schema = Type.Union([Type.Literal('key_1')], { sentence: 'The selected status is invalid.' })
  t.equal(sentence(schema, 'key_9'), 'The selected status is invalid.')
})

t.test('a field that is not known is told as such', async t => {
  const schema = Type.Object({ tenant: Type.Object({}, { additionalProperties: false }) })
  for (const colour of ['red', '', null, { of: 'a bag' }])
    t.strictSame(faults(schema, { tenant: { colour } }), { 'tenant.colour': ['The colour field is not known.'] })
})

t.test('paths lead through objects and lists, behind the prefix', async t => {
  const schema = Type.Object({ orders: Type.Array(Type.Object({ cod: Type.Integer() })) })
  const value = { orders: [{ cod: 1 }, { cod: '1' }, {}] }
  t.strictSame(faults(schema, value), {
    'orders.1.cod': ['The cod field must be an integer.'],
    'orders.2.cod': ['The cod field is required.'],
  })
  t.strictSame(Object.keys(faults(schema, value, 'body.')), ['body.orders.1.cod', 'body.orders.2.cod'])
})

t.test('a name with a slash or a tilde stands in the path as it is', async t => {
  const schema = Type.Record(Type.String(), Type.Integer())
  t.strictSame(Object.keys(faults(schema, { 'Kotte/Dehiwala~': 'metro' })), ['Kotte/Dehiwala~'])
})

t.test('a field with several faults gets one sentence', async t => {
  const schema = Type.Object({ name: Type.Intersect([Type.String({ maxLength: 2 }), Type.String({ pattern: '^a' })]) })
  t.strictSame(faults(schema, { name: 'bcd' }), { name: ['The name field must not be greater than 2 characters.'] })
})

t.test('a list of faults ends after a thousand sentences', async t => {
  const schema = Type.Array(Type.Object({ cod: Type.Integer() }))
  t.equal(maxSentences, 1000)
  const found = faults(
    schema,
    Array.from({ length: maxSentences + 5 }, () => ({})),
  )
  t.equal(Object.keys(found).length, 1000)
  t.strictSame(found['999.cod'], ['The cod field is required.'])
  t.notOk('1000.cod' in found)
})

t.test('a value that is no object at all is told without a field name', async t => {
  for (const value of [null, [], 'text'])
    t.strictSame(faults(Type.Object({ id: Type.Integer() }), value), { '': ['The data must be an object.'] })
})

t.test('labels and the fixed sentences read as spec.md 7 has them', async t => {
  t.equal(label('order_data.3.customer_name'), 'customer name')
  t.equal(label('order_data.3'), 'order_data.3')
  t.equal(required('general_data.merchant_business_id'), 'The merchant business id field is required.')
  t.equal(selectedInvalid('general_data.merchant_business_id'), 'The selected merchant business id is invalid.')
})

t.test('blank is what was not given', async t => {
  for (const value of [undefined, null, '', ' \t\n']) t.equal(isBlank(value), true, JSON.stringify(value))
  for (const value of [0, false, 'a', [], {}]) t.equal(isBlank(value), false, JSON.stringify(value))
})
