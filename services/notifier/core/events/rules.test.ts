import { Value } from '@sinclair/typebox/value'
import t from 'tap'
import { orderEvent, orderFacts } from '../../test/orders-stand-in.ts'
import { ruleOf } from '../../test/rules-of-demo.ts'
import { fillComponent, fillText, hasPlaceholder, placeholderError } from '../messages/placeholders.ts'
import { type Parameter, ParameterText } from '../messaging-api/message-template.ts'
import type { Rule } from './queries.ts'
import { makeMessage } from './rules.ts'

const rule = (event: string): Rule => ruleOf({ event })

t.test('fields appear in texts as plain words and digits', async t => {
  const order = orderFacts({ cod: 1500000, delivery_charge: 450.5, description: null, order_no: '' })
  const filled: [text: string, expected: string][] = [
    ['{{cod}}', '1500000'],
    ['{{ currency }} {{cod}}', 'LKR 1500000'],
    ['{{delivery_charge}} for {{weight}} kg', '450.5 for 1.5 kg'],
    ['{{description}}', '-'],
    ['No. {{order_no}}', 'No. -'],
    ['no field', 'no field'],
    ['{not} {{', '{not} {{'],
  ]
  for (const [text, expected] of filled) t.equal(fillText(text, order), expected, text)
})

t.test('a value put into a text is never read as a field', async t => {
  t.equal(fillText('{{customer_name}}', orderFacts({ customer_name: '{{cod}}' })), '{{cod}}')
  t.equal(fillText('{{customer_name}}', orderFacts({ customer_name: '$& $1' })), '$& $1')
})

t.test('a text never ends in half a character', async t => {
  for (const last of ['😀', 'කො']) {
    const filled = fillText('{{customer_name}}', orderFacts({ customer_name: `${'x'.repeat(1023)}${last}` }))
    t.equal(filled, 'x'.repeat(1023), last)
  }
})

t.test('the error of an unknown field names the known ones', async t => {
  t.match(placeholderError('{{customer}} {{cod}}'), /no field \{\{customer\}\}\. It has waybill_number, order_no,/)
  t.match(placeholderError('{{toString}} {{1}} {{}}'), /no field \{\{toString\}\}, \{\{1\}\}, \{\{\}\}\./)
  t.equal(placeholderError('{{cod}} {{ note }}'), undefined)
})

t.test('percent-encodes the values of an order in addresses', async t => {
  const components = [
    {
      type: 'header' as const,
      parameters: [{ type: 'image' as const, image: { link: 'https://x/{{order_no}}.png' } }],
    },
    {
      ...{ type: 'button' as const, sub_type: 'url' as const, index: '0' },
      parameters: [{ type: 'text' as const, text: '{{order_no}}?a=1' }],
    },
  ]
  const event = orderEvent('1', { order_no: 'A/1 ?&' })
  const message = makeMessage({ ...rule('key_1'), body: [], components }, event, { between: null, timeZone: 'UTC' })
  t.match(message.template, {
    components: [
      { parameters: [{ image: { link: 'https://x/A%2F1%20%3F%26.png' } }] },
      { parameters: [{ text: 'A%2F1%20%3F%26?a=1' }] },
    ],
  })
})

t.test('a filled value is cut where its field would be too long, never within an escape', async t => {
  const order = orderFacts({
    customer_name: '\u0dc3'.repeat(255),
    description: 'x'.repeat(255),
    order_no: 'A1',
    merchant_name: 'කො'.repeat(200),
  })
  const filled = (type: 'header' | 'button', parameter: Parameter) =>
    fillComponent({ type, parameters: [parameter] }, order).parameters[0] as Parameter
  const image = (link: string) => filled('header', { type: 'image', image: { link } }).image?.link ?? ''
  const long = 'y'.repeat(1200)
  t.equal(image(`https://x/${long}/{{order_no}}.png`), `https://x/${long}/A1.png`)
  const link = image('https://x/{{customer_name}}/{{order_no}}.png')
  t.match(link, /^https:\/\/x\/(%E0%B7%83)+\/A1\.png$/)
  t.ok(link.length <= 2000 && link.length > 2000 - 9, `${link.length}`)
  const suffix = filled('button', { type: 'text', text: '{{customer_name}}?a=1' }).text ?? ''
  t.match(suffix, /^(%E0%B7%83)+\?a=1$/)
  t.ok(suffix.length <= 1024 && suffix.length > 1024 - 9, `${suffix.length}`)
  t.equal(
    filled('button', { type: 'payload', payload: 'P {{description}} {{order_no}}' }).payload,
    `P ${'x'.repeat(251)} A1`,
  )
  const document = { link: 'https://x/y', filename: '{{description}}.pdf' }
  t.equal(filled('header', { type: 'document', document }).document?.filename, `${'x'.repeat(236)}.pdf`)
  const sinhala = { link: 'https://x/y', filename: 'x{{merchant_name}}.pdf' }
  t.match(filled('header', { type: 'document', document: sinhala }).document?.filename, /^x(කො){117}\.pdf$/)
  const date_time = { fallback_value: '{{description}}{{description}}' }
  t.equal(filled('header', { type: 'date_time', date_time }).date_time?.fallback_value, 'x'.repeat(60))
})

/** Returns this thread's CPU time in the shorter of two runs, in milliseconds. */
const duration = (work: () => unknown): number =>
  Math.min(
    ...Array.from({ length: 2 }, () => {
      const start = process.threadCpuUsage()
      work()
      const { user, system } = process.threadCpuUsage(start)
      return (user + system) / 1000
    }),
  )

const checks: Record<string, [length: number, check: (text: string) => unknown]> = {
  'a field is looked for': [1000, hasPlaceholder],
  'fields are checked': [1000, placeholderError],
  'fields are filled': [1000, text => fillText(text, orderFacts())],
  'a text is checked': [40_000, text => Value.Check({ ...ParameterText, maxLength: 1e6 }, text)],
}
for (const [name, [length, check]] of Object.entries(checks))
  t.test(`when ${name}, odd texts take less than 100 times as long as usual ones of their length`, async t => {
    const usual = duration(() => check(`Hello {{cod}} ${'parcel '.repeat(length / 7)}`))
    for (const odd of ['\u00a0', ' \u0001', '{{', '}}', '{', ' a', '    a'])
      for (const text of [`{{${odd.repeat(length / odd.length)}`, `${odd.repeat(length / odd.length)}\n`]) {
        const took = duration(() => check(text))
        t.ok(took < 100 * Math.max(usual, 0.05), `${JSON.stringify(odd)} ${took} ms, ${usual} ms`)
      }
  })

t.test('a parameter is not empty, and has no line breaks and at most four blanks in a row', async t => {
  const good = ['a', ' a ', '    a    b    ', '\u00a0\u00a0\u00a0\u00a0\u00a0a', '{{ cod }}', 'a\u2028b']
  for (const text of good) t.equal(Value.Check(ParameterText, text), true, encodeURI(text))
  const bad = ['', ' ', '\u00a0', '     a', 'a     ', 'a     b', 'a\nb', 'a\rb', 'a\tb', 'a\0b', '\0', 'a'.repeat(1025)]
  for (const text of bad) t.equal(Value.Check(ParameterText, text), false, encodeURI(text).slice(0, 40))
})
