import { pino } from 'pino'
import t from 'tap'
import { createTracer } from './otlp.ts'
import { inSpans, readTraceId, readTraceparent, type Tracer } from './traces.ts'

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
const valid = `00-${traceId}-00f067aa0ba902b7-01`

t.test('a traceparent is read as the standard says, and ignored when it is invalid', async t => {
  t.equal(readTraceparent(valid), valid)
  t.equal(readTraceparent(valid.replace(/^00/, 'cc')), valid, 'a later version is read as far as it is known')
  const invalid = [
    undefined,
    '',
    [valid],
    `${valid}-x`,
    ` ${valid}`.slice(0, 55),
    `${valid}, ${valid}`,
    valid.toUpperCase(),
    valid.replace(/^00/, 'ff'),
    valid.replace(traceId, '0'.repeat(32)),
    valid.replace('00f067aa0ba902b7', '0'.repeat(16)),
    valid.replaceAll('-', '_'),
    valid.replace('b', 'g'),
  ]
  for (const header of invalid) t.equal(readTraceparent(header), undefined, JSON.stringify(header))
  t.strictSame([readTraceId(valid), readTraceId(null)], [{ trace_id: traceId }, {}])
})

t.test('items of several traces get a span in each, and without a tracer they stay as they are', async t => {
  const ended: string[] = []
  const tracer: Tracer = {
    start: (name, kind, parent) => ({
      traceparent: `in ${parent}`,
      end: isFailed => void ended.push(`${name} ${kind} ${parent} ${isFailed}`),
    }),
    close: async () => {},
  }
  const items = ['a', 'b', 'a', undefined].map(traceparent => ({ traceparent }))
  const traceparents = async (given: typeof items | readonly { traceparent: string | undefined }[]) =>
    given.map(({ traceparent }) => traceparent)
  t.strictSame(await inSpans(tracer, 's', 'client', items, traceparents), ['in a', 'in b', 'in a', undefined])
  t.strictSame(ended, ['s client a false', 's client b false'])
  await t.rejects(inSpans(tracer, 's', 'client', items.slice(1, 2), () => Promise.reject(new Error('no'))))
  t.equal(ended.at(-1), 's client b true')
  t.strictSame(await inSpans(undefined, 's', 'client', items, traceparents), ['a', 'b', 'a', undefined])
  t.equal(
    await inSpans(tracer, 's', 'client', [{}], async ([item]) => item && ended.length),
    3,
    'no span without a trace',
  )
})

t.test('an unavailable collector is logged without its address, and does not delay shutdown', async t => {
  const log: string[] = []
  const logger = pino({}, { write: line => void log.push(line) })
  const tracer = createTracer('orders', 'http://user:secret@127.0.0.1:1', logger)
  const span = tracer.start('batch.write', 'internal', valid)
  t.match(span.traceparent, new RegExp(`^00-${traceId}-[0-9a-f]{16}-01$`))
  t.not(span.traceparent, valid)
  t.match(tracer.start('batch.write', 'internal', valid.replace(/01$/, '00')).traceparent, /-00$/, 'not recorded')
  span.end()
  await tracer.close()
  t.match(log.join(), /traces.export_failed/)
  t.notMatch(log.join(), /secret/)
})
