import { inTenant } from '@courier/shared/postgres/database.ts'
import t, { type Test } from 'tap'
import type { Tx } from '../../core/database/tables.ts'
import { until } from '../../test/fixture.ts'
import { orderEvent } from '../../test/orders-stand-in.ts'
import { changeAddress, confirm, customer, prepareTenant, waybill } from '../../test/replies-fixture.ts'
import { envelope, inbound, postWebhook } from '../../test/webhooks-fixture.ts'

/** Prepares a customer who has pressed `change_address` for an order whose address may be changed. */
const press = async (t: Test) => {
  const prepared = await prepareTenant(t)
  const { orders, control, offer, settled, texted, rows } = prepared
  orders.decide.outcomeOf = ({ address }) => (address === undefined ? 'asked' : 'done')
  const pressed = await offer()
  control.press({ message_id: pressed, index: changeAddress })
  await settled(1)
  await texted(1)
  const addresses = () => orders.acted.flatMap(({ address }) => address ?? [])
  const outcomes = async () => (await prepared.stored()).map(({ outcome }) => outcome)
  /** Makes the newest action look older. */
  const waitMinutes = (minutes: number) =>
    rows(
      `update customer_actions set created_at = now() - make_interval(mins => $1)
      where position = (select max(position) from customer_actions)`,
      [minutes],
    )
  return { ...prepared, pressed, addresses, outcomes, waitMinutes }
}

t.test('shows the customer the address, and changes nothing before it is confirmed', async t => {
  const { control, settled, stored, question, addresses, texted, texts, rows } = await press(t)
  control.inbound({ from: customer, text: ' ok who is this? ' })
  const message_id = await question('ok who is this?')
  const [shown] = control.messages()
  t.match(shown, { template: null, to: customer, rendered: { buttons: ['Confirm'] } })
  t.match(shown?.rendered.body, `New address for ${waybill}\nok who is this?\n\n`)
  t.same(addresses(), [])
  t.match((await settled(2))[1], { outcome: 'unconfirmed', address: null, action: 'change_address' })

  control.inbound({ from: customer, text: '12 Galle Road, Matara' })
  control.press({ message_id: await question('12 Galle Road'), index: 0, copies: 2 })
  await texted(2)
  t.same(addresses(), ['12 Galle Road, Matara'])
  t.same(texts(), ['Where to?', 'The new address is noted.'])
  t.match((await stored()).at(-1), { outcome: 'done', address: null })

  control.press({ message_id, index: 0 })
  control.press({ message_id: await question('12 Galle Road'), index: 0 })
  await new Promise(resolve => setTimeout(resolve, 300))
  t.same(addresses(), ['12 Galle Road, Matara'], 'neither the replaced text nor a second press changes the address')
  t.notMatch(JSON.stringify(await rows('select * from events')), /Galle/)
  t.notMatch(JSON.stringify(await rows('select template from messages')), /courier\./, 'no token is stored')
})

t.test('a remark after the address does not disable the button of the address', async t => {
  const { control, question, addresses, texted, giveAddress } = await press(t)
  control.inbound({ from: customer, text: '12 Galle Road' })
  const message_id = await question('12 Galle Road')
  control.inbound({ from: customer, text: 'Thanks' })
  await question('Thanks')
  control.press({ message_id, index: 0 })
  await texted(2)
  t.same(addresses(), ['12 Galle Road'])
  await giveAddress('14 Galle Road')
  await texted(3)
  t.same(addresses(), ['12 Galle Road', '14 Galle Road'], 'a later text within the hour replaces the address')
})

t.test('a text that is too long leaves the button of the address before it usable', async t => {
  const { control, question, addresses, texted, texts } = await press(t)
  control.inbound({ from: customer, text: '12 Galle Road' })
  const message_id = await question('12 Galle Road')
  control.inbound({ from: customer, text: 'x'.repeat(501) })
  await texted(2)
  control.press({ message_id, index: 0 })
  await texted(3)
  t.same(texts(), ['Where to?', 'The address stays.', 'The new address is noted.'])
  t.same(addresses(), ['12 Galle Road'])
})

t.test('refuses an address that is confirmed after an hour', async t => {
  const { control, question, waitMinutes, addresses, texted, texts, stored } = await press(t)
  control.inbound({ from: customer, text: '12 Galle Road' })
  const message_id = await question('12 Galle Road')
  await waitMinutes(61)
  control.press({ message_id, index: 0 })
  await texted(2)
  t.equal(texts()[1], 'The address stays.')
  t.same(addresses(), [], 'orders gets no address')
  t.match((await stored())[1], {
    outcome: 'refused',
    kind: 'address',
    reason: 'confirmed_late',
    detail: 'It was confirmed more than an hour after it was written.',
    address: null,
  })
})

t.test('an order that moved on meanwhile keeps its address, and the customer is informed', async t => {
  const { orders, giveAddress, texted, texts } = await press(t)
  orders.decide.outcomeOf = () => 'refused'
  await giveAddress('12 Galle Road')
  await texted(2)
  t.equal(texts()[1], 'The address stays.')
})

t.test('an edit by staff leaves the question open, and a later confirmation counts', async t => {
  const { control, question, deliver, rows, addresses, texted } = await press(t)
  await rows(`update channels set state = 'paused'`)
  control.inbound({ from: customer, text: '12 Galle Road' })
  await new Promise(resolve => setTimeout(resolve, 300))
  await deliver(orderEvent('edit', { waybill_number: waybill, customer_name: 'Kamal' }, 'order.edited'))
  await rows(`update channels set state = 'active'`)
  control.press({ message_id: await question('12 Galle Road'), index: 0 })
  await texted(2)
  t.same(addresses(), ['12 Galle Road'])
})

t.test('accepts a shared location as an address; refuses a text that is too long; ignores other messages', async t => {
  const { control, offer, settled, question, addresses, texted, texts, receiveImage } = await withImages(t)
  const location = { latitude: 6.9, longitude: 79.85, name: 'Home', address: '1 Lake Road' }
  control.inbound({ from: customer, location })
  control.press({ message_id: await question('1 Lake Road'), index: 0 })
  await texted(2)
  t.same(addresses(), ['Home, 1 Lake Road (6.9, 79.85)'])
  control.press({ message_id: await offer('DM2'), index: changeAddress })
  await settled(3)
  await receiveImage()
  t.equal((await settled(3)).length, 3)
  control.inbound({ from: customer, text: 'x'.repeat(501) })
  await texted(4)
  t.match((await settled(4)).at(-1), {
    outcome: 'refused',
    kind: 'address',
    reason: 'too_long',
    detail: 'The address has more than 500 characters.',
    waybill_number: 'DM2',
  })
  t.same(texts(), ['Where to?', 'The new address is noted.', 'Where to?', 'The address stays.'])
})

const withImages = async (t: Test) => {
  const prepared = await press(t)
  const { app, phoneNumberId } = prepared
  const receiveImage = async () => {
    const body = { from: customer, type: 'image', image: { id: '1', caption: '12 Galle Road' }, text: undefined }
    await postWebhook(app, envelope({ messages: [inbound(body)] }, phoneNumberId))
  }
  return { ...prepared, receiveImage }
}

t.test('a keyword opts the customer out and is not an address; afterwards no question is sent', async t => {
  const { control, settled, heard, stored, rows, outcomes } = await press(t)
  control.inbound({ from: customer, text: 'STOP' })
  await heard()
  t.equal((await stored()).length, 1)
  t.equal((await rows('select 1 from conversations where opted_out_at is not null')).length, 1)
  control.inbound({ from: customer, text: '12 Galle Road' })
  await settled(2)
  t.same(await outcomes(), ['asked', 'unconfirmed'])
  await until(
    'the question is cancelled',
    async () => (await rows(`select 1 from messages where template ? 'button' and status = 'cancelled'`)).length > 0,
  )
})

t.test('a text from another person, or more than an hour after the customer was asked, is not an address', async t => {
  const { control, settled, heard, stored, rows, giveAddress, addresses } = await press(t)
  control.inbound({ from: '94770000999', text: 'Somebody else' })
  control.press({ message_id: control.messages().at(-1)?.id ?? '', index: confirm })
  await settled(2)
  await rows(
    `update customer_actions set asked_at = now() - interval '61 minutes', happened_at = now() - interval '9 hours'`,
  )
  control.inbound({ from: customer, text: '12 Galle Road' })
  await heard()
  t.equal((await stored()).length, 2)
  await rows(`update customer_actions set asked_at = now() where action = 'change_address'`)
  await giveAddress('14 Galle Road')
  await until('orders has the address', async () => addresses().length === 1)
})

t.test('the address of a customer who got another number meanwhile belongs to the press', async t => {
  const { app, phoneNumberId, stored } = await press(t)
  const [wa_id, now] = ['94770000998', String(Math.floor(Date.now() / 1000))]
  const system = { type: 'user_changed_number', wa_id }
  const changed = { from: customer, id: 'wamid.change', type: 'system', text: undefined, system, timestamp: now }
  await postWebhook(app, envelope({ messages: [inbound(changed)] }, phoneNumberId))
  const text = { body: '12 Galle Road' }
  await postWebhook(
    app,
    envelope({ messages: [inbound({ from: wa_id, id: 'wamid.new', text, timestamp: now })] }, phoneNumberId),
  )
  t.match(await stored(), [
    { outcome: 'asked', recipient: wa_id },
    { outcome: 'unconfirmed', recipient: wa_id },
  ])
})

t.test('with several parcels a text belongs to the button that was pressed last', async t => {
  const { control, offer, settled, giveAddress } = await press(t)
  control.press({ message_id: await offer('DM2'), index: changeAddress })
  await settled(2)
  await giveAddress('12 Galle Road')
  t.match((await settled(3))[2], { waybill_number: 'DM2' })
})

t.test('another press gives another hour, for the parcel of the button pressed last', async t => {
  const { control, offer, pressed, settled, heard, rows, giveAddress } = await press(t)
  control.press({ message_id: await offer('DM2'), index: changeAddress })
  await settled(2)
  await rows(
    `update customer_actions set happened_at = now() - interval '9 hours', asked_at = now() - interval '9 hours'`,
  )
  control.press({ message_id: pressed, index: changeAddress, copies: 2 })
  await heard()
  await giveAddress('12 Galle Road')
  t.match((await settled(3))[2], { waybill_number: waybill })
})

t.test('the question is in the language of the message whose button was pressed', async t => {
  const { control, rows, question } = await press(t)
  await rows(`update messages set template = jsonb_set(template, '{language,code}', '"ta"') where template ? 'name'`)
  control.inbound({ from: customer, text: '12 காலி வீதி' })
  await question('12 காலி வீதி')
  t.match(control.messages()[0]?.rendered.buttons, ['உறுதிசெய்'])
})

t.test('does not ask again about a text that arrived before a restore', async t => {
  const { pool, tenant, control, rows, settled } = await press(t)
  const in_doubt_before = new Date(Date.now() + 60_000)
  await inTenant(pool, tenant, (tx: Tx) =>
    tx.updateTable('tenants').set({ in_doubt_before }).where('tenant_id', '=', tenant).execute(),
  )
  control.inbound({ from: customer, text: '12 Galle Road' })
  await settled(2)
  t.match(await rows(`select status from messages where template ? 'button'`), [{ status: 'unknown' }])
})

t.test('reads the kind and the reason of rows that a process of the release before stores', async t => {
  const { rows, tenant } = await prepareTenant(t)
  const insert = (id: string, detail: string | null) =>
    rows(
      `insert into customer_actions (tenant_id, action_id, message_id, phone_number_id, recipient, waybill_number,
         action, inbound_id, outcome, detail, happened_at)
       values ($3, $1, 'm', '1', '94770000101', 'DM2', 'change_address', $1, 'refused', $2, now())`,
      [id, detail, tenant],
    )
  await insert('m 0', null)
  await insert('n 0 address', 'The address has more than 500 characters.')
  await insert('o 0 address', null)
  await rows(
    `update customer_actions set detail = 'It was confirmed more than an hour after it was written.'
     where action_id = 'o 0 address'`,
  )
  t.match(await rows('select kind, reason from customer_actions order by position'), [
    { kind: 'press', reason: null },
    { kind: 'address', reason: 'too_long' },
    { kind: 'address', reason: 'confirmed_late' },
  ])
})
