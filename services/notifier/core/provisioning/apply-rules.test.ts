import { createPool, inTenant } from '@courier/shared/postgres/database.ts'
import t, { type Test } from 'tap'
import { commands } from '../../test/command-line.ts'
import { checkDemo, demoFile } from '../../test/rules-of-demo.ts'
import type { Tx } from '../database/tables.ts'
import { findRules } from '../events/queries.ts'

const rule = (on: string, more: Record<string, unknown> = {}) => ({
  on,
  template: 'order_delivered',
  language: 'en_US',
  body: ['{{customer_name}}', '{{waybill_number}}'],
  ...more,
})

const validationErrors = (...rules: unknown[]) => {
  const checked = checkDemo(rules)
  return checked.kind === 'refused' ? checked.errors : {}
}

t.test('a rule on invoice.deposited names fields of invoices, supersedes nothing and offers no action', async t => {
  const body = [
    '{{merchant_name}} {{invoice_no}} {{invoice_ref_no}} {{total}} {{currency}} {{paid_on}} {{bank_reference}}',
  ]
  t.strictSame(validationErrors(rule('invoice.deposited', { body })), {})
  const until = ['{{merchant_name}} {{total}} {{object_until}}']
  t.strictSame(validationErrors(rule('invoice.submitted', { body: until })), {})
  t.match(validationErrors(rule('invoice.submitted', { body: ['{{paid_on}}'] })), {
    'rules.0.body.0': [/^An invoice has no field {{paid_on}}/],
  })
  t.strictSame(
    validationErrors(rule('bank_account.changed', { body: ['{{bank}} {{last_four}} {{object_until}}'] })),
    {},
  )
  t.match(validationErrors(rule('bank_account.changed', { body: ['{{number}}'] })), {
    'rules.0.body.0': ['A bank account has no field {{number}}. It has merchant_name, bank, last_four, object_until.'],
  })
  t.match(validationErrors(rule('pickup.done', { body: ['{{parcels}} {{bank}}'] })), {
    'rules.0.body.0': [/^A pickup has no field {{bank}}\. It has merchant_name, pickup_id, day/],
  })
  const buttons = [{ index: 0, action: 'call_me' }]
  t.strictSame(
    validationErrors(rule('order.created'), rule('invoice.deposited', { buttons, supersedes: ['order.created'] })),
    {
      'rules.1.body.0': [
        'An invoice has no field {{customer_name}}. It has merchant_name, invoice_no, invoice_ref_no, total, currency, paid_on, bank_reference.',
      ],
      'rules.1.body.1': [
        'An invoice has no field {{waybill_number}}. It has merchant_name, invoice_no, invoice_ref_no, total, currency, paid_on, bank_reference.',
      ],
      'rules.1.supersedes': ['A rule on invoice.deposited supersedes no messages.'],
      'rules.1.buttons.0.action': ['A rule on invoice.deposited has no actions.'],
    },
  )
})

const prepare = async (t: Test) => {
  const { notifier, save, url } = await commands(t)
  const pool = createPool({ url, name: 'test', connections: 1 })
  t.teardown(() => pool.end())
  /** Returns the changes of `apply`, or its errors. */
  const apply = async (rules: unknown[] | undefined, ...words: string[]) => {
    const { stdout } = await notifier('apply', save({ ...demoFile(), rules }), '--json', ...words)
    const { changes, errors } = JSON.parse(stdout)
    return errors ?? changes.filter(({ kind }: { kind: string }) => kind === 'rule')
  }
  const stored = async () =>
    (await inTenant(pool, 'demo', (tx: Tx) => findRules(tx, 'demo'))).map(
      ({ event, template, body }) => `${event} ${template} ${body.length}`,
    )
  return { notifier, save, apply, stored, pool }
}

t.test('refuses an unknown field by its path, and lists the known ones', async t => {
  const errors = validationErrors(
    rule('order.created', { body: ['{{customer_name}}', 'of {{shop}}'] }),
    rule('key_13', { header: ['{{Waybill_Number}}'] }),
  )
  t.match(errors, {
    'rules.0.body.1': [
      /^An order has no field \{\{shop\}\}\. It has waybill_number, order_no, .*, note, tracking_code, tracking_url\.$/,
    ],
    'rules.1.header.0': [/no field \{\{Waybill_Number\}\}/],
  })
  t.equal(Object.keys(errors).length, 2)
})

t.test('apply warns of rules whose messages could not be sent, and stores them', async t => {
  const { notifier, save, url } = await commands(t)
  const pool = createPool({ url, name: 'test', connections: 1 })
  t.teardown(() => pool.end())
  const apply = async (...rules: unknown[]) => {
    const { status, stdout, stderr } = await notifier('apply', save({ ...demoFile(), rules }))
    t.same([status, stderr], [0, ''])
    return stdout.split('\n').filter(line => line.startsWith('  warning: '))
  }
  t.same(await apply(rule('key_13')), [], 'a catalogue that was never synced causes no warning')
  const open = {
    body: undefined,
    named_body: { name: 'cod}}' },
    header_image: 'https://x/{{cod}.png',
    buttons: [
      { index: 1, payload: 'ok' },
      { index: 0, url: '{{order_no' },
      { index: 2, payload: '{{ {{cod}}' },
    ],
  }
  const location = { latitude: 1, longitude: 1, name: 'a', address: '{{cod' }
  const warnings = await apply(
    rule('vans'),
    rule('key_3', { body: ['{{customer_name', 'x'] }),
    rule('key_4', open),
    rule('key_5', { header_location: location }),
  )
  t.match(
    warnings[0],
    /rules\.0\.on: vans is not one of the standard statuses, key_1 to key_21\. .* GET \S+\/status-list of orders lists that set\.$/,
  )
  t.strictSame(
    warnings.slice(1),
    [
      'rules.1.body.0',
      'rules.2.header_image',
      'rules.2.named_body.name',
      'rules.2.buttons.1.url',
      'rules.2.buttons.2.payload',
      'rules.3.header_location.address',
    ].map(path => `  warning: ${path}: {{ and }} are not in pairs`),
  )
  await inTenant(pool, 'demo', (tx: Tx) =>
    tx.client.query(`insert into templates (tenant_id, waba_id, name, language, status, parameter_format, components)
      values ('demo', '102290129340398', 'order_delivered', 'en_US', 'APPROVED', 'POSITIONAL',
        '[{ "type": "BODY", "text": "{{1}} has {{2}}" }]'),
      ('demo', '102290129340398', 'headed', 'en_US', 'APPROVED', 'POSITIONAL',
        '[{ "type": "HEADER", "format": "TEXT", "text": "{{1}}" }, { "type": "BODY", "text": "{{1}} has {{2}}" }]')`),
  )
  const headed = (length: number) =>
    rule(`key_${length - 50}`, { template: 'headed', header: [`{{destination_state}}${'x'.repeat(length)}`] })
  t.match(
    await apply(
      rule('key_13', { body: ['one'] }),
      rule('key_12', { template: 'lost' }),
      rule('key_3'),
      headed(59),
      headed(60),
    ),
    [
      /rules\.0: The body of order_delivered takes 2 parameters, 1 was given/,
      /rules\.1: There is no template lost in the catalogue/,
      /rules\.4: The header of headed has 61 characters with its parameters, but at most 60 are allowed/,
    ],
  )
})

t.test('`channel add` adds a channel, with its secrets from the environment', async t => {
  const { notifier, save } = await commands(t, { ACCESS_TOKEN: 'a-secret-access-token' })
  await notifier('apply', save(demoFile()))
  const add = (...words: string[]) => notifier('channel', 'add', '--tenant', 'demo', ...words)
  const added = await add('--number', '300')
  t.match(added, { status: 0, stderr: '', stdout: /^ {2}channel 300 added\n {2}warning: .*no webhooks until/m })
  t.notMatch(added.stdout, /secret-access/)
  t.match(await add('--number', '300'), { status: 1, stderr: /already has the channel 300$/m })
  t.match(await add('--number', 'x', '--plan', 'lavish'), {
    status: 1,
    stderr: /number: .*\n.*plan: The plan field must be/,
  })
  t.match(await notifier('channel', 'add', '--tenant', 'nowhere', '--number', '3'), { status: 1, stderr: /no tenant/ })
})

t.test('a rule may be on an event or on any key that a status may have', async t => {
  for (const on of ['order.created', 'order.status_changed', 'key_13', 'out-for-delivery', '9', 'k'.repeat(63)])
    t.same(validationErrors(rule(on)), {}, on)
  for (const on of ['order.lost', 'Key_1', '', '-a', 'k'.repeat(64), 'key 1'])
    t.same(Object.keys(validationErrors(rule(on))), ['rules.0.on'], on)
})

t.test('reports errors in the shape of a rule by their path', async t => {
  const wrong: [more: Record<string, unknown>, path: string][] = [
    [{ template: 'Order Delivered' }, 'rules.0.template'],
    [{ language: 'english' }, 'rules.0.language'],
    [{ header: ['a', 'b'] }, 'rules.0.header'],
    [{ body: Array.from({ length: 21 }, () => 'x') }, 'rules.0.body'],
    [{ body: ['two\nlines'] }, 'rules.0.body.0'],
    [{ when: 'always' }, 'rules.0.when'],
  ]
  for (const [more, path] of wrong) t.same(Object.keys(validationErrors(rule('key_1', more))), [path])
})

t.test('refuses two buttons with the same index', async t => {
  const buttons = ['reschedule', 'call_me'].map(action => ({ index: 0, action }))
  t.same(validationErrors(rule('key_1', { buttons })), {
    'rules.0.buttons.1.index': ['The button 0 was given twice.'],
  })
})

t.test('refuses a repeated rule, and a sixth rule on one event', async t => {
  t.match(validationErrors(rule('key_1'), rule('key_1', { body: ['x'] })), {
    'rules.1': [/key_1: order_delivered en_US is there twice/],
  })
  const six = Array.from({ length: 6 }, (_, n) => rule('order.created', { template: `template_${n}` }))
  t.same(validationErrors(...six.slice(1), rule('key_1')), {})
  t.same(validationErrors(...six), { 'rules.5.on': ['At most 5 rules may be on order.created.'] })
})

t.test('apply replaces the rules with those of the file and returns the changes', async t => {
  const { apply, stored } = await prepare(t)
  const [created, moved] = [rule('order.created'), rule('key_13')]
  const ids = { created: 'order.created: order_delivered en_US', moved: 'key_13: order_delivered en_US' }
  const change = (id: string, change: string) => ({ kind: 'rule', id, change })

  t.same(await apply([created, moved], '--dry-run'), [change(ids.created, 'added'), change(ids.moved, 'added')])
  t.same(await stored(), [])
  t.same(await apply([created, moved]), [change(ids.created, 'added'), change(ids.moved, 'added')])
  t.same(await stored(), ['order.created order_delivered 2', 'key_13 order_delivered 2'])
  t.same(await apply([created, moved]), [])

  t.same(await apply([created, { ...moved, body: ['x'] }]), [change(ids.moved, 'changed')])
  t.same(await apply(undefined), [], 'a file without rules keeps the stored ones')
  t.same(await stored(), ['order.created order_delivered 2', 'key_13 order_delivered 1'])
  t.same(await apply([moved, created]), [change(ids.moved, 'changed'), change(ids.created, 'changed')])
  t.same(await stored(), ['key_13 order_delivered 2', 'order.created order_delivered 2'])
  t.same(await apply([created]), [change(ids.created, 'changed'), change(ids.moved, 'removed')])
  t.same(await apply([]), [change(ids.created, 'removed')])
  t.same(await stored(), [])
})

t.test('a refused rule changes nothing', async t => {
  const { apply, stored, notifier, save } = await prepare(t)
  await apply([rule('key_13')])
  t.same(await apply([rule('key_1', { channel: '999' })]), { 'rules.0.channel': ['There is no channel 999.'] })
  const refused = await notifier('apply', save({ ...demoFile(), rules: [rule('key_1', { body: ['x', '{{shop}}'] })] }))
  t.same([refused.status, refused.stdout], [1, ''])
  t.match(refused.stderr, /was not applied:\n {2}rules\.0\.body\.1: An order has no field \{\{shop\}\}/)
  t.same(await stored(), ['key_13 order_delivered 2'])
})

t.test('stores media, buttons and named parameters of a rule, and reports their errors by path', async t => {
  const { apply, pool } = await prepare(t)
  const full = rule('key_12', {
    ...{
      body: undefined,
      named_body: { customer: '{{customer_name}}' },
      header_image: 'https://x/{{waybill_number}}.png',
    },
    buttons: [
      { index: 0, url: '{{waybill_number}}' },
      { index: 1, payload: 'call' },
      { index: 2, code: 'SAVE10' },
    ],
  })
  await apply([full])
  t.same(await apply([full]), [], 'the same rule again changes nothing')
  const [stored] = await inTenant(pool, 'demo', (tx: Tx) => findRules(tx, 'demo'))
  t.match(stored?.components, [
    { type: 'header', parameters: [{ type: 'image', image: { link: 'https://x/{{waybill_number}}.png' } }] },
    { type: 'body', parameters: [{ parameter_name: 'customer', text: '{{customer_name}}' }] },
    { sub_type: 'url', index: '0', parameters: [{ text: '{{waybill_number}}' }] },
    { sub_type: 'quick_reply', index: '1', parameters: [{ payload: 'call' }] },
    { sub_type: 'copy_code', index: '2', parameters: [{ coupon_code: 'SAVE10' }] },
  ])
  const wrong: [more: Record<string, unknown>, path: string][] = [
    [{ header_image: 'http://x/a.png' }, 'rules.0.header_image'],
    [{ header_image: 'https://x/{{nobody}}.png' }, 'rules.0.header_image'],
    [{ header_image: 'https://x/a.png', header_video: 'https://x/a.mp4' }, 'rules.0'],
    [{ named_body: { a: 'b' }, body: ['c'] }, 'rules.0'],
    [{ named_body: { 'A B': 'b' }, body: undefined }, 'rules.0.named_body.A B'],
    [{ buttons: [{ index: 0 }] }, 'rules.0.buttons.0'],
    [{ buttons: [{ index: 0, url: 'a', payload: 'b' }] }, 'rules.0.buttons.0'],
    [{ buttons: [{ index: 0, action: 'take_back' }] }, 'rules.0.buttons.0.action'],
    [{ header_location: { latitude: 91, longitude: 0, name: 'a', address: 'b' } }, 'rules.0.header_location.latitude'],
  ]
  for (const [more, path] of wrong) t.same(Object.keys(validationErrors(rule('key_1', more))), [path])
})
