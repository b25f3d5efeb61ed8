import t, { type Test } from 'tap'
import { phoneNumberId } from '../../test/fixture.ts'
import { build } from '../../test/portal.ts'
import { postWebhook } from '../../test/webhooks-fixture.ts'

const account = '102290129340398'

const prepare = async (t: Test) => {
  const built = await build(t)
  const secrets = { app_secret: 'demo-app-secret', verify_token: 'demo-verify-token', waba_id: account }
  t.equal((await built.call('PUT', `/api/channels/${phoneNumberId}`, secrets)).status, 200)
  const post = async (field: string, value: object, time = Math.floor(Date.now() / 1000)) => {
    const entry = [{ id: account, time, changes: [{ field, value }] }]
    t.equal((await postWebhook(built.app, { object: 'whatsapp_business_account', entry })).statusCode, 200)
  }
  const channel = async () => (await built.call('GET', '/api/channels')).body.data[0]
  const metric = async (name: string) =>
    Number(new RegExp(`^${name} (\\S+)`, 'm').exec((await built.app.inject('/metrics')).body)?.[1])
  return { ...built, post, channel, metric }
}

t.test('the limit is read with the check of a channel, and changes by webhook', async t => {
  const { call, control, post, channel, metric, rows } = await prepare(t)
  t.equal((await channel()).messaging_limit, null)
  control.behave({ portfolio_limit: 2000 })
  t.equal((await call('POST', `/api/channels/${phoneNumberId}/check`)).status, 200)
  t.match((await channel()).messaging_limit, { portfolio_id: '2729063490586005', max_people: 2000, used: 0 })
  await post('business_capability_update', { max_daily_conversations_per_business: 250 })
  t.match((await channel()).messaging_limit, { portfolio_id: '2729063490586005', max_people: 250 })
  await rows('update portfolios set used = 200 returning used')
  t.equal(await metric('portfolio_limit_used_share'), 0.8)
  await post('phone_number_quality_update', {
    display_phone_number: '94117555000',
    event: 'UPGRADE',
    max_daily_conversations_per_business: 'TIER_10K',
  })
  t.match((await channel()).messaging_limit, { max_people: 10_000 })
  for (const odd of [0, -2, '250x', null, {}, 1e12])
    await post('business_capability_update', { max_daily_conversations_per_business: odd })
  t.match((await channel()).messaging_limit, { max_people: 10_000 })
  await post('business_capability_update', { max_daily_conversations_per_business: 50 }, 1_700_000_000)
  t.match((await channel()).messaging_limit, { max_people: 10_000 }, 'an old webhook changes nothing')
  await post('business_capability_update', { max_daily_conversations_per_business: -1 })
  t.match((await channel()).messaging_limit, { max_people: null })
})

t.test('news of numbers, accounts and templates stand beside the number, the problems in metrics', async t => {
  const { post, channel, metric } = await prepare(t)
  await post('phone_number_quality_update', { display_phone_number: '94117555000', event: 'FLAGGED' })
  await post('account_update', { event: 'ACCOUNT_VIOLATION', violation_info: { violation_type: 'SCAM' } })
  await post('account_update', { event: 'DISABLED_UPDATE', ban_info: { waba_ban_state: 'REINSTATE' } })
  await post('account_update', { event: 'VERIFIED_ACCOUNT' })
  const quality = (new_quality_score: string) => ({
    previous_quality_score: 'GREEN',
    new_quality_score,
    message_template_id: 12345678,
    message_template_name: 'order_created',
    message_template_language: 'en_US',
  })
  await post('message_template_quality_update', quality('RED'))
  const names = ['account_problems', 'number_quality_problems', 'template_quality_problems']
  t.same(await Promise.all(names.map(metric)), [1, 1, 1])
  const { notices } = await channel()
  t.same(
    new Set(notices.map(({ text }: { text: string }) => text)),
    new Set([
      'The platform finds the quality low and may limit +94117555000.',
      'The account violates a policy of the platform: it may be restricted. (scam)',
      'The platform reports of the account: disabled_update reinstate.',
      'The platform reports of the account: verified_account.',
      'The quality of the template order_created (en_US) is RED. Customers block or report it: change it, or send it less.',
    ]),
  )
  await post('message_template_quality_update', quality('GREEN'))
  await post('phone_number_quality_update', { display_phone_number: '94117555000', event: 'UNFLAGGED' })
  t.same(await Promise.all(names.map(metric)), [1, 0, 0])
  for (const value of [
    { event: 'constructor', display_phone_number: '94117555000' },
    {},
    { event: 7 },
    { event: 'FLAGGED' },
    { display_phone_number: 'x'.repeat(50), event: 'A' },
  ])
    for (const field of ['phone_number_quality_update', 'account_update', 'message_template_quality_update'])
      await post(field, value)
})
