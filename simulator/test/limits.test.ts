import t from 'tap'
import { defaultBehaviour } from '../behaviour.ts'
import { build, message, outcome } from './build.ts'

t.test('a number sends so many messages a second, 80 unless it is told otherwise', async t => {
  t.equal(defaultBehaviour.throughput_per_second, 80)
  const { send, control } = await build(t, { behaviour: { throughput_per_second: 8 } })
  const answers = await Promise.all(
    Array.from({ length: 10 }, (_, index) => send(message({ to: `9477100000${index}` }))),
  )
  t.equal(answers.filter(({ status }) => status === 200).length, 8)
  const refused = answers.find(({ status }) => status !== 200)
  t.same(refused && outcome(refused), [400, 130429, 'Cloud API message throughput has been reached.'])
  control.advance(1)
  t.equal((await send()).status, 200)
})

t.test('numbers have their throughput each', async t => {
  const { call, send, control } = await build(t, { behaviour: { throughput_per_second: 1 } })
  control.putNumber('200')
  t.equal((await send()).status, 200)
  t.equal((await send()).status, 400)
  t.equal((await call('/v17.0/200/messages', { body: message() })).status, 200)
})

t.test('a pair sends 45 messages at once and then one in 6 seconds', async t => {
  const { send, control } = await build(t, { behaviour: { pair_rate: true } })
  for (let count = 1; count <= 45; count++) t.equal((await send()).status, 200)
  t.equal((await send()).body.error.code, 131056)
  t.equal((await send(message({ to: '94771234568' }))).status, 200)
  control.advance(6)
  t.equal((await send()).status, 200)
  t.equal((await send()).body.error.code, 131056)
})

t.test('neither is on when the behaviour says so', async t => {
  const { send } = await build(t)
  const answers = await Promise.all(Array.from({ length: 120 }, () => send()))
  t.ok(answers.every(({ status }) => status === 200))
})
