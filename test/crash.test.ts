import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import t, { type Test } from 'tap'
import { root } from '../dev/settings.ts'
import { chanceOf } from './chance.ts'
import { call, eventually } from './courier.ts'
import { type Stack, startStack } from './stack.ts'

t.setTimeout(900_000)

const rounds = 100
const ordersPerBatch = 5
const seed = 20_261_121

/** The demo tenant, whose number may send faster than any test needs. */
const applyDemo = async (t: Test, { admin }: Stack) => {
  await admin('orders', 'apply', join(root, 'examples/demo-tenant.json'))
  const file = JSON.parse(await readFile(join(root, 'examples/demo-notifier.json'), 'utf8'))
  file.channels[0].messages_per_second = 1000
  const path = join(t.testdir(), 'notifier.json')
  await writeFile(path, JSON.stringify(file))
  await admin('notifier', 'apply', path)
  const words = ['token', 'create', '--tenant', 'demo']
  const merchant = (await admin('orders', ...words, '--merchant', 'shop@example.com')) as { token: string }
  const staff = (await admin('orders', ...words, '--staff', 'Ruwan')) as { token: string }
  return { merchant: merchant.token, staff: staff.token }
}

/** Repeats a call with its key until it is answered, as a merchant's program does. */
const insist = async (url: string, token: string, key: string, body: unknown): Promise<string[]> => {
  for (let tries = 0; tries < 600; tries++) {
    const answer = await call(url, { token, key, body }).catch(() => undefined)
    if (answer?.status === 200) return answer.body.data
    if (answer && ![409, 429, 500, 503].includes(answer.status)) throw new Error(JSON.stringify(answer))
    await delay(50)
  }
  throw new Error(`no answer to ${key}`)
}

let phones = 1_000_000
const newBatch = () => ({
  general_data: { merchant_business_id: 7290, origin_city_id: 1511 },
  order_data: Array.from({ length: ordersPerBatch }, () => ({
    customer_name: 'Nimali Perera',
    customer_address: '24/3 Temple Road',
    customer_phone: `077${phones++}`,
    destination_city_id: '1525',
    cod: 4950,
    weight: 0.9,
    initial_status_key: 'key_2',
  })),
})

/** A merchant and a member of staff who work until they are told to stop: books batches, cancels every second one. */
const keepBusy = (stack: Stack, tokens: { merchant: string; staff: string }) => {
  const booked: string[][] = []
  const cancelled: string[][] = []
  let isOver = false
  const work = async (worker: number): Promise<void> => {
    for (let turn = 0; !isOver; turn++) {
      const api = stack.orders.url
      const name = `${worker} ${turn}`
      const body = newBatch()
      const waybills = await insist(`${api}/api/public/merchant/order/bulk`, tokens.merchant, `book ${name}`, body)
      booked.push(waybills)
      if (turn % 2 === 0) {
        const move = { waybill_numbers: waybills, status_key: 'key_3' }
        await insist(`${api}/api/staff/order/status`, tokens.staff, `cancel ${name}`, move)
        cancelled.push(waybills)
      }
      await delay(400)
    }
  }
  const working = Promise.all([work(0), work(1)])
  return {
    finish: async () => {
      isOver = true
      await working
      return { booked: booked.flat(), cancelled: cancelled.flat() }
    },
  }
}

/** Rows as the superuser sees them: of all tenants. */
const rowsOf = async (database: string, text: string) => {
  const url = new URL(process.env.TEST_POSTGRES_URL ?? '')
  url.pathname = new URL(database).pathname
  const client = new pg.Client({ connectionString: url.href })
  await client.connect()
  try {
    return (await client.query(text)).rows
  } finally {
    await client.end()
  }
}

const settledStatuses = ['sent', 'delivered', 'read', 'unknown']

t.test(`kill -9 of either service, ${rounds} times: no order lost, each event's message once or in doubt`, async t => {
  t.setTimeout(900_000)
  const stack = await startStack(t, {
    notifier: { RECIPIENT_PAUSE_SECONDS: '0' },
    simulator: { SIMULATOR_THROUGHPUT_PER_SECOND: '0', SIMULATOR_MAGIC_RECIPIENTS: 'false' },
  })
  const busy = keepBusy(stack, await applyDemo(t, stack))
  const chance = chanceOf(seed)
  for (let round = 1; round <= rounds; round++) {
    await delay(chance() * 700)
    const victim = chance() < 0.5 ? stack.orders : stack.notifier
    await victim.stop('SIGKILL')
    victim.start()
    // Some die again before they are ready.
    if (chance() < 0.8) await victim.ready()
    if (round % 20 === 0) t.comment(`round ${round} of ${rounds}`)
  }
  await Promise.all([stack.orders.ready(), stack.notifier.ready()])
  const { booked, cancelled } = await busy.finish()
  t.comment(`${booked.length} orders acknowledged, ${cancelled.length} of them cancelled`)
  t.ok(booked.length > rounds, 'there was work to lose')

  const statuses = await rowsOf(stack.databases.orders.url, 'select waybill_number, status_key from orders')
  const statusOf = new Map(statuses.map(row => [row.waybill_number, row.status_key]))
  t.equal(statusOf.size, new Set(booked).size, 'what is stored is what was acknowledged')
  t.strictSame(
    booked.filter(waybill => !statusOf.has(waybill)),
    [],
    'no acknowledged order is missing',
  )
  t.strictSame(
    cancelled.filter(waybill => statusOf.get(waybill) !== 'key_3'),
    [],
    'no acknowledged move is missing',
  )

  const outbox = () => rowsOf(stack.databases.orders.url, 'select count(*)::int as depth from outbox')
  await eventually('the outbox is empty', outbox, ([row]) => row.depth === 0, 120)
  const look = () =>
    rowsOf(
      stack.databases.notifier.url,
      `select waybill_number, template ->> 'name' as template, status, message_id from messages`,
    )
  const isSettled = (rows: { status: string }[]) => rows.every(({ status }) => settledStatuses.includes(status))
  const messages = await eventually('every message left', look, isSettled, 120)

  const expected = [
    ...booked.map(waybill => `${waybill} order_created`),
    ...cancelled.map(waybill => `${waybill} order_cancelled`),
  ]
  const queued = messages.map(({ waybill_number, template }) => `${waybill_number} ${template}`)
  t.strictSame(queued.toSorted(), expected.toSorted(), 'each event caused its message, once')

  const { body } = await call(`${stack.simulator.url}/control/messages?limit=50000`)
  const arrivals = Map.groupBy(
    body.data as { biz_opaque_callback_data: string }[],
    message => message.biz_opaque_callback_data,
  )
  const wrong = messages.filter(({ message_id, status }) => {
    const count = arrivals.get(message_id)?.length ?? 0
    return count > 1 || (count === 0 && status !== 'unknown')
  })
  const inDoubt = messages.filter(({ status }) => status === 'unknown').length
  t.comment(`${messages.length} messages, ${inDoubt} of them unknown`)
  t.strictSame(wrong, [], 'each message reached its customer once; none is in doubt that we call sent')
})
