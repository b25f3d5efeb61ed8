import { listMissingFixes } from '@courier/shared/security-fixes.ts'
import t, { type Test } from 'tap'
import { commands } from '../../test/command-line.ts'
import { messageTo, phoneNumberId, until } from '../../test/fixture.ts'
import { build } from '../../test/portal.ts'
import { giveRules } from '../../test/rules-of-demo.ts'
import { envelope, inbound, postWebhook, status } from '../../test/webhooks-fixture.ts'
import type { Line } from './lines.ts'
import { judgeVersion } from './version.ts'

const scopes = ['whatsapp_business_management', 'whatsapp_business_messaging'] as const

const account = '102290129340398'
const publicUrl = 'https://notifier.courier.example'
const channel = `/api/channels/${phoneNumberId}`

const prepare = async (t: Test) => {
  const built = await build(t, undefined, undefined, {}, { publicUrl })
  const { call, control, app } = built
  control.behave({ webhook_url: `${publicUrl}/webhooks/messaging` })
  const secrets = { app_secret: 'demo-app-secret', verify_token: 'demo-verify-token', waba_id: account }
  t.equal((await call('PUT', channel, secrets)).status, 200)
  const diagnose = async (): Promise<Record<Line['check'], Line>> => {
    const { body } = await call('GET', `${channel}/doctor`)
    return Object.fromEntries(body.data.map((line: Line) => [line.check, line])) as Record<Line['check'], Line>
  }
  const post = (body: unknown, secret?: string) => postWebhook(app, body, secret)
  const age = (minutes: number) =>
    built.rows(`update messages set status_at = now() - make_interval(mins => $1) returning message_id`, [minutes])
  return { ...built, diagnose, post, age }
}

const statesOf = (lines: Record<string, Line>) =>
  Object.fromEntries(Object.values(lines).map(({ check, state }) => [check, state]))

t.test('on a number that works every line is ok', async t => {
  const { call, diagnose, post, pool, queue } = await prepare(t)
  await giveRules(pool)
  await call('POST', '/api/templates/sync')
  queue.start()
  await call('POST', '/api/messages', messageTo('0770000101'))
  await post(envelope({ messages: [inbound()], statuses: [status({})] }, phoneNumberId))
  const { price, version, updates, ...others } = await diagnose()
  t.same(new Set(Object.values(statesOf(others))), new Set(['ok']), JSON.stringify(others))
  t.match(price, { state: 'warning', text: /add a tariff/ })
  const missing = await listMissingFixes(pool)
  t.same(updates.state, missing.length > 0 ? 'warning' : 'ok')
  for (const text of missing) t.ok(updates.text.includes(text), text)
  t.match(version.text, /^v17\.0 is set, and the API serves it as v21\.0, which ends on 2027-01-21/)
})

t.test('fields that the app is not subscribed to are named, with the place to subscribe', async t => {
  const { control, diagnose, call } = await prepare(t)
  t.match((await diagnose()).fields, { state: 'ok', text: /messages, standby, messaging_handovers/ })
  const { webhook_fields } = control.behave({})
  control.behave({ webhook_fields: webhook_fields.filter(field => field !== 'standby' && field !== 'flows') })
  t.match((await diagnose()).fields, {
    state: 'warning',
    text: 'The app is not subscribed to standby, flows: subscribe in its dashboard (WhatsApp, Configuration, Webhook fields).',
  })
  control.behave({ webhook_fields: ['account_update'] })
  t.match((await diagnose()).fields, { state: 'wrong', text: /not subscribed to messages, standby/ })
  await call('PUT', channel, { app_secret: 'another' })
  t.match((await diagnose()).fields.state, /warning|wrong/)
})

t.test('another responder on the number is named, with when we answered last', async t => {
  const { post, diagnose } = await prepare(t)
  t.match((await diagnose()).routing, { state: 'ok', text: 'No other responder was seen on the number.' })
  const metadata = { phone_number_id: phoneNumberId }
  const value = { metadata, standby: { messages: [inbound()] } }
  await post({ entry: [{ id: account, changes: [{ field: 'standby', value }] }] })
  t.match((await diagnose()).routing, { state: 'warning', text: /first at .*, last at .*Z\. We have not been/ })
  await post(envelope({ messages: [inbound()] }, phoneNumberId))
  t.match((await diagnose()).routing.text, /We were the responder last at 20/)
})

t.test('each thing that is wrong has a line with the way out', async t => {
  const { call, control, diagnose } = await prepare(t)
  control.putNumber(phoneNumberId, { subscribed: false, registered: false })
  control.behave({ webhook_url: 'https://elsewhere.example/hook' })
  const lines = await diagnose()
  t.match(statesOf(lines), {
    token: 'ok',
    number: 'wrong',
    subscription: 'wrong',
    callback: 'wrong',
    signature: 'warning',
    statuses: 'warning',
    templates: 'warning',
  })
  t.match(lines.number.text, /DISCONNECTED, not CONNECTED.*register it/)
  t.match(lines.callback.text, /elsewhere\.example.*not to https:\/\/notifier\.courier\.example\/webhooks\/messaging/)
  control.behave({ webhook_url: null })
  t.match((await diagnose()).callback, { state: 'wrong', text: /no callback address: enter/ })
  control.putToken({ access_token: 'demo-access-token', revoked: true })
  t.match((await diagnose()).token, { state: 'wrong', text: /Store a valid access token/ })
  t.equal((await call('GET', '/api/channels/9/doctor')).status, 404)
})

t.test('a missing subscription is mended by one request, and its webhooks come', async t => {
  const { app, call, control, diagnose, queue, rows } = await prepare(t)
  control.putNumber(phoneNumberId, { subscribed: false })
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  control.behave({ webhook_url: `${url}/webhooks/messaging` })
  queue.start()
  t.match((await diagnose()).subscription, { state: 'wrong', text: /subscribe it \(--fix\)/ })
  const subscribed = await call('POST', `${channel}/subscribe`)
  t.equal(subscribed.status, 200)
  t.match((await diagnose()).subscription.state, 'ok')
  await call('POST', '/api/messages', messageTo('0770000101'))
  await until('a status comes', async () => (await rows(`select from messages where status = 'read'`)).length > 0)
  t.match((await diagnose()).statuses.state, 'ok')
  t.match(await rows(`select action from audit where action = 'channel.subscribed'`), [{}])
})

t.test('accepted messages without a status for 15 minutes are a metric, a line and part of the summary', async t => {
  const { app, call, control, diagnose, post, queue, rows, age } = await prepare(t)
  control.putNumber(phoneNumberId, { subscribed: false })
  queue.start()
  await call('POST', '/api/messages', messageTo('0770000101'))
  await until('it is accepted', async () => (await rows(`select from messages where status = 'accepted'`)).length > 0)
  const metric = async () => /^channels_without_statuses (\d)/m.exec((await app.inject('/metrics')).body)?.[1]
  await age(14)
  t.match((await diagnose()).statuses.state, 'warning')
  t.equal(await metric(), '0')
  await age(16)
  t.match((await diagnose()).statuses, { state: 'wrong', text: /no status for 15 minutes/ })
  t.equal(await metric(), '1')
  t.same((await call('GET', '/api/messages/summary')).body.data.silent_channels, [phoneNumberId])
  await age(25 * 60)
  t.equal(await metric(), '0')
  await age(16)
  await post(envelope({ statuses: [status({ id: 'wamid.another' })] }, phoneNumberId))
  t.equal(await metric(), '0')
})

t.test('the platform’s test, and news of other numbers of our app, get 200 and prove the secret', async t => {
  const { diagnose, post, rows } = await prepare(t)
  const test = {
    object: 'whatsapp_business_account',
    entry: [
      {
        id: '0',
        changes: [
          {
            field: 'messages',
            value: {
              messaging_product: 'whatsapp',
              metadata: { display_phone_number: '16505551111', phone_number_id: '123456123' },
              contacts: [{ profile: { name: 'test user name' }, wa_id: '16315551181' }],
              messages: [
                {
                  from: '16315551181',
                  id: 'ABGGFlA5Fpa',
                  timestamp: '1504902988',
                  type: 'text',
                  text: { body: 'this is a text message' },
                },
              ],
            },
          },
        ],
      },
    ],
  }
  t.equal((await post(test, 'another-secret')).statusCode, 401)
  t.equal((await diagnose()).signature.state, 'warning')
  t.equal((await post(test)).statusCode, 200)
  t.match((await diagnose()).signature, { state: 'ok' })
  t.equal((await post(envelope({ messages: [inbound()] }, '999'))).statusCode, 200)
  t.same(await rows('select from inbound_messages'), [])
})

t.test('shows how many people the portfolio may still reach', async t => {
  const { call, control, diagnose, rows } = await prepare(t)
  control.behave({ portfolio_limit: 2000 })
  t.equal((await call('POST', `${channel}/check`)).status, 200)
  await rows('update portfolios set used = 200 returning used')
  t.match((await diagnose()).limit, {
    state: 'ok',
    text: 'Templates reached 200 of the 2000 people whom the portfolio may reach in 24 hours.',
  })
})

t.test('the free texts of the month are counted, with what happens above them', async t => {
  const { call, control, diagnose, rows } = await prepare(t)
  const deliver = (count: number, number = phoneNumberId) =>
    rows(
      `insert into message_prices (tenant_id, message_id, provider_message_id, priced_at, category, is_free, template,
          phone_number_id)
        select 'demo', gen_random_uuid()::text, n::text, now(), 'service', true, '', $2 from generate_series(1, $1) n
        returning message_id`,
      [count, number],
    )
  await deliver(300, '999')
  t.match((await diagnose()).texts, {
    state: 'ok',
    text: '0 of the 1000 free texts of the number and month were delivered. Further ones cost the rate of utility messages.',
  })
  await deliver(799)
  t.equal((await diagnose()).texts.state, 'ok')
  await deliver(1)
  t.match((await diagnose()).texts, { state: 'warning', text: /^800 of the 1000/ })
  control.behave({ payment_method: false })
  t.match((await diagnose()).texts, { state: 'warning', text: /no payment method.*does not deliver them: add one/ })
  control.putToken({ access_token: 'demo-access-token', scopes: ['whatsapp_business_messaging'] })
  t.match((await diagnose()).texts, { state: 'warning', text: /Whether the account has a payment method is unknown/ })
  control.putToken({ access_token: 'demo-access-token', scopes: [...scopes] })
  await call('PUT', channel, { waba_id: null })
  await rows(`update message_prices set priced_at = now() - interval '40 days' returning message_id`)
  t.match((await diagnose()).texts.text, /^0 of the 1000/, 'of another month')
})

t.test('the version is judged by the one that serves, ninety days before it ends', t => {
  const judge = (asked: string, served: string | null, now: string) => judgeVersion(asked, served, new Date(now))
  t.match(judge('v17.0', 'v21.0', '2026-10-20'), {
    isLate: false,
    text: /^v17\.0 is set, and the API serves it as v21\.0, which ends on 2027-01-21\.$/,
  })
  t.match(judge('v17.0', 'v21.0', '2026-11-27'), { isLate: true, text: /Set MESSAGING_API_VERSION=v27\.0/ })
  t.match(judge('v27.0', 'v27.0', '2026-11-27'), { isLate: false, text: 'v27.0 is set and served.' })
  t.match(judge('v25.0', 'v25.0', '2028-05-01'), { isLate: true, text: /ends on 2028-07-29/ })
  t.match(judge('v17.0', null, '2026-11-27'), { isLate: false, text: /did not say/ })
  t.end()
})

t.test(
  'the command prints a line for each check, mends the subscription, and ends with 1 while one is wrong',
  async t => {
    const { control, baseUrl, url, keys } = await prepare(t)
    control.putNumber(phoneNumberId, { subscribed: false })
    const { notifier } = await commands(t, {
      NOTIFIER_DATABASE_URL: url,
      CREDENTIALS_KEYS: keys,
      MESSAGING_API_URL: baseUrl,
      PUBLIC_URL: publicUrl,
    })
    const ill = await notifier('doctor', '--tenant', 'demo')
    t.equal(ill.status, 1, ill.stderr)
    t.match(ill.stdout, /^Demo Couriers \(106540352242922\)\n {2}ok {7}token {9}The access token is valid/)
    t.match(ill.stdout, /\n {2}WRONG {4}subscription {2}The app is not subscribed to account 102290129340398/)
    const mended = await notifier('doctor', '--tenant', 'demo', '--fix', '--json')
    t.equal(mended.status, 0, mended.stderr)
    const [{ lines }] = JSON.parse(mended.stdout)
    t.same(
      lines.filter(({ state }: Line) => state === 'wrong'),
      [],
    )
    const unknown = await notifier('doctor', '--tenant', 'demo', '--channel', '9')
    t.match(unknown, { status: 1, stderr: /tenant demo has no channel 9/ })
  },
)
