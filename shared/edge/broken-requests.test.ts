import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { buildServer } from '../test/server.ts'
import { acceptJson } from './json-body.ts'

/** Starts a server that handles each request for `milliseconds`, counts them, and soon gives up on slow ones. */
const start = async (t: Test, milliseconds = 0) => {
  const app = await buildServer(t)
  let handled = 0
  await app.register(async json => {
    acceptJson(json)
    json.post('/order', async () => {
      handled++
      await delay(milliseconds)
      return { data: handled }
    })
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
  Object.assign(app.server, { headersTimeout: 100, requestTimeout: 200 })
  const socket = connect({ port: (app.server.address() as AddressInfo).port, host: '127.0.0.1', allowHalfOpen: true })
  t.teardown(() => socket.destroy())
  return { socket, received: text(socket), handled: () => handled }
}

const findStatuses = (received: string): string[] => received.match(/(?<=HTTP\/1\.1 )\d+/g) ?? []

const head = 'POST /order HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 8\r\n\r\n'

for (const [what, sent, rest] of [
  ['head', head.slice(0, 40), `${head.slice(40)}{"a": 1}`],
  ['body', `${head}{"a"`, ': 1}'],
] as const)
  t.test(`the rest of a ${what} that came too slowly is not handled`, async t => {
    const { socket, received, handled } = await start(t)
    socket.write(sent)
    await once(socket, 'readable')
    socket.end(rest)
    t.match(findStatuses(await received), ['408'])
    await delay(100)
    t.equal(handled(), 0, 'the response says that nothing was changed')
  })

for (const [what, more] of [
  ['is not HTTP', 'such bytes\r\n\r\n'],
  ['never ends', head.slice(0, 40)],
  ['has a body that never ends', `${head}{"a"`],
] as const)
  t.test(`a second request that ${what} does not take the response of the first`, async t => {
    const { socket, received, handled } = await start(t, 1_200)
    socket.write(`${head}{"a": 1}${more}`)
    const all = await received
    t.equal(findStatuses(all)[0], '200')
    t.match(all, /^connection: close/im)
    t.equal(handled(), 1)
  })
