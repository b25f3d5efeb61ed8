import { headersOf, type Target } from './called-services.ts'
import type { Broken } from './promise.ts'

const megabytes = 1024 * 1024

/** Sends bodies that must be refused. Returns the milliseconds of the slowest answer. */
export const sendLarge = async (target: Target, broken: Broken): Promise<number> => {
  const large: Record<string, [string, number[]]> = {
    '2 MB of [': ['['.repeat(2 * megabytes), [400, 413, 422]],
    '2 MB of [ and ]': ['['.repeat(megabytes) + ']'.repeat(megabytes), [400, 413, 422]],
    '2 MB of {"a":': ['{"a":'.repeat((2 * megabytes) / 5), [400, 413, 422]],
    '10 MB': [`{"a":"${'x'.repeat(10 * megabytes)}"}`, [413]],
  }
  let slowest = 0
  for (const [name, [body, statuses]] of Object.entries(large))
    for (const path of [target.path, '/webhooks/messaging', '/nothing']) {
      const started = performance.now()
      const status = await fetch(target.url + path, { method: 'POST', headers: headersOf(target), body }).then(
        async answer => (await answer.arrayBuffer()) && answer.status,
        // A body that is too large is not read to its end: the connection is closed, which fetch may meet first.
        () => 413,
      )
      const allowed = path === target.path ? statuses : [400, 401, 404, 413, 422]
      broken.require(allowed.includes(status), `${name} to ${path}: ${status}`)
      slowest = Math.max(slowest, performance.now() - started)
    }
  const isUp = await fetch(`${target.url}/health/live`).then(
    ({ ok }) => ok,
    () => false,
  )
  broken.require(isUp, 'the service did not outlive the large bodies')
  return slowest
}
