import { createServer } from 'node:http'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { listen } from '../dev/ports.ts'
import { root } from '../dev/settings.ts'
import { waitUntil } from './courier.ts'
import { order } from './journey.ts'
import { startStack } from './stack.ts'

interface Span {
  traceId: string
  spanId: string
  parentSpanId?: string
  name: string
  attributes: { key: string }[]
  service: string
}

/** Describes the body of an export, with only the fields that this test reads. */
interface Exported {
  resourceSpans: {
    resource: { attributes: { value: { stringValue: string } }[] }
    scopeSpans: { spans: Omit<Span, 'service'>[] }[]
  }[]
}

/** Starts a collector that receives OpenTelemetry's OTLP over HTTP, as JSON. */
const startCollector = async (t: Test) => {
  const spans: Span[] = []
  const server = createServer(async (request, response) => {
    const { resourceSpans } = (await json(request)) as Exported
    for (const { resource, scopeSpans } of request.url === '/v1/traces' ? resourceSpans : []) {
      const service = resource.attributes[0]?.value.stringValue ?? ''
      for (const { spans: found } of scopeSpans) for (const span of found) spans.push({ ...span, service })
    }
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
  })
  t.teardown(() => server.close())
  return { spans, url: `http://127.0.0.1:${await listen(server)}` }
}

/** Makes a process print each OpenTelemetry module that it loads, except the API, which prom-client always loads. */
const printing = `import { registerHooks } from 'node:module'
registerHooks({ load: (url, context, next) => {
  if (/@opentelemetry.(?!api)/.test(url)) console.log('loaded ' + url)
  return next(url, context)
} })`
const NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent(printing)}`

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
const callerId = '00f067aa0ba902b7'

/** Starts both services, books a batch that belongs to a trace, and waits until its customer has read the message. */
const bookTraced = async (t: Test, environment: Record<string, string>) => {
  const services = { ...environment, NODE_OPTIONS, LOG_LEVEL: 'debug' }
  const stack = await startStack(t, { orders: services, notifier: services })
  const { orders, notifier, admin } = stack
  await admin('orders', 'apply', join(root, 'examples/demo-tenant.json'))
  await admin('notifier', 'apply', join(root, 'examples/demo-notifier.json'))
  const words = ['token', 'create', '--tenant', 'demo', '--merchant', 'shop@example.com']
  const { token } = (await admin('orders', ...words)) as { token: string }
  const book = async (traceparent?: string) => {
    const general_data = { merchant_business_id: 7290, origin_city_id: 1511 }
    const response = await fetch(`${orders.url}/api/public/merchant/order/bulk`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'x-tenant': 'demo',
        'content-type': 'application/json',
        ...(traceparent && { traceparent }),
      },
      body: JSON.stringify({ general_data, order_data: [order] }),
    })
    t.equal(response.status, 200)
  }
  await book(`00-${traceId}-${callerId}-01`)
  const listEvents = (service: typeof orders, id = traceId) =>
    service.lines.flatMap(line => (line.includes(`"trace_id":"${id}"`) ? JSON.parse(line).msg : []))
  await waitUntil(
    'the customer has read the message',
    async () => listEvents(notifier),
    lines => lines.includes('message.read'),
  )
  return { ...stack, book, listEvents }
}

t.test('with a collector one trace leads from the batch to the webhook, without personal data', async t => {
  const { spans, url } = await startCollector(t)
  const { orders, notifier, book } = await bookTraced(t, { OTEL_EXPORTER_OTLP_ENDPOINT: url })
  await book()
  await book(`00-${traceId}-${callerId}-01, 00-${traceId}-${callerId}-01`)
  t.ok(orders.lines.some(line => line.startsWith('loaded ')))
  await Promise.all([orders, notifier].map(async service => t.equal(await service.stop('SIGTERM'), 0)))

  const own = spans.filter(span => span.traceId === traceId)
  const findName = (id: string | undefined) => own.find(({ spanId }) => spanId === id)?.name ?? id
  const steps = own.map(({ service, name, parentSpanId }) => `${findName(parentSpanId)} > ${service} ${name}`)
  t.strictSame(
    [...new Set(steps)].toSorted(),
    [
      `${callerId} > courier-orders POST /api/public/merchant/order/bulk`,
      'POST /api/public/merchant/order/bulk > courier-orders batch.write',
      'batch.write > courier-orders outbox.post',
      'outbox.post > courier-notifier POST /internal/events',
      'outbox.post > courier-notifier events.process',
      'events.process > courier-notifier message.send',
      'events.process > courier-notifier webhook.settle',
    ].toSorted(),
  )
  const begun = spans.filter(({ name, parentSpanId }) => name.endsWith('/order/bulk') && !parentSpanId)
  t.equal(begun.length, 2, 'without a valid traceparent a new trace begins')
  const attributes = new Set(spans.flatMap(span => span.attributes.map(({ key }) => key)))
  t.strictSame([...attributes], ['http.response.status_code'])
  t.notMatch(JSON.stringify(spans), /Nimali|0000177|health/)
})

t.test('without a collector a trace is passed on and logged, and no OpenTelemetry module is loaded', async t => {
  const { orders, notifier, listEvents } = await bookTraced(t, {})
  t.strictSame(listEvents(orders).toSorted(), ['batch.booked', 'request.completed'])
  // That the message was sent or delivered may arrive after that it was read, and is then no news.
  const events = new Set(['events.accepted', 'request.completed', 'message.accepted', 'message.read'])
  t.match(new Set(listEvents(notifier)), events)
  t.notOk([...orders.lines, ...notifier.lines].some(line => line.startsWith('loaded ')))
})
