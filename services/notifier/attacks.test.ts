import { readFileSync } from 'node:fs'
import { inTenant } from '@courier/shared/postgres/database.ts'
import { sql } from 'kysely'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { readDueLimits } from './capabilities/account-limits/test/portfolio-fixture.ts'
import { createTokenFor } from './core/access/token-commands.ts'
import { proveDue } from './core/channels/prove.ts'
import type { Tx } from './core/database/tables.ts'
import { messageTo, until } from './test/fixture.ts'
import { build } from './test/portal.ts'
import { change, envelope, inbound, sign, status } from './test/webhooks-fixture.ts'

/** Two companies, each with a number of its own account and business. */
const companies = {
  a: { number: '306540352242901', account: '402290129340301', business: '501', sender: '+94 11 700 0001' },
  b: { number: '306540352242902', account: '402290129340302', business: '502', sender: '+94 11 700 0002' },
}
type Name = keyof typeof companies
const phone = '0770000101'

interface Preparation {
  /** Names the accounts and businesses of the API; an empty business: the API names none. */
  readonly of?: Partial<Record<Name, { account?: string; business?: string }>>
}

const prepare = async (t: Test, { of = {} }: Preparation = {}) => {
  const built = await build(t)
  const { app, pool, control, call, rows, api, keyring } = built
  const address = await app.listen({ host: '127.0.0.1', port: 0 })
  control.behave({ portfolio_limit: 2000 })
  const headers = {} as Record<Name, Record<string, string>>
  for (const name of ['a', 'b'] as const) {
    const { number, account, business, sender } = { ...companies[name], ...of[name] }
    control.putNumber(number, {
      waba_id: account,
      business_id: business,
      display_phone_number: sender,
      registered: true,
    })
    control.putToken({ access_token: `token-of-${name}`, waba_ids: [account] })
    await inTenant(pool, name, async (tx: Tx) => {
      await sql`insert into tenants (tenant_id, country, stop_words, start_words, resends_unknown)
        values (${name}, 'LK', '{STOP}', '{START}', false)`.execute(tx)
    })
    headers[name] = {
      authorization: `Bearer ${(await createTokenFor(pool, { tenant: name, staff: 'Ruwan' })).token}`,
      'x-tenant': name,
    }
  }
  const as = async (name: Name, method: 'GET' | 'POST' | 'PUT', url: string, body?: unknown) => {
    const response = await call(method, url, body, headers[name])
    t.ok(response.status < 300, `${method} ${url}: ${JSON.stringify(response.body)}`)
    return response.body.data
  }
  const put = (name: Name, number: string, more: object = {}) =>
    as(name, 'PUT', `/api/channels/${number}`, {
      name,
      plan: 'paid',
      access_token: `token-of-${name}`,
      app_secret: `secret-of-${name}`,
      verify_token: `word-of-${name}`,
      ...more,
    })
  /** Posts a webhook over a connection, signed with the secret of a company's own. */
  const post = async (name: Name, body: object, secret = `secret-of-${name}`) => {
    const text = JSON.stringify(body)
    const signed = { 'x-hub-signature-256': sign(text, secret), 'content-type': 'application/json' }
    return (await fetch(`${address}/webhooks/messaging`, { method: 'POST', headers: signed, body: text })).status
  }
  const report = (name: Name, account: string, field: string, value: object, secret?: string) =>
    post(name, { object: 'whatsapp_business_account', entry: [change(value, field, account)] }, secret)
  const prove = async () => {
    await proveDue({ pool, keyring, api }, pino({ level: 'silent' }))
    await readDueLimits({ pool, keyring, api })
  }
  const readAgain = async () => {
    await rows('update channels set portfolio_due_at = now() returning 1')
    await readDueLimits({ pool, keyring, api })
  }
  const channel = async (name: Name, number = companies[name].number) =>
    (await as(name, 'GET', '/api/channels')).find(
      (each: { phone_number_id: string }) => each.phone_number_id === number,
    )
  const limitOf = async (name: Name, number?: string) => (await channel(name, number)).messaging_limit
  const preflight = async (name: Name, channel = companies[name].number) =>
    (await as(name, 'POST', '/api/messages/preflight', messageTo(phone, { channel })))[0]
  const sendTo = async (name: Name, to: string) => {
    const { id } = await as(name, 'POST', '/api/messages', messageTo(to, { channel: companies[name].number }))
    await until('it is accepted', async () =>
      ['accepted', 'sent', 'delivered'].includes((await as(name, 'GET', `/api/messages/${id}`)).status),
    )
    return id as string
  }
  return { ...built, as, put, post, report, prove, readAgain, channel, limitOf, preflight, sendTo }
}
type Prepared = Awaited<ReturnType<typeof prepare>>

const template = {
  message_template_id: 1387372356726601,
  message_template_name: 'order_created',
  message_template_language: 'en_US',
}

/** Sends every fact that a webhook may report of an account and a number, all for the worse. */
const attack = async (
  { post, report }: Pick<Prepared, 'post' | 'report'>,
  attacker: Name,
  account: string,
  number: string,
  message: string,
) => {
  await report(attacker, account, 'business_capability_update', { max_daily_conversations_per_business: 1 })
  await report(attacker, account, 'phone_number_quality_update', {
    display_phone_number: '94117000001',
    event: 'FLAGGED',
    max_daily_conversations_per_business: 'TIER_1',
  })
  await report(attacker, account, 'account_update', {
    event: 'ACCOUNT_RESTRICTION',
    restriction_info: [{ restriction_type: 'RESTRICTED_BIZ_INITIATED_MESSAGING' }],
  })
  await report(attacker, account, 'account_update', { event: 'ACCOUNT_DELETED' })
  await report(attacker, account, 'message_template_status_update', { event: 'DISABLED', ...template })
  await report(attacker, account, 'template_category_update', {
    ...template,
    previous_category: 'UTILITY',
    new_category: 'MARKETING',
  })
  await report(attacker, account, 'message_template_quality_update', {
    ...template,
    previous_quality_score: 'GREEN',
    new_quality_score: 'RED',
  })
  const recipient_id = '94770000101'
  const failed = { id: 'wamid.forged', biz_opaque_callback_data: message, status: 'failed', recipient_id }
  await post(attacker, envelope({ statuses: [status({ ...failed, errors: [{ code: 131026 }] })] }, number))
  await post(attacker, envelope({ messages: [inbound({ text: { body: 'STOP' } })] }, number))
}

for (const says of ['business', 'account', 'no limit'] as const)
  t.test(`two companies that attack each other change nothing of each other's; the API says: ${says}`, async t => {
    const business = says === 'business' ? undefined : { business: '' }
    const built = await prepare(t, { of: { ...(business && { a: business, b: business }) } })
    const { control, as, put, report, prove, limitOf, preflight, sendTo, channel, queue, rows } = built
    for (const name of ['a', 'b'] as const) {
      const { number, account } = companies[name]
      await put(name, number, { waba_id: account, default: true })
    }
    await prove()
    if (says === 'no limit') {
      await rows('delete from portfolios returning 1')
      // Reads one number after the other: of each the first request fails, and the one without the limit succeeds.
      for (const name of ['a', 'b']) {
        await rows('update channels set portfolio_id = null, portfolio_due_at = now() where tenant_id = $1', [name])
        control.script({ call: 'phone_number', times: 1, trouble: { kind: 'error', code: 100 } })
        await prove()
      }
      control.clearScripts()
      for (const name of ['a', 'b'] as const)
        await report(name, companies[name].account, 'business_capability_update', {
          max_daily_conversations_per_business: 2000,
        })
    }
    queue.start()
    const sent = { a: '', b: '' }
    for (const name of ['a', 'b'] as const) {
      await as(name, 'POST', '/api/templates/sync')
      sent[name] = await sendTo(name, phone)
      t.match(await limitOf(name), { max_people: 2000, used: 1 }, name)
    }
    const look = async (name: Name) => {
      const { number } = companies[name]
      const { checked_at: _, messaging_limit, notices, ...seen } = await channel(name)
      return {
        seen,
        limit: { ...messaging_limit, read_at: '' },
        notices: notices.map(({ text }: { text: string }) => text),
        templates: await as(name, 'GET', '/api/templates?name=order_created'),
        preflight: (await preflight(name)).limit,
        conversation: await as(name, 'GET', `/api/conversations/${phone}`),
        timeline: (await as(name, 'GET', `/api/messages/${sent[name]}`)).timeline,
        problems: (await as(name, 'POST', `/api/channels/${number}/check`)).problems,
        reachable: (await as(name, 'GET', `/api/messages?status=failed`)).length,
      }
    }
    for (const [attacker, victim] of [
      ['a', 'b'],
      ['b', 'a'],
    ] as const) {
      const before = await look(victim)
      const { used } = await limitOf(attacker)
      const { number, account } = companies[victim]
      // It names the victim's account on its own number, and claims the victim's number.
      await put(attacker, companies[attacker].number, { waba_id: account })
      await put(attacker, number, { waba_id: account })
      await attack(built, attacker, account, number, sent[victim])
      await built.readAgain()
      await attack(built, attacker, account, number, sent[victim])
      t.same(await look(victim), before, `${attacker} attacks ${victim}`)
      // A new person is within the victim's limit, though the attacker reported 1.
      await sendTo(victim, `07700002${attacker === 'a' ? '01' : '02'}`)

      for (const own of [companies[attacker].number, number]) {
        const limit = await limitOf(attacker, own)
        t.not(limit?.portfolio_id, before.limit.portfolio_id, 'its limit is its own')
        t.ok((limit?.used ?? 0) <= used, 'it counts only its own people')
      }
      const reached = await rows(`select recipient from portfolio_people where portfolio_id = $1 order by 1`, [
        before.limit.portfolio_id,
      ])
      t.same(reached.length, 2, 'the people of the victim are counted with the victim alone')
      await rows('delete from secrets where tenant_id = $1 and phone_number_id = $2', [attacker, number])
      await rows('delete from channels where tenant_id = $1 and phone_number_id = $2 returning 1', [attacker, number])
      await put(attacker, companies[attacker].number, { waba_id: companies[attacker].account })
      await built.readAgain()
    }
  })

t.test('an attacker with an account of its own choice learns neither the limit nor whom it reached', async t => {
  const of = { a: { business: '' }, b: { business: '' } }
  const { put, prove, report, limitOf, preflight, sendTo, queue } = await prepare(t, { of })
  await put('a', companies.a.number, { waba_id: companies.a.account })
  await prove()
  queue.start()
  await sendTo('a', phone)
  await put('b', companies.b.number, { waba_id: companies.a.account })
  await prove()
  await report('b', companies.a.account, 'business_capability_update', { max_daily_conversations_per_business: 5 })
  t.match(await limitOf('a'), { max_people: 2000, used: 1 })
  t.match((await limitOf('b')).used, 0)
  t.not((await limitOf('b')).max_people, 5, 'its number is of another account, as the API said')
  t.match((await preflight('b')).limit, { left: 2000 }, 'nobody was reached for it')
})

t.test('an account that the API proved to both companies has one limit and one count', async t => {
  const shared = { account: companies.a.account, business: '' }
  const { put, prove, report, limitOf, sendTo, queue } = await prepare(t, { of: { a: shared, b: shared } })
  for (const name of ['a', 'b'] as const) await put(name, companies[name].number, { waba_id: shared.account })
  await prove()
  queue.start()
  await sendTo('a', phone)
  t.match(await limitOf('b'), { max_people: 2000, used: 1 })
  await report('b', shared.account, 'business_capability_update', { max_daily_conversations_per_business: 250 })
  t.match(await limitOf('a'), { max_people: 250, used: 1 })
  t.equal((await limitOf('a')).portfolio_id, (await limitOf('b')).portfolio_id)
})

t.test('a webhook of another account than the API named says nothing of a limit that the API gave', async t => {
  const business = { business: '77' }
  const { put, prove, report, limitOf } = await prepare(t, { of: { a: business, b: business } })
  for (const name of ['a', 'b'] as const) await put(name, companies[name].number, { waba_id: companies[name].account })
  await prove()
  t.match(await limitOf('b'), { portfolio_id: '77', max_people: 2000 })
  await put('b', companies.b.number, { waba_id: '1' })
  await report('b', '1', 'business_capability_update', { max_daily_conversations_per_business: 3 })
  t.match(await limitOf('a'), { portfolio_id: '77', max_people: 2000 })
  await report('a', companies.a.account, 'business_capability_update', { max_daily_conversations_per_business: 250 })
  t.match(await limitOf('b'), { portfolio_id: '77', max_people: 250 })
})

t.test('a company whose token the API refuses shares the limit no longer', async t => {
  const shared = { account: companies.a.account, business: '77' }
  const { control, put, prove, readAgain, report, limitOf } = await prepare(t, { of: { a: shared, b: shared } })
  for (const name of ['a', 'b'] as const) await put(name, companies[name].number, { waba_id: shared.account })
  await prove()
  control.outage('unavailable')
  await readAgain()
  control.outage(null)
  t.match(await limitOf('b'), { portfolio_id: '77', max_people: 2000 }, 'an outage proves nothing')
  control.putToken({ access_token: 'token-of-b', waba_ids: [] })
  await readAgain()
  t.equal(await limitOf('b'), null)
  await report('b', shared.account, 'business_capability_update', { max_daily_conversations_per_business: 1 })
  t.match(await limitOf('a'), { portfolio_id: '77', max_people: 2000 })
  t.match(await limitOf('b'), { max_people: 1, used: 0 }, 'the report is its own')
})

t.test('facts of a proved account reach no company that only names it, though both have one app secret', async t => {
  const { as, put, prove, report, channel } = await prepare(t)
  const secret = { app_secret: 'the-secret-of-one-app' }
  await put('b', companies.b.number, { waba_id: companies.a.account, default: true, ...secret })
  await prove()
  await put('a', companies.a.number, { waba_id: companies.a.account, default: true, ...secret })
  await prove()
  await as('a', 'POST', '/api/templates/sync')
  const news = { event: 'ACCOUNT_DELETED' }
  t.equal(await report('a', companies.a.account, 'account_update', news, secret.app_secret), 200)
  const texts = async (name: Name) => (await channel(name)).notices.map(({ text }: { text: string }) => text)
  t.ok((await texts('a')).includes('The account was deleted.'))
  t.notOk((await texts('b')).includes('The account was deleted.'))
})

t.test('limits that earlier releases kept by an account of choice are of nobody else after the upgrade', async t => {
  const built = await prepare(t)
  const { put, rows, readAgain, limitOf, report } = built
  await put('a', companies.a.number, { waba_id: companies.a.account })
  await put('b', companies.b.number, { waba_id: companies.a.account })
  const shared = `account ${companies.a.account}`
  await rows(`update channels set portfolio_id = $1 where tenant_id in ('a', 'b') returning 1`, [shared])
  await rows('insert into portfolios (portfolio_id, max_people, used, read_at) values ($1, 1, 1, now())', [shared])
  await rows(`insert into portfolio_people (portfolio_id, recipient) values ($1, '94770000101')`, [shared])
  await put('a', '306540352242903', { waba_id: '8' })
  await rows(`update channels set portfolio_id = 'account 8' where phone_number_id = '306540352242903' returning 1`)
  await rows(`insert into portfolios (portfolio_id, max_people, used, read_at) values ('account 8', 250, 1, now())`)
  await rows(`insert into portfolio_people (portfolio_id, recipient) values ('account 8', '94770000101')`)
  const file = new URL('./core/database/migrations/0037-own-limits.sql', import.meta.url)
  await rows(readFileSync(file, 'utf8'))
  t.equal(await limitOf('a'), null)
  t.equal(await limitOf('b'), null)
  t.match(await limitOf('a', '306540352242903'), { portfolio_id: 'tenant a account 8', max_people: 250, used: 1 })
  t.same(await rows(`select * from portfolios where portfolio_id like 'account %' and max_people is not null`), [])
  await report('b', companies.a.account, 'business_capability_update', { max_daily_conversations_per_business: 1 })
  await readAgain()
  t.match(await limitOf('a'), { max_people: 2000, used: 0 })
})
