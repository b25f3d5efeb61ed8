import { createServer } from 'node:http'
import { createServer as createTcpServer } from 'node:net'
import t, { type Test } from 'tap'
import type { Dispatcher } from 'undici'
import { listen } from '../../../../dev/ports.ts'
import { allCapabilities } from '../../test/build.ts'
import { waitUntil } from '../../test/receiver.ts'
import { webhooksFixture } from '../../test/webhooks-fixture.ts'
import { createAgent, findUrlProblem, isPublicAddress, type Resolve } from './addresses.ts'
import { createFeed } from './capability.ts'
import { sendOnce } from './post.ts'

/** Returns all capabilities; the feed finds addresses by `resolve`. */
const withResolver = (resolve: Resolve) => new Map([...allCapabilities, ['feed', createFeed(resolve)]])

const refusedAddresses = [
  ...['127.0.0.1', '127.255.255.254', '0.0.0.0', '0.1.2.3', '10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.1.1'],
  ...[
    '169.254.169.254',
    '100.64.0.1',
    '100.100.100.200',
    '192.0.0.192',
    '192.0.2.1',
    '198.18.0.1',
    '224.0.0.1',
    '240.0.0.1',
  ],
  ...[
    '255.255.255.255',
    '168.63.129.16',
    '::',
    '::1',
    '::127.0.0.1',
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '::ffff:10.0.0.1',
  ],
  ...[
    'fe80::1',
    'fc00::1',
    'fd00:ec2::254',
    'ff02::1',
    '64:ff9b::7f00:1',
    '2002:7f00:1::',
    '2001:db8::1',
    'fec0::1',
    '100::1',
  ],
  ...['64:ff9b:1::1', '::ffff:0:7f00:1', '2001::1', '5f00::1', '4000::1'],
]

t.test('only addresses of the internet are public', async t => {
  for (const address of refusedAddresses) t.notOk(isPublicAddress(address), address)
  for (const address of [
    '8.8.8.8',
    '1.1.1.1',
    '172.32.0.1',
    '2606:4700::1111',
    '2a00:1450:4001:81b::200e',
    '::ffff:8.8.8.8',
  ])
    t.ok(isPublicAddress(address), address)
})

t.test('refuses URLs of private networks in every spelling of an address', async t => {
  const hosts = [
    ...[
      'localhost',
      'LOCALHOST',
      'localhost.',
      'a.localhost',
      'intranet',
      'db.internal',
      'printer.local',
      'x.home.arpa',
    ],
    ...[
      '127.1',
      '0x7f.0.0.1',
      '0177.0.0.1',
      '2130706433',
      '0x7f000001',
      '%31%32%37.0.0.1',
      '１２７.0.0.1',
      '127.0.0.1.',
      '0',
    ],
    ...['[::1]', '[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '[0:0:0:0:0:0:0:1]', '[fe80::1]', '[::]', '[::127.0.0.1]'],
    ...['169.254.169.254', '[fd00:ec2::254]', 'metadata.google.internal', '10.1', '192.168.257', '3232235777'],
  ]
  for (const host of hosts) t.ok(findUrlProblem(`https://${host}/hook`, false), host)
  const others = [
    'http://shop.example/',
    'ftp://shop.example/',
    'https://user@shop.example/',
    'https://a:b@shop.example/',
    'shop',
    '',
  ]
  for (const url of others) t.ok(findUrlProblem(url, false), url)
  for (const url of ['https://shop.example/hook?key=1', 'https://8.8.8.8:8443/', 'https://[2606:4700::1111]/'])
    t.equal(findUrlProblem(url, false), undefined, url)
})

/** Starts a server on loopback that counts connections. */
const startServer = async (t: Test) => {
  const state = { connections: 0, port: 0 }
  const server = createTcpServer(socket => {
    state.connections++
    socket.destroy()
  })
  state.port = await listen(server)
  t.teardown(() => server.close())
  return state
}

const message = { secrets: [], messageId: 'ping.1', body: '{}' }
const toOptions = (dispatcher: Dispatcher) => ({
  ...{ dispatcher, allowsPrivate: true, clock: async () => new Date(), signal: new AbortController().signal },
})
const send = async (t: Test, url: string, resolve: Resolve) => {
  const agent = createAgent(resolve)
  t.teardown(() => agent.destroy())
  return sendOnce(toOptions(agent), { ...message, url })
}

t.test('refuses a connection to a name with a private address, even if its other addresses are public', async t => {
  const server = await startServer(t)
  for (const address of refusedAddresses) {
    const family = address.includes(':') ? 6 : 4
    const addresses = [
      { address: '8.8.8.8', family: 4 },
      { address, family },
    ]
    const { code, error } = await send(t, `http://shop.example:${server.port}/`, async () => addresses)
    t.strictSame([code, error], [null, 'the address must not lead to a private network'], address)
  }
  t.equal(server.connections, 0)
})

t.test('refuses a name that is public at registration but private at connection', async t => {
  const server = await startServer(t)
  let address = '93.184.215.14'
  const resolve: Resolve = async () => [{ address, family: 4 }]
  const { sender, call, book, deliveries } = await webhooksFixture(t, {
    allowsPrivate: false,
    capabilities: withResolver(resolve),
  })
  const url = `https://shop.example:${server.port}/`
  const { status, body } = await call('POST', '', { url })
  t.equal(status, 201)
  address = '127.0.0.1'
  const refused = await call('POST', '', { url })
  t.strictSame([refused.status, refused.body.errors], [422, { url: ['The url must not lead to a private network.'] }])
  t.equal((await call('PATCH', `/${body.data.id}`, { url })).status, 422)
  const ping = await call('POST', `/${body.data.id}/ping`)
  t.match(ping.body.data, { code: null, error: 'the address must not lead to a private network' })
  await book(1)
  sender.start()
  await waitUntil('the event is tried', async () => (await deliveries(body.data.id))[0]?.attempts === 1)
  t.match((await deliveries(body.data.id))[0], {
    state: 'pending',
    error: 'the address must not lead to a private network',
  })
  t.equal(server.connections, 0)
})

t.test('https and public addresses are required, except in development', async t => {
  const { call } = await webhooksFixture(t, {
    allowsPrivate: false,
    capabilities: withResolver(async () => []),
  })
  const readErrors = async (url: string) => (await call('POST', '', { url })).body.errors?.url
  t.strictSame(await readErrors('http://shop.example/'), ['The url must begin with https://.'])
  t.strictSame(await readErrors('https://169.254.169.254/latest'), ['The url must not lead to a private network.'])
  t.strictSame(await readErrors('https://me:pass@shop.example/'), ['The url must not have a user name or password.'])
  t.strictSame(await readErrors('https://'), ['The url is not a URL.'])
  t.equal(await readErrors('https://not-there-yet.example/'), undefined, 'a name without an address may get one')
})

t.test('follows no redirect into a private network', async t => {
  const inside = await startServer(t)
  const server = createServer((_, response) =>
    response.writeHead(307, { location: `http://127.0.0.1:${inside.port}/` }).end(),
  )
  const url = `http://127.0.0.1:${await listen(server)}/`
  t.teardown(() => server.close())
  const agent = createAgent(undefined)
  t.teardown(() => agent.destroy())
  t.match(await sendOnce(toOptions(agent), { ...message, url }), { code: 307, error: null })
  t.equal(inside.connections, 0)
})
