import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import Fastify, { type FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { median } from '../../../../bench/statistics.ts'
import { createFixture, envelope, sign, status } from '../../test/webhooks-fixture.ts'
import type { ListAppSecrets } from '../channels/secrets.ts'

const url = '/webhooks/messaging'
const maxBytes = 3 * 1024 * 1024
/** Holds a body about one of our numbers that made JSON.parse with a reviver take seconds. */
const hostile = (() => {
  const start = '{"entry":[{"id":"1","changes":[{"value":{"metadata":{"phone_number_id":"100"},"x":['
  const [item, end] = ['{"message_template_id":1},', '0]}}]}]}']
  return start + item.repeat(Math.floor((maxBytes - start.length - end.length) / item.length)) + end
})()
const normal = JSON.stringify(envelope({ statuses: [status({})] }))

type App = Pick<FastifyInstance, 'inject'>

const createCountedFixture = async (t: Test, limits: { strangersPerMinute?: number } = {}) => {
  const counted = { parsedBytes: 0, lookups: 0 }
  const listAppSecrets: ListAppSecrets = async (_tx, channels) => {
    counted.lookups++
    return channels.map(({ phoneNumberId }) => (phoneNumberId === '100' ? ['old'] : []))
  }
  const fixture = await createFixture(t, {
    listAppSecrets,
    ...limits,
    addressLimits: { requests: 1_000_000, refusals: 60 },
  })
  const { parse } = JSON
  JSON.parse = (text, reviver) => {
    if (text.length > 1_000_000) counted.parsedBytes += text.length
    return parse(text, reviver)
  }
  t.teardown(() => {
    JSON.parse = parse
  })
  const post = async (payload: string, secret: string, remoteAddress: string, app: App = fixture.app) => {
    const headers = { 'content-type': 'application/json', 'x-hub-signature-256': sign(payload, secret) }
    return (await app.inject({ method: 'POST', url, headers, payload, remoteAddress })).statusCode
  }
  const times = async (count: number, payload: string, secret: string, address: string, app?: App) => {
    const statuses: Record<number, number> = {}
    for (let round = 0; round < count; round++) {
      const status = await post(payload, secret, address, app)
      statuses[status] = (statuses[status] ?? 0) + 1
    }
    return statuses
  }
  return { ...fixture, counted, post, times }
}

const measureCpu = async (action: () => Promise<unknown>): Promise<number> => {
  const before = process.cpuUsage()
  await action()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

/** Serves a route that does nothing but read a body and hash it once. */
const createReader = async (t: Test) => {
  const app = Fastify({ bodyLimit: maxBytes })
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, bytes, done) => done(null, bytes))
  app.post(url, async request => sign(request.body as Buffer, 'old'))
  await app.ready()
  t.teardown(() => app.close())
  return app
}

t.test('does not parse 60 forged webhooks of 3 MB, which cost little more than to read and to hash them', async t => {
  const { app, counted, times } = await createCountedFixture(t)
  const reader = await createReader(t)
  await times(60, normal, 'old', '192.0.2.1')
  for (const [address, name] of [
    ['192.0.2.1', 'known'],
    ['192.0.2.2', 'unknown'],
  ] as const) {
    const ratios: number[] = []
    // Compares short rounds, between which the speed of a busy machine changes little.
    for (let round = 0; round < 6; round++) {
      const read = await measureCpu(() => times(5, hostile, 'forged', address, reader))
      const forged = await measureCpu(() => times(5, hostile, 'forged', address, app))
      ratios.push(forged / read)
    }
    t.comment(`${name}: ${ratios.map(ratio => ratio.toFixed(2)).join(' ')}`)
    t.equal(counted.parsedBytes, 0, name)
    t.ok(median(ratios) < 5, `${name}: ${ratios}`)
  }
})

t.test('refuses a large request from an unknown address before its body is read; accepts a few', async t => {
  const { app, times, post } = await createCountedFixture(t)
  const large = `${normal.slice(0, -1)},"filling":"${'x'.repeat(100_000)}"}`
  t.strictSame(await times(30, large, 'old', '192.0.2.1'), { 200: 30 }, 'any number of correctly signed webhooks')
  t.strictSame(await times(40, large, 'forged', '192.0.2.2'), { 401: 20, 429: 20 })
  t.equal(await post(large, 'old', '192.0.2.3'), 429, 'the unknown addresses have used up their limit')
  t.equal(await post(normal, 'old', '192.0.2.3'), 200)
  t.equal(await post(large, 'old', '192.0.2.3'), 200, 'a small webhook made the address known')

  await app.listen({ port: 0, host: '127.0.0.1' })
  const readStatus = async (head: string) => {
    const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1')
    socket.write(`POST ${url} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n${head}\r\n\r\n`)
    const [response] = await once(socket, 'data')
    socket.destroy()
    return String(response).slice(9, 12)
  }
  const signature = `x-hub-signature-256: ${sign('', 'old')}`
  t.equal(await readStatus(`content-length: ${maxBytes}\r\n${signature}`), '429')
  t.equal(await readStatus(`transfer-encoding: chunked\r\n${signature}`), '429')
  t.equal(await readStatus(`content-length: ${maxBytes}`), '401', 'no signature at all')
  t.equal(await readStatus(`content-length: ${maxBytes + 1}\r\n${signature}`), '413')
})

t.test('limits unknown addresses; a known one that keeps forging costs at most a query every two seconds', async t => {
  const { app, counted, times, post } = await createCountedFixture(t, { strangersPerMinute: 60 })
  t.strictSame(await times(100, normal, 'forged', '192.0.2.2'), { 401: 60, 429: 40 })
  t.equal(await post(normal, 'old', '192.0.2.1'), 200)
  t.strictSame(await times(60, normal, 'forged', '192.0.2.1'), { 401: 60 })
  counted.lookups = 0
  const others = JSON.stringify(envelope({ statuses: [status({})] }, '101'))
  const started = performance.now()
  for (let round = 0; round < 100; round++) {
    t.equal(await post(round % 2 ? others : normal, 'forged', '192.0.2.1'), 429)
    if (round % 10 === 0) t.equal(await post(normal, 'old', '192.0.2.1'), 200, 'correctly signed webhooks are accepted')
  }
  // The signer is cached for two seconds.
  t.ok(counted.lookups <= 2 + (performance.now() - started) / 1000, `${counted.lookups} lookups`)
  const verify = (token: string, remoteAddress: string) =>
    app.inject({ url: `${url}?hub.mode=subscribe&hub.challenge=1&hub.verify_token=${token}`, remoteAddress })
  t.equal((await verify('verify-100', '192.0.2.1')).statusCode, 429, 'verify tokens are limited too')
  const statuses = []
  for (let round = 0; round < 70; round++) statuses.push((await verify('wrong', '192.0.2.4')).statusCode)
  t.strictSame([statuses.indexOf(429), statuses.lastIndexOf(403)], [60, 59])
  t.equal((await verify('verify-100', '192.0.2.5')).statusCode, 200)
})

t.test('reads a signed body with many template ids without a reviver', async t => {
  const { times } = await createCountedFixture(t)
  await times(3, normal, 'old', '192.0.2.1')
  const plain = hostile.replaceAll('message_template_id', 'message_template_xx')
  const harmless = await measureCpu(() => times(3, plain, 'old', '192.0.2.1'))
  const revived = await measureCpu(() => times(3, hostile, 'old', '192.0.2.1'))
  t.comment(`harmless ${harmless} ms, with ids ${revived} ms`)
  t.ok(revived < 4 * harmless + 50, `${revived} ms, harmless ${harmless} ms`)
})
