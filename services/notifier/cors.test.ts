import t from 'tap'
import { build } from './test/portal.ts'

const origin = 'https://portal.example'

t.test('the staff portal may send requests from other origins once CORS_ORIGINS names them', async t => {
  for (const [corsOrigins, allowed] of [
    [undefined, undefined],
    [origin, origin],
    ['*', '*'],
  ] as const) {
    const { app } = await build(t, undefined, undefined, undefined, { corsOrigins })
    const url = await app.listen({ port: 0, host: '127.0.0.1' })
    const allowedFor = async (method: string, path: string, headers: Record<string, string> = {}) => {
      const response = await fetch(`${url}${path}`, { method, headers: { origin, ...headers } })
      await response.arrayBuffer()
      return [response.status, response.headers.get('access-control-allow-origin') ?? undefined]
    }
    const preflight = { 'access-control-request-method': 'PUT', 'access-control-request-headers': 'x-tenant' }
    t.strictSame(await allowedFor('OPTIONS', '/api/channels/1', preflight), [allowed ? 204 : 405, allowed])
    t.strictSame(await allowedFor('GET', '/api/channels', { 'x-tenant': 'demo' }), [401, allowed])
    for (const path of ['/internal/events', '/webhooks/messaging'])
      t.strictSame((await allowedFor('OPTIONS', path, preflight))[1], undefined, path)
  }
})
