import t from 'tap'
import { testJourney } from './journey.ts'
import { applyDemo, startStack } from './stack.ts'

t.test('a parcel travels from the merchant to the customer, and merchant and staff see every move', async t => {
  const stack = await startStack(t, { notifier: { RECIPIENT_PAUSE_SECONDS: '1' } })
  await testJourney(t, await applyDemo(stack))
  const { orders, notifier } = stack
  const printed = [...orders.lines, ...notifier.lines].join('\n')
  t.notMatch(printed, /Nimali|0000177|lanka-shoes-demo|demo-access-token/, 'no log names a person or a secret')
})
