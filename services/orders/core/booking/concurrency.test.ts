import { setTimeout as delay } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { build } from '../../test/build.ts'
import { batch, order } from '../../test/tenant.ts'

interface ApiResponse {
  status: number
  body: { message: string; code?: string; data: string[]; errors: Record<string, string[]> }
}

/** Lists what a busy machine responds, and clients repeat: docs/merchants/errors.md. Nothing was changed. */
const repeated: readonly unknown[] = ['request_timeout', 'unavailable']

/** Starts the application on a port of its own, and sends requests as clients do. */
const listen = async (t: Test) => {
  const { app, rows, token } = await build(t)
  const address = await app.listen({ host: '127.0.0.1', port: 0 })
  const headers = { authorization: `Bearer ${token}`, 'x-tenant': 'demo', 'content-type': 'application/json' }
  const post = async (body: unknown): Promise<ApiResponse> => {
    const target = `${address}/api/public/merchant/order/bulk`
    for (let tries = 30; ; tries--) {
      const response = await fetch(target, { method: 'POST', headers, body: JSON.stringify(body) })
      const read = { status: response.status, body: (await response.json()) as ApiResponse['body'] }
      if (tries === 0 || !repeated.includes(read.body.code)) return read
      await delay(1000 * Number(response.headers.get('retry-after') ?? 1))
    }
  }
  return { post, rows }
}

const waybill = (number: number) => `DM${String(number).padStart(8, '0')}`

/** Builds 50 batches of 200 out of 1,000 waybills: each pair has the same ones in opposite orders; pairs overlap. */
const overlapping = Array.from({ length: 50 }, (_, round) => {
  const first = Math.floor(round / 2) * 77
  const waybills = Array.from({ length: 200 }, (_, index) => waybill(1000 + ((first + index * 3) % 1000)))
  return { name: `batch ${round}`, waybills: round % 2 ? waybills.reverse() : waybills }
})

t.test('when 50 batches at once share waybills, in opposite orders, each waybill gets one owner', async t => {
  const { post, rows } = await listen(t)
  const responses = await Promise.all(
    overlapping.map(async ({ name, waybills }) => {
      const orders = waybills.map(waybill_number => order({ waybill_number, order_no: name }))
      return { name, waybills, ...(await post(batch(orders))) }
    }),
  )
  const accepted = responses.filter(({ status }) => status === 200)
  const refused = responses.filter(({ status }) => status === 422)
  t.strictSame([...new Set(responses.map(({ status }) => status))].sort(), [200, 422])
  const owners = accepted.flatMap(({ name, waybills }) => waybills.map(waybill_number => ({ waybill_number, name })))
  owners.sort((a, b) => (a.waybill_number < b.waybill_number ? -1 : 1))
  t.equal(new Set(owners.map(({ waybill_number }) => waybill_number)).size, owners.length)
  t.strictSame(await rows('select waybill_number, order_no as name from orders order by 1'), owners)
  t.strictSame(
    await rows(
      'select waybill_number, min(status_key) as status_key, count(*)::int from order_events group by 1 order by 1',
    ),
    owners.map(({ waybill_number }) => ({ waybill_number, status_key: 'key_1', count: 1 })),
  )

  t.strictSame(
    accepted.map(({ body }) => body.data),
    accepted.map(({ waybills }) => waybills),
  )
  const owned = new Set(owners.map(({ waybill_number }) => waybill_number))
  t.strictSame(
    refused.map(({ waybills, body }) => findStrangeErrors(waybills, owned, body)),
    refused.map(() => []),
  )
})

/** Returns the errors of a refused batch, except those about waybills that another batch really has. */
const findStrangeErrors = (waybills: string[], owned: Set<string>, { errors }: ApiResponse['body']): unknown[] => {
  if (Object.keys(errors).length === 0) return ['no error']
  return Object.entries(errors).filter(([path, sentences]) => {
    const index = Number(/^order_data\.(\d+)\.waybill_number$/.exec(path)?.[1])
    const isTaken = sentences.join() === 'The waybill number has already been taken.'
    return !isTaken || !owned.has(waybills[index] ?? '')
  })
}

t.test('50 batches at once without waybills get 1,000 distinct numbers', async t => {
  const { post, rows } = await listen(t)
  const responses = await Promise.all(
    Array.from({ length: 50 }, (_, round) =>
      post(batch(Array.from({ length: 20 }, () => order({ order_no: `batch ${round}` })))),
    ),
  )
  t.strictSame([...new Set(responses.map(({ status }) => status))], [200])
  const given = responses.flatMap(({ body }, round) =>
    body.data.map(waybill_number => ({ waybill_number, name: `batch ${round}` })),
  )
  given.sort((a, b) => (a.waybill_number < b.waybill_number ? -1 : 1))
  t.equal(new Set(given.map(({ waybill_number }) => waybill_number)).size, 1000)
  t.strictSame(await rows('select waybill_number, order_no as name from orders order by 1'), given)
  t.strictSame(await rows('select count(*)::int from order_events'), [{ count: 1000 }])
})
