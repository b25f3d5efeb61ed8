import t from 'tap'
import { envelope, inbound } from '../../test/webhooks-fixture.ts'
import { readFacts } from './envelope.ts'
import { parseJson } from './json.ts'

/** Returns what staff read of a message. */
const show = (fields: object): unknown => {
  const body = JSON.stringify(envelope({ messages: [inbound({ text: undefined, ...fields })] }))
  const [fact] = readFacts(parseJson(Buffer.from(body)), new Date())
  return fact?.kind === 'inbound' ? (fact.text ?? fact.label) : fact
}

t.test('a long text or caption is cut, not within a character', async t => {
  t.equal(show({ text: { body: 'x'.repeat(5_001) } }), 'x'.repeat(5_000))
  t.equal(show({ text: { body: `${'x'.repeat(4_999)}😀` } }), 'x'.repeat(4_999))
  t.equal(show({ type: 'image', image: { id: '1', caption: 'y'.repeat(1_025) } }), 'y'.repeat(1_024))
})

t.test('what Postgres cannot store is replaced', async t => {
  t.equal(show({ text: { body: 'STOP\ud800' } }), 'STOP\ufffd')
  t.equal(show({ text: { body: 'a\0b' } }), 'a\ufffdb')
  t.equal(show({ type: 'image', image: { caption: 'the gate\udc00' } }), 'the gate\ufffd')
})

t.test('an edit shows the newer text or caption', async t => {
  const edit = (message: object) => ({ type: 'edit', edit: { original_message_id: 'wamid.1', message } })
  t.equal(show(edit({ type: 'text', text: { body: 'No. 7' } })), 'No. 7')
  t.equal(show(edit({ type: 'image', image: { id: '1', caption: 'the blue gate' } })), 'the blue gate')
})

t.test('contact cards, forms and orders are readable', async t => {
  const card = (name: string, ...phones: object[]) => ({ name: { formatted_name: name }, phones })
  const contacts = [
    card('Nimali', { phone: '+94 77 000 0101', wa_id: '94770000101' }),
    card('Guard', { wa_id: '9411' }),
  ]
  t.equal(show({ type: 'contacts', contacts }), 'Nimali, +94 77 000 0101\nGuard, 9411')
  const form = { name: 'flow', body: 'Sent', response_json: '{"flow_token":"t","city":"Kotte","floor":2}' }
  t.equal(show({ type: 'interactive', interactive: { type: 'nfm_reply', nfm_reply: form } }), 'city: Kotte\nfloor: 2')
  t.equal(show({ type: 'interactive', interactive: { nfm_reply: { body: 'Sent', response_json: 'x' } } }), 'Sent')
  t.equal(show({ type: 'order', order: { text: 'Two, please', product_items: [] } }), 'Two, please')
})

t.test('a webhook with a key twice is read: only the platform could correct it', async t => {
  const body = JSON.stringify(envelope({ messages: [inbound()] })).replace('{', '{"object":"x",')
  t.match(readFacts(parseJson(Buffer.from(body)), new Date()), [{ kind: 'inbound' }])
})

t.test('an order shows its items, an address form its address, a call permission its answer', async t => {
  const items = [
    { product_retailer_id: 'BOX-1', quantity: 2, item_price: 450, currency: 'LKR' },
    { product_retailer_id: 'TAPE', quantity: '1' },
    { quantity: 3 },
  ]
  const order = { catalog_id: '1', text: 'Two, please', product_items: items }
  t.equal(show({ type: 'order', order }), 'Two, please\n2 × BOX-1 (450 LKR)\n1 × TAPE')
  const answer = { values: { name: 'Nimali', address: '12 Galle Road', in_pin_code: '10100' }, saved_address_id: 'a1' }
  const form = { name: 'address_message', body: 'Sent', response_json: JSON.stringify(answer) }
  t.equal(
    show({ type: 'interactive', interactive: { type: 'nfm_reply', nfm_reply: form } }),
    'name: Nimali\naddress: 12 Galle Road\nin_pin_code: 10100\nsaved_address_id: a1',
  )
  const permit = (response: unknown) =>
    show({ type: 'interactive', interactive: { type: 'call_permission_reply', call_permission_reply: { response } } })
  t.equal(permit('accept'), 'call permission: accept')
  t.equal(permit('reject'), 'call permission: reject')
  t.equal(permit(7), undefined)
})
