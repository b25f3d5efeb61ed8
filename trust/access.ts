import fc from 'fast-check'
import { bearer, type Caller, notifierTarget, ordersTarget, type Target } from './access-callers.ts'
import { isOfStaff } from './applications.ts'
import type { Operation } from './document.ts'
import { hints } from './hints.ts'
import { validFor } from './inputs.ts'
import { Broken, type Outcome, type TrustPromise } from './promise.ts'
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

/** The other service has no tenant. */
const isInternal = ({ path }: Operation): boolean => path.startsWith('/internal')

const isRefusal = (operation: Operation, name: string, { status, text }: { status: number; text: string }): boolean =>
  name === 'no tenant' && !isInternal(operation)
    ? status === 400
    : status === 401 && text === '{"message":"Unauthenticated."}'

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
      broken.require(
        isRefusal(operation, name, answer),
        `${where} with ${name}: ${answer.status} ${answer.text.slice(0, 100)}`,
      )
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
    if (operation.needsToken && !isInternal(operation)) {
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
