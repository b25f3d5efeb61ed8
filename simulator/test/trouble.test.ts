import t from 'tap'
import { errorTable } from '../graph/error-table.ts'
import { build, message, numberId, pick, receiveWebhooks } from './build.ts'

const codes = Object.keys(errorTable).map(Number)
const isCut = (call: Promise<unknown>) =>
  call.then(
    () => false,
    () => true,
  )

t.test('a script refuses a request with its code', async t => {
  const { send, control } = await build(t)
  for (const code of codes) {
    control.script({ trouble: { kind: 'error', code } })
    const { status, body } = await send()
    t.same([status, body.error.code], [errorTable[code]?.status, code])
  }
  t.equal(control.summary().accepted, 0)
})

t.test('a message fails later with a code', async t => {
  const callback = await receiveWebhooks(t)
  const { send, control, awaitIdle } = await build(t, { behaviour: { webhook_url: callback.url, delay_factor: 100 } })
  const [{ id }] = (await send()).body.messages
  for (const code of codes) control.status({ message_id: id, status: 'failed', code })
  await awaitIdle({ planned: 3 })
  t.same(
    callback.statuses().map(({ status, errors }) => [status, errors[0].code]),
    codes.map(code => ['failed', code]),
  )
})

t.test('a response is lost, with and without effect', async t => {
  const { send, control } = await build(t)
  control.script({ trouble: { kind: 'lost' } })
  t.ok(await isCut(send()))
  t.equal(control.messages().length, 1)
  control.script({ trouble: { kind: 'lost', accepted: false } })
  t.ok(await isCut(send()))
  t.equal(control.messages().length, 1)
  t.match(control.calls()[0], { http_status: null, trouble: 'lost', to: '94771234567' })
})

t.test('a response is cut in half', async t => {
  const { send, control, url } = await build(t)
  control.script({ times: 2, trouble: { kind: 'half' } })
  t.ok(await isCut(send()))
  const response = await fetch(`${url}/v17.0/${numberId}/messages`, {
    method: 'POST',
    headers: { authorization: 'Bearer demo-access-token', 'content-type': 'application/json' },
    body: JSON.stringify(message()),
  })
  t.equal(response.status, 200, 'the head arrives whole')
  t.ok(await isCut(response.text()))
})

t.test('a gateway responds with an HTML page, a server with nothing', async t => {
  const { send, control } = await build(t)
  for (const kind of ['html', 'empty'] as const) control.script({ trouble: { kind } })
  control.script({ trouble: { kind: 'html', accepted: true } })
  const page = await send()
  t.same([page.status, page.headers.get('content-type')], [502, 'text/html'])
  t.match(page.body, /<h1>502 Bad Gateway/)
  const nothing = await send()
  t.same([nothing.status, nothing.body], [500, ''])
  t.equal(control.summary().accepted, 0)
  t.equal((await send()).status, 502)
  t.equal(control.summary().accepted, 1, 'the message is accepted despite the page')
})

t.test('a script applies to as many requests as it says, in turn', async t => {
  const { send, control, call } = await build(t)
  control.script({ times: 2, trouble: { kind: 'error', code: 130429, http_status: 429, retry_after_seconds: 3 } })
  control.script({ trouble: { kind: 'error', code: 190 } })
  control.script({ call: 'register', trouble: { kind: 'error', code: 133006, details: 'Verify the number again.' } })
  t.same((await send()).body.error.code, 130429)
  t.same((await send()).headers.get('retry-after'), '3')
  t.match((await send()).body.error, { code: 190 })
  t.equal((await send()).status, 200)
  const body = { messaging_product: 'whatsapp', pin: '123456', certificate: 'demo-certificate' }
  const registration = await call(`/v17.0/${numberId}/register`, { body })
  t.same(pick(registration), [400, 133006, 'Verify the number again.'])
  t.same(control.summary().scripts, [])
})

t.test('a script for one recipient leaves the others alone', async t => {
  const { send, control } = await build(t)
  control.script({ recipient: '94771234567', times: null, trouble: { kind: 'error', code: 131026 } })
  t.equal((await send(message({ to: '94771111111' }))).status, 200)
  t.equal((await send()).body.error.code, 131026)
  t.equal((await send()).body.error.code, 131026)
  control.clearScripts()
  t.equal((await send()).status, 200)
})

t.test('a request is refused before its body is read', async t => {
  const { send, control } = await build(t)
  control.script({ trouble: { kind: 'refused' } })
  t.ok(await isCut(send()))
  t.match(control.calls()[0], { trouble: 'refused', to: null })
  t.equal((await send()).status, 200)
})

t.test('an outage starts and ends at once', async t => {
  const { send, control } = await build(t)
  control.outage('unavailable')
  t.match((await send()).body.error, { code: 2, is_transient: true })
  control.outage('reset')
  t.ok(await isCut(send()))
  control.outage('hang')
  const hanging = isCut(send())
  const first = await Promise.race([hanging, new Promise(resolve => setTimeout(resolve, 100, 'still waiting'))])
  t.equal(first, 'still waiting')
  control.outage(null)
  t.ok(await hanging)
  t.equal((await send()).status, 200)
  t.equal(control.summary().accepted, 1)
})

t.test('responses wait as long as the behaviour says', async t => {
  const { send, control } = await build(t, { behaviour: { answer_latency_ms: 300 } })
  const measure = async (body: unknown) => {
    const startedAt = performance.now()
    await send(body)
    return performance.now() - startedAt
  }
  t.ok((await measure(message())) >= 299)
  t.ok((await measure({})) >= 299)
  control.behave({ answer_latency_ms: 0 })
  // On a busy machine a response may be late.
  const times: number[] = []
  while (times.length < 5) times.push(await measure(message()))
  t.ok(Math.min(...times) < 299, `${times} ms`)
})
