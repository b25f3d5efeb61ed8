import { startStack } from '../test/stack.ts'
import { runNotifier } from './canary-notifier.ts'
import { runOrders } from './canary-orders.ts'
import { findIn, makeCanaries, meant, searchColumns } from './canary-set.ts'
import { openStage, type Stage } from './canary-stage.ts'
import { unlimited } from './courier-stage.ts'
import type { Broken, TrustPromise } from './promise.ts'

/** What Postgres says of a row's values. */
const details = /Failing row contains|Key \(|"detail"|"where"|invalid input syntax/

/** Looks through everything that a service let out, and its tables. Returns how many places that were. */
const search = async (
  stage: Stage,
  service: string,
  canaries: Record<string, string>,
  broken: Broken,
): Promise<number> => {
  const metrics = await fetch(`${stage.service.url}/metrics`).then(answer => answer.text())
  const places = {
    'the log': stage.service.lines,
    'a response': stage.errorResponses,
    'a command': stage.printed,
    'the metrics': metrics.split('\n'),
  }
  for (const [place, lines] of Object.entries(places))
    for (const line of lines) {
      const found = findIn(line, canaries)
      broken.require(found.length === 0, `${service}: ${place} shows ${found}: ${line.slice(0, 300)}`)
      broken.require(!details.test(line), `${service}: ${place} shows values of a row: ${line.slice(0, 300)}`)
    }
  const columns = await searchColumns(stage.superuser, service, canaries)
  for (const { name, found } of columns) {
    const stray = found.filter(canary => !meant[name]?.includes(canary))
    broken.require(stray.length === 0, `${name} holds ${stray}`)
  }
  // What was to be stored is there: a run that got nowhere would find nothing either.
  for (const name of Object.keys(meant).filter(name => name.startsWith(`${service}.`)))
    broken.require(
      columns.some(column => column.name === name && column.found.length > 0),
      `${name} holds no canary`,
    )
  return Object.values(places).reduce((sum, lines) => sum + lines.length, columns.length)
}

/** The paths were really gone: each kind of answer came, and Postgres refused rows with their values. */
const requirePaths = (stage: Stage, service: string, statuses: readonly number[], failures: number, broken: Broken) => {
  for (const status of statuses)
    broken.require(stage.statuses.has(status), `${service} never answered ${status}: a path was not gone`)
  const failed = stage.statuses.get(500) ?? 0
  broken.require(failed === failures, `${service} answered 500 ${failed} times instead of ${failures}`)
  for (const code of ['23514', '22'])
    broken.require(
      stage.service.lines.some(line => line.includes(`"code":"${code}`)),
      `${service} never logged ${code}`,
    )
}

export const promise: TrustPromise = {
  promise: 'No name, phone, address, token, PIN or secret shows where it is not meant to be',
  limit: 'every path and its failures: 0 in logs, error responses, metrics and other columns',
  run: async options => {
    const { broken } = options
    const own = makeCanaries(options.seed)
    const common = { LOG_LEVEL: 'debug', ...unlimited }
    const stack = await startStack(options, {
      orders: { ...common, NOTIFIER_URL: 'http://127.0.0.1:1' },
      notifier: { ...common, RECIPIENT_PAUSE_SECONDS: '1' },
      simulator: { SIMULATOR_DELAY_FACTOR: '0', WEBHOOK_URL: 'none' },
    })
    const orders = await openStage(options, stack.orders, stack.databases.orders)
    const notifier = await openStage(options, stack.notifier, stack.databases.notifier)
    const key = stack.notifier.environment.CREDENTIALS_KEYS?.split(':')[1] ?? ''
    const all = {
      ...own,
      key,
      ...(await runOrders(orders, own)),
      ...(await runNotifier(notifier, stack.simulator.url, own)),
    }
    requirePaths(orders, 'orders', [200, 400, 401, 404, 415, 422, 503], 3, broken)
    requirePaths(notifier, 'notifier', [200, 202, 400, 401, 403, 422, 503], 5, broken)
    const { rows: ends } = await notifier.superuser.query('select distinct status from messages')
    for (const end of ['accepted', 'failed', 'unknown'])
      broken.require(
        ends.some(({ status }) => status === end),
        `no message became ${end}: a path was not gone`,
      )
    const places = (await search(orders, 'orders', all, broken)) + (await search(notifier, 'notifier', all, broken))
    const calls = [orders, notifier].flatMap(({ statuses }) => [...statuses.values()]).reduce((a, b) => a + b, 0)
    return { canaries: Object.keys(all).length, calls, 'places searched': places, found: broken.count }
  },
}
