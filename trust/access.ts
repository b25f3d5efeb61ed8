import { setTimeout as delay } from 'node:timers/promises'
import fc from 'fast-check'
import {
  createTokenFor as createNotifierToken,
  revokeTokenById as revokeNotifierToken,
} from '../services/notifier/access/token-commands.ts'
import { phoneNumberId } from '../services/notifier/test/stage.ts'
import { createTokenFor, revokeTokenById } from '../services/orders/access/token-commands.ts'
import { type Application, isOfStaff, startNotifier, startOrders } from './applications.ts'
import type { Operation } from './document.ts'
import { hints } from './hints.ts'
import { validFor } from './inputs.ts'
import { Broken, type Outcome, type TrustOptions, type TrustPromise } from './promise.ts'
import { printOf } from './table-prints.ts'

/** Every operation that takes no token, with its reason. One that is not here fails. */
const open: Readonly<Record<string, string>> = {
  'GET /health/live': 'tells nothing but that the process runs',
  'GET /health/ready': 'tells nothing but that it can work',
  'GET /metrics': 'figures without persons, for Prometheus',
  'GET /webhooks/messaging': 'checks the verify token itself',
  'POST /webhooks/messaging': 'checks the signature itself',
  'POST /api/public/merchant/login': 'gives tokens out',
  'POST /api/public/order/tracking-info': 'public by contract, shows no recipient in full',
}

/** How somebody calls. */
type Caller = Record<string, string>

/** Callers that must be refused at every operation that needs a token, and insiders of elsewhere who see nothing of demo's. */
interface Callers {
  refused: Record<string, Caller>
  elsewhere: Record<string, Caller>
}

interface Target extends Application {
  readonly callers: Callers
  /** Values that name things of demo's, for the path. */
  readonly names: Readonly<Record<string, string>>
  /** Texts that only demo's rows have. */
  readonly marks: readonly string[]
}

const bearer = (token: string, tenant = 'demo'): Caller => ({ authorization: `Bearer ${token}`, 'x-tenant': tenant })

const ordersTarget = async (t: TrustOptions): Promise<Target> => {
  const orders = await startOrders(t)
  const { pool, token, tokenOf } = orders
  const soon = new Date(Date.now() + 1_000).toISOString()
  const shop = { tenant: 'demo', merchant: 'shop@example.com' }
  const expired = await createTokenFor(pool, { ...shop, expires: soon })
  const revoked = await createTokenFor(pool, shop)
  await revokeTokenById(pool, revoked.id)
  const rivals = await tokenOf('shop@example.com', 'rival')
  const staffOfRival = await createTokenFor(pool, { tenant: 'rival', staff: 'Kamal' })
  const [waybill = ''] = (await orders.bulk(markedBatch)).body.data
  await delay(1_100)
  return {
    ...orders,
    names: { waybill, waybill_number: waybill, tenant: 'demo' },
    marks: [waybill, 'Zebulon Quixote', '77 Xylophone Lane'],
    callers: {
      refused: { ...strangers(token, rivals), expired: bearer(expired.token), revoked: bearer(revoked.token) },
      elsewhere: {
        'another merchant': bearer(await tokenOf('books@example.com')),
        'merchant of another tenant': bearer(rivals, 'rival'),
        'staff of another tenant': bearer(staffOfRival.token, 'rival'),
      },
    },
  }
}

const markedBatch = {
  general_data: { merchant_business_id: '7290', origin_city_id: '1500' },
  order_data: [
    {
      customer_name: 'Zebulon Quixote',
      customer_address: '77 Xylophone Lane',
      customer_phone: '0779998887',
      destination_city_id: 2100,
      cod: 1,
      weight: 1,
    },
  ],
}

/** Refused wherever a token of demo's is asked for. */
const strangers = (own: string, rivals: string): Record<string, Caller> => ({
  'no token': { 'x-tenant': 'demo' },
  'a bad token': bearer(`courier_${'x'.repeat(43)}`),
  'half a token': bearer(own.slice(0, -1)),
  'another scheme': { authorization: `Basic ${own}`, 'x-tenant': 'demo' },
  'no tenant': { authorization: `Bearer ${own}` },
  'an unknown tenant': bearer(own, 'nowhere'),
  'all tenants': bearer(own, '*'),
  'the name of another tenant': bearer(own, 'rival'),
  'a token of another tenant': bearer(rivals),
})

const notifierTarget = async (t: TrustOptions, merchants: string): Promise<Target> => {
  const notifier = await startNotifier(t)
  const { pool, call, tokenFor, operations } = notifier
  const staff = { tenant: 'demo', staff: 'Nimal' }
  const expired = await createNotifierToken(pool, { ...staff, expires: new Date(Date.now() + 1_000).toISOString() })
  const revoked = await createNotifierToken(pool, staff)
  await revokeNotifierToken(pool, revoked.id)
  const rivals = await createNotifierToken(pool, { tenant: 'rival', staff: 'Kamal' })
  const example = operations.find(({ id }) => id === 'POST /api/messages')?.example as object
  const send_at = new Date(Date.now() + 86_400_000).toISOString()
  const { data } = (await call('POST', '/api/messages', { ...example, waybill_number: 'WB-MARK-1', send_at })).body
  await delay(1_100)
  const own = tokenFor(operations[0] as Operation)
  return {
    ...notifier,
    names: { id: data.id, phone_number_id: phoneNumberId, phone: '94770000101' },
    marks: [data.id, 'WB-MARK-1', phoneNumberId],
    callers: {
      refused: {
        ...strangers(own, rivals.token),
        expired: bearer(expired.token),
        revoked: bearer(revoked.token),
        'a merchant of orders': bearer(merchants),
      },
      elsewhere: { 'staff of another tenant': bearer(rivals.token, 'rival') },
    },
  }
}

/** Calls an operation about demo's things. */
const callAs = async ({ app, names }: Target, operation: Operation, caller: Caller, seed: number) => {
  const { method, path, body, example } = operation
  const right = example ?? hints[operation.id]?.bodies?.[0]
  const payload = body && (right ?? fc.sample(validFor(body), { numRuns: 1, seed })[0])
  const url = path.replace(/\{([^}]+)\}/g, (_all, name: string) => encodeURIComponent(names[name] ?? '1'))
  const { statusCode, payload: text } = await app.inject({
    method: method as 'GET',
    url,
    headers: { ...caller, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { payload: JSON.stringify(payload) }),
  })
  return { status: statusCode, text }
}

const isRefusal = (name: string, { status, text }: { status: number; text: string }): boolean =>
  name === 'no tenant' ? status === 400 : status === 401 && text === '{"message":"Unauthenticated."}'

/** Tries every caller at every operation. Returns how many calls that were. */
const tryAll = async (target: Target, seed: number, broken: Broken): Promise<number> => {
  const { operations, callers, marks, rows, name: service } = target
  const before = await printOf(rows, 'demo')
  let calls = 0
  for (const operation of operations.filter(({ needsToken }) => needsToken)) {
    const where = `${service} ${operation.id}`
    const shows = (text: string) => marks.find(mark => text.includes(mark) && !operation.path.includes(mark))
    for (const [name, caller] of Object.entries({ ...callers.refused, ...(await wrongKind(target, operation)) })) {
      const answer = await callAs(target, operation, caller, seed)
      broken.require(isRefusal(name, answer), `${where} with ${name}: ${answer.status} ${answer.text.slice(0, 100)}`)
      calls++
    }
    for (const [name, caller] of Object.entries(callers.elsewhere)) {
      const { status, text } = await callAs(target, operation, caller, seed)
      const isLeak = status < 300 && shows(text)
      broken.require(!isLeak && status < 500, `${where} as ${name}: ${status} shows ${shows(text)}`)
      calls++
    }
    const isSame = (await printOf(rows, 'demo')) === before
    broken.require(isSame, `${where}: somebody else changed a row of demo's`)
  }
  return calls
}

/** A caller of the other kind: staff where a merchant is asked for, and the reverse. */
const wrongKind = async (target: Target, operation: Operation): Promise<Record<string, Caller>> => {
  if (target.name !== 'orders') return {}
  const other = { ...operation, path: isOfStaff(operation) ? '/api/public/merchant' : '/api/staff' }
  return { 'a token of the other kind': bearer(target.tokenFor(other)) }
}

/** Whoever may call passes: a refusal of everybody would show nothing. Operations between services have tokens of their own. */
const letOwnersPass = async (target: Target, seed: number, broken: Broken): Promise<void> => {
  for (const operation of target.operations)
    if (operation.needsToken && !operation.path.startsWith('/internal')) {
      const { status } = await callAs(target, operation, bearer(target.tokenFor(operation)), seed)
      broken.require(status !== 401 && status < 500, `${target.name} ${operation.id} with the right token: ${status}`)
    }
}

export const access: TrustPromise = {
  name: 'access',
  promise: 'A call without the right token is refused, and nobody sees or changes what is another’s',
  limit: 'every operation x every wrong caller: refused, 0 rows of others',
  run: async (options): Promise<Outcome> => {
    const broken = new Broken()
    const orders = await ordersTarget(options)
    const merchants = orders.tokenFor({ path: '/api/public/merchant' } as Operation)
    const targets = [orders, await notifierTarget(options, merchants)]
    let calls = 0
    let protectedOnes = 0
    for (const target of targets) {
      for (const { id, needsToken } of target.operations)
        broken.require(needsToken || id in open, `${target.name} ${id} takes no token and is not listed as open`)
      protectedOnes += target.operations.filter(({ needsToken }) => needsToken).length
      calls += await tryAll(target, options.seed, broken)
      await letOwnersPass(target, options.seed, broken)
      options.report(`${target.name}: ${calls} calls`)
    }
    broken.require(protectedOnes > 0, 'no operation needs a token')
    const measured = { operations: protectedOnes, calls, 'not refused or seen': broken.count }
    return { measured, broken: broken.sentences }
  },
}
