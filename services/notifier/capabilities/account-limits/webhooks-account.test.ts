import t, { type Test } from 'tap'
import { phoneNumberId } from '../../test/fixture.ts'
import { build } from '../../test/portal.ts'
import { postWebhook } from '../../test/webhooks-fixture.ts'

const account = '102290129340398'

const prepare = async (t: Test) => {
  const log: string[] = []
  const built = await build(t, undefined, undefined, { log })
  const secrets = { app_secret: 'demo-app-secret', verify_token: 'demo-verify-token', waba_id: account }
  t.equal((await built.call('PUT', `/api/channels/${phoneNumberId}`, secrets)).status, 200)
  const post = async (field: string, value: object, time = Math.floor(Date.now() / 1000)) => {
    const entry = [{ id: account, time, changes: [{ field, value }] }]
    t.equal((await postWebhook(built.app, { object: 'whatsapp_business_account', entry })).statusCode, 200)
  }
  const channel = async () => (await built.call('GET', '/api/channels')).body.data[0]
  const metric = async (name: string) =>
    Number(new RegExp(`^${name} (\\S+)`, 'm').exec((await built.app.inject('/metrics')).body)?.[1])
  return { ...built, post, channel, metric, log }
}

t.test('news of a partner reaches the account that it names, not the portfolio of its entry', async t => {
  const { app, channel, post } = await prepare(t)
  const partner = async (event: string, waba_id = account) => {
    const value = { event, waba_info: { waba_id, owner_business_id: '2729063490586005' } }
    const entry = [
      { id: '2729063490586005', time: Math.floor(Date.now() / 1000), changes: [{ field: 'account_update', value }] },
    ]
    t.equal((await postWebhook(app, { object: 'whatsapp_business_account', entry })).statusCode, 200)
  }
  const notices = async () =>
    (await channel()).notices.map(({ text, is_problem }: Record<string, unknown>) => [text, is_problem])
  await partner('PARTNER_ADDED')
  t.same(await notices(), [['The platform reports of the account: partner_added.', false]])
  await partner('PARTNER_REMOVED')
  const removed = 'The account was taken from the partner of the platform: messages and webhooks of it may stop.'
  t.same(await notices(), [[removed, true]])
  await partner('PARTNER_ADDED', '999')
  t.same(await notices(), [[removed, true]], 'another account')
  await partner('PARTNER_APP_UNINSTALLED')
  t.same(await notices(), [['The app was removed from the account: no webhook of it comes.', true]])
  await partner('PARTNER_ADDED')
  t.match(await notices(), { length: 1, 0: { 1: false } }, 'the account is back')
  await post('account_update', { event: 'VERIFIED_ACCOUNT', waba_info: {} })
  t.equal((await notices()).length, 2)
})

t.test('fields that are not read are counted by name, and the log names them', async t => {
  const { post, app, log } = await prepare(t)
  for (const field of ['history', 'history', 'message_template_components_update', 'x'.repeat(500), 'made_up'])
    await post(field, {})
  const metrics = (await app.inject('/metrics')).body
  t.match(metrics, /webhook_fields_ignored_total\{field="history"\} 2\n/)
  t.match(metrics, /webhook_fields_ignored_total\{field="message_template_components_update"\} 1\n/)
  t.match(metrics, /webhook_fields_ignored_total\{field="other"\} 2\n/, 'a made-up field makes no new series')
  t.match(log.join(''), /"field":"made_up".*webhook.field_ignored/)
  t.notMatch(log.join(''), /xxxx/)
})

t.test('what staff must know of the account becomes a notice', async t => {
  const { post, channel } = await prepare(t)
  const notices = async () =>
    (await channel()).notices.map(({ text, is_problem }: Record<string, unknown>) => [text, is_problem])
  const newest = async (field: string, value: object) => {
    const before = new Set((await notices()).map(String))
    await post(field, value)
    return (await notices()).find((each: unknown) => !before.has(String(each)))
  }
  const number = { display_phone_number: '94117555000' }
  t.same(await newest('security', { ...number, event: 'PIN_CHANGED' }), [
    'Two-step verification of +94117555000: pin_changed. If nobody of yours did it, set a new PIN.',
    true,
  ])
  const name = { ...number, requested_verified_name: 'Demo', decision: 'REJECTED', rejection_reason: 'NAME_FORMAT' }
  t.same(await newest('phone_number_name_update', name), [
    'The display name of +94117555000 is rejected. (name_format)',
    true,
  ])
  t.same(await newest('account_review_update', { decision: 'APPROVED' }), [
    'The review of the account: approved.',
    false,
  ])
  const alert = { alert_info: { alert_severity: 'CRITICAL', alert_type: 'OBA_APPROVED', alert_description: 'See it.' } }
  t.same(await newest('account_alerts', alert), ['Alert of the platform: oba_approved. See it.', true])
  t.same(await newest('business_status_update', { event: 'COMPROMISED_NOTIFICATION' }), [
    'The status of the business: compromised_notification.',
    true,
  ])
  t.same(
    await newest('flows', { event: 'FLOW_STATUS_CHANGE', flow_id: '1', message: 'Blocked', new_status: 'BLOCKED' }),
    ['A flow reports flow_status_change. Blocked', true],
  )
  const errors = [{ code: 131000, title: 'Something went wrong', message: 'Something went wrong' }]
  const metadata = { display_phone_number: '94117555000', phone_number_id: phoneNumberId }
  t.same(await newest('messages', { metadata, errors }), [
    'The platform reports error 131000: Something went wrong.',
    true,
  ])
  for (const odd of [{}, { event: 7 }, { decision: {} }, { alert_info: 1 }, { errors: [null, {}] }])
    for (const field of ['security', 'phone_number_name_update', 'account_review_update', 'account_alerts', 'flows'])
      await post(field, odd)
})

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
