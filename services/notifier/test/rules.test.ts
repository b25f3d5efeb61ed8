import t from 'tap'
import { fires, messageOf, type Rule } from '../events/rules.ts'
import { fillText, placeholderFault } from '../messages/placeholders.ts'
import { orderEvent, orderFacts } from './orders-stand-in.ts'

const rule = (event: string): Rule => ({
  event,
  template: 'order_delivered',
  language: 'en_US',
  header: [],
  body: ['{{customer_name}}'],
  phoneNumberId: null,
  holdsUntilOpen: false,
})

t.test('a rule fires on its event, or when an order comes to its status', async t => {
  const created = orderEvent('a', { status_key: 'key_2' })
  const moved = orderEvent('b', { status_key: 'key_13' }, 'order.status_changed')
  const firing = (event: string) => [created, moved].map(each => fires(rule(event), each))
  t.same(firing('order.created'), [true, false])
  t.same(firing('order.status_changed'), [false, true])
  t.same(firing('key_2'), [true, false])
  t.same(firing('key_13'), [false, true])
  t.same(firing('key_1'), [false, false])
})

t.test('fields stand in texts as plain words and digits', async t => {
  const order = orderFacts({ cod: 1500000, delivery_charge: 450.5, description: null, order_no: '' })
  const filled: [text: string, told: string][] = [
    ['{{cod}}', '1500000'],
    ['{{ currency }} {{cod}}', 'LKR 1500000'],
    ['{{delivery_charge}} for {{weight}} kg', '450.5 for 1.5 kg'],
    ['{{description}}', '-'],
    ['No. {{order_no}}', 'No. -'],
    ['no field', 'no field'],
    ['{not} {{', '{not} {{'],
  ]
  for (const [text, told] of filled) t.equal(fillText(text, order), told, text)
})

t.test('what is put into a text is never taken for a field', async t => {
  t.equal(fillText('{{customer_name}}', orderFacts({ customer_name: '{{cod}}' })), '{{cod}}')
  t.equal(fillText('{{customer_name}}', orderFacts({ customer_name: '$& $1' })), '$& $1')
})

t.test('a text never ends in half a character', async t => {
  const told = fillText('{{customer_name}}', orderFacts({ customer_name: `${'x'.repeat(1023)}😀` }))
  t.equal(told, 'x'.repeat(1023))
})

t.test('an unknown field is named with those that there are', async t => {
  t.match(placeholderFault('{{customer}} {{cod}}'), /no field \{\{customer\}\}\. It has waybill_number, order_no,/)
  t.match(placeholderFault('{{toString}} {{1}} {{}}'), /no field \{\{toString\}\}, \{\{1\}\}, \{\{\}\}\./)
  t.equal(placeholderFault('{{cod}} {{ note }}'), undefined)
})

t.test('a part without parameters is left out of the message', async t => {
  t.same(messageOf(rule('key_1'), orderFacts()).template.components, [
    { type: 'body', parameters: [{ type: 'text', text: 'Nimali Perera' }] },
  ])
})
