import type { AddressInfo, Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { createChance } from '../../../../test/chance.ts'
import {
  type Arrived,
  accepted,
  type Behaviour,
  connect,
  credentials,
  message,
  respond,
  startServer,
} from '../../test/messaging-api-server.ts'
import type { MessagingApi } from './client.ts'

const rounds = 5
const requestsPerRound = 200

const readId = ({ line }: Arrived): string => line.split('/')[2] ?? ''

/** Kills connections at every moment: new, after the first bytes, before, within and after a response, idle. */
const createKiller = (random: () => number): Behaviour => {
  const kill = (socket: Socket): void => void (random() < 0.5 ? socket.destroy() : socket.resetAndDestroy())
  return {
    onConnect: socket => void (random() < 0.05 && kill(socket)),
    onBytes: socket => void (random() < 0.05 && kill(socket)),
    onRequest: request => {
      const { socket } = request
      if (random() < 0.1) return kill(socket)
      if (random() < 0.05)
        return void socket.write('HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{"messages"', () => kill(socket))
      respond(socket, 200, accepted(`wamid.${readId(request)}`))
      if (random() < 0.3) setTimeout(() => kill(socket), random() * 5)
    },
  }
}

const sendAll = (api: MessagingApi, ids: string[], random: () => number) =>
  Promise.all(
    ids.map(async id => {
      await sleep(random() * 150)
      return { id, got: await api.send(credentials, id, message) }
    }),
  )

/** Collects the outcomes of all rounds: on a busy machine, one round alone may not have every kind. */
const kinds = new Set<string>()

for (let seed = 1; seed <= rounds; seed++)
  t.test(
    `${requestsPerRound} requests on dying connections: only those that sent no byte are not_written (${seed})`,
    async t => {
      const random = createChance(seed)
      const { url, server, arrived, bytes } = await startServer(t, createKiller(random))
      const { port } = server.address() as AddressInfo
      const api = connect(t, url, { connections: 50, requestMilliseconds: 2_000 })
      const ids = Array.from({ length: requestsPerRound }, (_, index) => String(9_000_000 + index))
      const sends = sendAll(api, ids, random)
      // Meanwhile the server goes down four times, and another undici, fetch's own, makes requests.
      for (const _ of Array(4)) {
        await sleep(15)
        fetch(`${url}/v17.0/0/other`).catch(() => {})
        server.close()
        await sleep(15)
        server.listen(port, '127.0.0.1')
      }
      const results = await sends
      await sleep(50)

      const received = bytes()
      const counts = Object.groupBy(results, ({ got }) => got.kind)
      const find = (kind: keyof typeof counts) => (counts[kind] ?? []).map(({ id }) => id)
      t.strictSame(
        find('not_written').filter(id => received.includes(`/${id}/`)),
        [],
        'these were not written',
      )
      t.match(
        counts.accepted ?? [],
        find('accepted').map(id => ({ got: { providerMessageId: `wamid.${id}` } })),
      )
      t.strictSame(
        ids.filter(id => received.split(`/${id}/`).length > 2),
        [],
        'each arrived at most once',
      )
      for (const kind of Object.keys(counts)) kinds.add(kind)
      t.equal(results.length, requestsPerRound)
      t.comment(
        `${arrived.length} arrived whole`,
        Object.entries(counts).map(([kind, { length }]) => `${length} ${kind}`),
      )
    },
  )

t.test('every kind of outcome occurs', async t => {
  t.strictSame([...kinds].sort(), ['accepted', 'no_response', 'not_written'])
})
