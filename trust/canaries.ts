import { clientSecret, startProvider } from '../services/orders/test/provider.ts'
import { startStack } from '../test/stack.ts'
import { runNotifier } from './canary-notifier.ts'
import { runOrders } from './canary-orders.ts'
import { type Observed, observe } from './canary-service.ts'
import { findIn, makeCanaries, meant, searchColumns } from './canary-set.ts'
import { nowhere, unlimited } from './courier.ts'
import type { Broken, TrustPromise } from './promise.ts'

const publicUrl = 'http://127.0.0.1:9'
const redirectUri = `${publicUrl}/api/public/sign-in/callback`

/** Matches Postgres messages that contain a row's values. */
const details = /Failing row contains|Key \(|"detail"|"where"|invalid input syntax/

/** Searches all output of a service, and its tables. Returns the number of texts and columns. */
const search = async (observed: Observed, canaries: Record<string, string>, broken: Broken): Promise<number> => {
  const { name: service, superuser } = observed
  const metrics = await fetch(`${observed.service.url}/metrics`).then(response => response.text())
  const texts = {
    'the log': observed.service.lines,
    'a response': observed.errorResponses,
    'a command': observed.printed,
    'the metrics': metrics.split('\n'),
  }
  for (const [where, lines] of Object.entries(texts))
    for (const line of lines) {
      const found = findIn(line, canaries)
      broken.require(found.length === 0, `${service}: ${where} shows ${found}: ${line.slice(0, 300)}`)
      broken.require(!details.test(line), `${service}: ${where} shows values of a row: ${line.slice(0, 300)}`)
    }
  const columns = await searchColumns(superuser, service, canaries)
  for (const [name, found] of columns) {
    const stray = found.filter(canary => !meant[name]?.includes(canary))
    broken.require(stray.length === 0, `${name} holds ${stray}`)
  }
  // Requires that every column meant to hold a canary does: a run that failed at once would find nothing either.
  for (const name of Object.keys(meant).filter(name => name.startsWith(`${service}.`)))
    broken.require((columns.get(name) ?? []).length > 0, `${name} holds no canary`)
  return Object.values(texts).reduce((sum, lines) => sum + lines.length, columns.size)
}

/** Requires that every path was taken: each status occurred, and Postgres named the values of refused rows. */
const requirePaths = ({ name, service, statuses }: Observed, expected: number[], failures: number, broken: Broken) => {
  for (const status of expected) broken.require(statuses.has(status), `${name} never responded ${status}`)
  const failed = statuses.get(500) ?? 0
  broken.require(failed === failures, `${name} responded 500 ${failed} times instead of ${failures}`)
  for (const code of ['23514', '22']) {
    const isLogged = service.lines.some(line => line.includes(`"code":"${code}`))
    broken.require(isLogged, `${name} never logged ${code}`)
  }
}

export const promise: TrustPromise = {
  promise: 'No name, phone, address, token, PIN or secret appears where it is not meant to be',
  limit: 'every path and its failures: 0 in logs, error responses, metrics and other columns',
  run: async options => {
    const { broken } = options
    const own = makeCanaries(options.seed)
    const common = { LOG_LEVEL: 'debug', ...unlimited }
    const provider = await startProvider(options, () => redirectUri, {
      [own.subject]: { email: `${own.email}@courier.example`, email_verified: true },
      [own.name]: { email: `${own.name}@courier.example`, email_verified: true },
    })
    const described = { id: 'canary', name: 'Canary', issuer: provider.issuer, client_id: 'courier' }
    const signIn = {
      PUBLIC_URL: publicUrl,
      SIGN_IN_PROVIDERS: JSON.stringify([
        { ...described, client_secret: clientSecret, tenants: ['demo'], for: 'staff' },
      ]),
    }
    const stack = await startStack(options, {
      orders: { ...common, ...signIn, NOTIFIER_URL: nowhere },
      notifier: { ...common, RECIPIENT_PAUSE_SECONDS: '1' },
      simulator: { SIMULATOR_DELAY_FACTOR: '0', WEBHOOK_URL: 'none' },
    })
    const [orders, notifier] = [await observe(options, stack, 'orders'), await observe(options, stack, 'notifier')]
    const key = stack.notifier.environment.CREDENTIALS_KEYS?.split(':')[1] ?? ''
    const tokens = {
      ...(await runOrders(orders, own, provider)),
      clientSecret,
      ...(await runNotifier(notifier, stack.simulator.url, own)),
    }
    const all = { ...own, ...tokens, key }
    requirePaths(orders, [200, 400, 401, 404, 415, 422, 503], 3, broken)
    requirePaths(notifier, [200, 202, 400, 401, 403, 422, 503], 9, broken)
    const { rows } = await notifier.superuser.query('select distinct status from messages')
    const ends = rows.map(({ status }) => status)
    for (const end of ['accepted', 'failed', 'unknown']) broken.require(ends.includes(end), `no message became ${end}`)
    const searched = (await search(orders, all, broken)) + (await search(notifier, all, broken))
    const requests = [...orders.statuses.values(), ...notifier.statuses.values()].reduce((a, b) => a + b, 0)
    return { canaries: Object.keys(all).length, requests, searched, found: broken.count }
  },
}
