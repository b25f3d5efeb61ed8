import { setTimeout as delay } from 'node:timers/promises'
import { bearer } from './courier.ts'
import type { Operation } from './document.ts'
import { buildRequest, rightBodies } from './inputs.ts'
import type { Broken, TrustPromise } from './promise.ts'
import type { Headers } from './sender.ts'
import { createFingerprint } from './table-prints.ts'
import { endsToken, isForStaff, isInternal, startTargets, type Target } from './targets.ts'

/** Lists every operation that takes no token, with the reason. Any other operation without a token is a violation. */
const open: Readonly<Record<string, string>> = {
  'GET /health/live': 'shows nothing but that the process runs',
  'GET /health/ready': 'shows nothing but that it can work',
  'GET /metrics': 'metrics without persons, for Prometheus',
  'GET /webhooks/messaging': 'checks the verify token itself',
  'POST /webhooks/messaging': 'checks the signature itself',
  'POST /webhooks/shops/{tenant}/{shop_id}': 'checks the signature itself',
  'POST /api/public/merchant/login': 'creates tokens',
  'POST /api/staff/login': 'creates tokens',
  'POST /api/staff/sign-in': 'checks the code of a link itself',
  'GET /api/staff/sign-in/methods': 'says how a company signs in, before anybody did',
  'GET /api/public/merchant/sign-in/methods': 'says how a company signs in, before anybody did',
  'POST /api/staff/sign-in/password': 'checks the code of a link itself',
  'POST /api/public/merchant/sign-in/password': 'checks the code of a link itself',
  'POST /api/staff/sign-in/start': 'begins a sign-in at a provider',
  'POST /api/public/merchant/sign-in/start': 'begins a sign-in at a provider',
  'POST /api/staff/sign-in/finish': 'checks the code of a sign-in itself',
  'POST /api/public/merchant/sign-in/finish': 'checks the code of a sign-in itself',
  'POST /api/staff/sign-in/second-factor': 'checks the password itself',
  'POST /api/public/merchant/sign-in/second-factor': 'checks the password itself',
  'POST /api/public/rider/acts': 'checks the token of a deactivated rider itself',
  'POST /api/public/rider/proof-part': 'checks the token of a rider itself',
  'GET /api/public/proof/{tenant}/{waybill}/{id}/{end}/{signature}': 'checks the signature itself',
  'POST /api/public/order/tracking-info': 'public by contract, shows no recipient in full',
}

/**
 * Holds clients that every operation with a token must refuse, and clients of another tenant or merchant, which must
 * not see the data of others.
 */
interface Clients {
  refused: Record<string, Headers>
  elsewhere: Record<string, Headers>
}

const createClients = async ({ name, createToken, revokeToken }: Target, merchant: Headers): Promise<Clients> => {
  const holder = name === 'orders' ? { merchant: 'shop@example.com' } : { staff: 'Nimal' }
  const createOne = async (tenant: string, more: object = holder): Promise<string> =>
    (await createToken({ tenant, ...more })).token
  const [own, rivals, staffOfRival] = [
    await createOne('demo'),
    await createOne('rival'),
    await createOne('rival', { staff: 'Kamal' }),
  ]
  const expired = await createOne('demo', { ...holder, expires: new Date(Date.now() + 1_000).toISOString() })
  const revoked = await createToken({ tenant: 'demo', ...holder })
  await revokeToken(revoked.id)
  await delay(1_100)
  return {
    refused: {
      'no token': { 'x-tenant': 'demo' },
      'an invalid token': bearer(`courier_${'x'.repeat(43)}`),
      'half a token': bearer(own.slice(0, -1)),
      'another scheme': { authorization: `Basic ${own}`, 'x-tenant': 'demo' },
      'no tenant': { authorization: `Bearer ${own}` },
      'an unknown tenant': bearer(own, 'nowhere'),
      'all tenants': bearer(own, '*'),
      'the name of another tenant': bearer(own, 'rival'),
      'a token of another tenant': bearer(rivals),
      expired: bearer(expired),
      revoked: bearer(revoked.token),
      ...(name === 'notifier' && { 'a merchant of orders': merchant }),
    },
    elsewhere: {
      'another tenant': bearer(rivals, 'rival'),
      'staff of another tenant': bearer(staffOfRival, 'rival'),
      ...(name === 'orders' && {
        'another merchant': bearer(await createOne('demo', { merchant: 'books@example.com' })),
      }),
    },
  }
}

/** Sends a request to an operation, about resources of demo. */
const sendAs = ({ send, names }: Target, operation: Operation, headers: Headers, body = listBodies(operation)[0]) =>
  send(buildRequest(operation, { headers, isRight: true }, { path: names, body }))

const listBodies = (operation: Operation): (string | undefined)[] => {
  const bodies = rightBodies(operation).map(body => JSON.stringify(body))
  return bodies.length > 0 ? bodies : [undefined]
}

const isRefusal = (operation: Operation, name: string, { status, text }: { status: number; text: string }): boolean =>
  name === 'no tenant' && !isInternal(operation)
    ? status === 400
    : status === 401 && text === '{"message":"Unauthenticated.","code":"unauthenticated"}'

/** Returns a client of the other kind: staff where a merchant is expected, and the reverse. */
const chooseWrongKind = ({ name, headersFor }: Target, operation: Operation): Record<string, Headers> =>
  name === 'orders'
    ? {
        'a token of the other kind': headersFor({
          path: isForStaff(operation) ? '/api/public/merchant' : '/api/staff',
        }),
      }
    : {}

/** Tries every client on every operation that needs a token. Returns the number of requests. */
const tryAll = async (target: Target, { refused, elsewhere }: Clients, broken: Broken): Promise<number> => {
  const { operations, rows, marks, name: service } = target
  const fingerprint = await createFingerprint(rows, 'demo')
  const before = await fingerprint()
  let requests = 0
  for (const operation of operations.filter(({ needsToken }) => needsToken)) {
    const where = `${service} ${operation.id}`
    for (const [name, client] of Object.entries({ ...refused, ...chooseWrongKind(target, operation) })) {
      const response = await sendAs(target, operation, client)
      const isRefused = isRefusal(operation, name, response)
      broken.require(isRefused, `${where} with ${name}: ${response.status} ${response.text.slice(0, 100)}`)
      requests++
    }
    // These clients are used again, so they must keep their tokens.
    for (const [name, client] of Object.entries(endsToken(operation) ? {} : elsewhere))
      for (const body of listBodies(operation)) {
        const { status, text } = await sendAs(target, operation, client, body)
        const asked = operation.path + body
        const shown = status < 300 && marks.find(mark => text.includes(mark) && !asked.includes(mark))
        broken.require(!shown && status > 0 && status < 500, `${where} as ${name}: ${status} shows ${shown}`)
        requests++
      }
    const after = await fingerprint()
    const changed = [...after.keys()].filter(table => after.get(table) !== before.get(table))
    broken.require(changed.length === 0, `${where}: somebody else changed a row of demo in ${changed}`)
  }
  return requests
}

/** Requires that permitted clients pass: a refusal of everybody would prove nothing. */
const letOwnersPass = async (target: Target, broken: Broken): Promise<void> => {
  for (const operation of target.operations.filter(({ needsToken }) => needsToken)) {
    const { status } = await sendAs(target, operation, target.headersFor(operation))
    const isPassed = status > 0 && status !== 401 && status < 500
    broken.require(isPassed, `${target.name} ${operation.id} with the right token: ${status}`)
  }
}

export const promise: TrustPromise = {
  promise: "A request without the right token is refused, and nobody sees or changes another's data",
  limit: 'every operation x every wrong client: refused, 0 rows of others',
  run: async options => {
    const { broken } = options
    const { orders, notifier } = await startTargets(options)
    const merchant = orders.headersFor({ path: '/api/public/merchant' })
    let requests = 0
    let protectedOnes = 0
    for (const target of [notifier, orders]) {
      for (const { id, needsToken } of target.operations)
        broken.require(needsToken || id in open, `${target.name} ${id} takes no token and is not listed as open`)
      protectedOnes += target.operations.filter(({ needsToken }) => needsToken).length
      requests += await tryAll(target, await createClients(target, merchant), broken)
      await letOwnersPass(target, broken)
      options.report(`${target.name}: ${requests} requests`)
    }
    broken.require(protectedOnes > 0, 'no operation needs a token')
    return { operations: protectedOnes, requests, 'not refused or seen': broken.count }
  },
}
