import { join } from 'node:path'
import t from 'tap'
import { root } from '../dev/settings.ts'
import { testJourney } from './journey.ts'
import { startStack } from './stack.ts'

t.test('a parcel travels from the merchant to the customer, and everybody sees it', async t => {
  const { orders, notifier, simulator, admin } = await startStack(t, { notifier: { RECIPIENT_PAUSE_SECONDS: '1' } })
  await admin('orders', 'apply', join(root, 'examples/demo-tenant.json'))
  await admin('notifier', 'apply', join(root, 'examples/demo-notifier.json'))
  const staffOf = async (service: 'orders' | 'notifier') =>
    ((await admin(service, 'token', 'create', '--tenant', 'demo', '--staff', 'Ruwan')) as { token: string }).token
  const tokens = { ordersStaff: await staffOf('orders'), notifierStaff: await staffOf('notifier') }
  await testJourney(t, { orders: orders.url, notifier: notifier.url, simulator: simulator.url, ...tokens })
  const printed = [...orders.lines, ...notifier.lines].join('\n')
  t.notMatch(printed, /Nimali|0000177|lanka-shoes-demo|demo-access-token/, 'no log names a person or a secret')
})
