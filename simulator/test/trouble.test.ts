import t from 'tap'
import { errorTable } from '../graph/error-table.ts'
import { build, message, numberId, outcome, receiveWebhooks } from './build.ts'

const to = (ending: string) => message({ to: `9477${ending}` })
const codes = Object.keys(errorTable)
  .map(Number)
  .filter(code => code < 1_000_000)
const digits = (code: number) => String(code).padStart(6, '0')
const isCut = (call: Promise<unknown>) =>
  call.then(
    () => false,
    () => true,
  )

t.test('a recipient that ends in 9 and a code is refused with it', async t => {
  const { send, control } = await build(t)
  for (const code of codes) {
    const { status, body } = await send(to(`9${digits(code)}`))
    t.same([status, body.error.code], [errorTable[code]?.status, code])
  }
  t.equal(control.summary().accepted, 0)
})

t.test('a recipient that ends in 8 and a code fails later with it', async t => {
  const callback = await receiveWebhooks(t)
  const { send, control } = await build(t, { behaviour: { webhook_url: callback.url } })
  for (const code of codes) t.equal((await send(to(`8${digits(code)}`))).status, 200)
  t.ok(await control.idle())
  t.same(
    callback.statuses().map(({ status, errors }) => [status, errors[0].code]),
    codes.map(code => ['failed', code]),
  )
})

t.test('an answer is lost, with and without effect', async t => {
  const { send, control } = await build(t)
  t.ok(await isCut(send(to('9990001'))))
  t.equal(control.messages({ to: '94779990001' }).length, 1)
  t.ok(await isCut(send(to('9990002'))))
  t.equal(control.messages({ to: '94779990002' }).length, 0)
  t.match(control.calls()[0], { http_status: null, trouble: 'lost', to: '94779990002' })
})

t.test('an answer is cut in half', async t => {
  const { send, control, url } = await build(t)
  t.ok(await isCut(send(to('9990003'))))
  t.equal(control.summary().accepted, 1)
  const answer = await fetch(`${url}/v17.0/${numberId}/messages`, {
    method: 'POST',
    headers: { authorization: 'Bearer demo-access-token', 'content-type': 'application/json' },
    body: JSON.stringify(to('9990003')),
  })
  t.equal(answer.status, 200, 'the head comes whole')
  t.ok(await isCut(answer.text()))
})

t.test('a gateway answers with a page, a server with nothing', async t => {
  const { send, control } = await build(t)
  const page = await send(to('9990004'))
  t.same([page.status, page.headers.get('content-type')], [502, 'text/html'])
  t.match(page.body, /<h1>502 Bad Gateway/)
  const nothing = await send(to('9990005'))
  t.same([nothing.status, nothing.body], [500, ''])
  t.equal(control.summary().accepted, 0)
  t.equal((await send(to('9990006'))).status, 502)
  t.equal(control.summary().accepted, 1, 'the message behind the page goes out')
})

t.test('a slow answer belongs to a message that went out at once', async t => {
  const { send, control } = await build(t)
  const startedAt = performance.now()
  const answer = send(to('9991001'))
  while (control.summary().accepted === 0) await new Promise(resolve => setTimeout(resolve, 5))
  t.ok(performance.now() - startedAt < 900)
  t.equal((await answer).status, 200)
  t.ok(performance.now() - startedAt >= 995)
})

t.test('a limit tells when to come back', async t => {
  const { send } = await build(t)
  const limited = await send(to('9992017'))
  t.same([limited.status, limited.body.error.code, limited.headers.get('retry-after')], [429, 130429, '17'])
  const used = await send(to('9993042'))
  t.same([used.status, used.body.error.code], [429, 80007])
  t.match(used.headers.get('x-business-use-case-usage'), '"estimated_time_to_regain_access":42')
})

t.test('magic recipients are ordinary when switched off, as are their neighbours', async t => {
  const { send, control } = await build(t)
  t.equal((await send(to('1131026'))).status, 200)
  t.equal((await send(to('9131027'))).status, 200)
  control.behave({ magic_recipients: false })
  t.equal((await send(to('9131026'))).status, 200)
})

t.test('a script is met by so many calls, in turn', async t => {
  const { send, control, call } = await build(t)
  control.script({ times: 2, trouble: { kind: 'error', code: 130429, http_status: 429, retry_after_seconds: 3 } })
  control.script({ trouble: { kind: 'error', code: 190, subcode: 463 } })
  control.script({ call: 'register', trouble: { kind: 'error', code: 133006, details: 'Verify the number again.' } })
  t.same((await send()).body.error.code, 130429)
  t.same((await send()).headers.get('retry-after'), '3')
  t.match((await send()).body.error, { code: 190, error_subcode: 463 })
  t.equal((await send()).status, 200)
  const body = { messaging_product: 'whatsapp', pin: '123456', certificate: 'demo-certificate' }
  const registration = await call(`/v17.0/${numberId}/register`, { body })
  t.same(outcome(registration), [400, 133006, 'Verify the number again.'])
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

t.test('a call is refused before its body is read', async t => {
  const { send, control } = await build(t)
  control.script({ trouble: { kind: 'refused' } })
  t.ok(await isCut(send()))
  t.match(control.calls()[0], { trouble: 'refused', to: null })
  t.equal((await send()).status, 200)
})

t.test('a message is held, then dropped', async t => {
  const callback = await receiveWebhooks(t)
  const { send, control } = await build(t, { behaviour: { webhook_url: callback.url } })
  t.equal((await send(to('8990007'))).body.messages[0].message_status, 'held_for_quality_assessment')
  t.ok(await control.idle())
  t.match(callback.statuses(), [{ status: 'failed', errors: [{ code: 132015 }] }])
})

t.test('an outage ends as it began, at once', async t => {
  const { send, control } = await build(t)
  control.outage('unavailable')
  t.match((await send()).body.error, { code: 2, is_transient: true })
  control.outage('html')
  t.equal((await send()).status, 502)
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

t.test('answers wait as long as the behaviour says', async t => {
  const { send, control } = await build(t, { behaviour: { answer_latency_ms: 300 } })
  const timed = async (body: unknown) => {
    const startedAt = performance.now()
    await send(body)
    return performance.now() - startedAt
  }
  t.ok((await timed(message())) >= 299)
  t.ok((await timed({})) >= 299)
  control.behave({ answer_latency_ms: 0 })
  t.ok((await timed(message())) < 299)
})
