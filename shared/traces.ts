/**
 * Matches the form of a `traceparent` that is read and sent (https://www.w3.org/TR/trace-context/#traceparent-header).
 * `tracestate` is dropped.
 */
export const traceparentPattern = '^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$'
export const traceparentLength = 55

const form = new RegExp(traceparentPattern)

/** Returns the header in the form of version 00; undefined if it is missing or invalid. */
export const readTraceparent = (header: unknown): string | undefined =>
  typeof header === 'string' && header.length === traceparentLength && form.test(header)
    ? `00${header.slice(2)}`
    : undefined

/** Returns the fields of a log line; empty without a trace. */
export const readTraceId = (traceparent: string | null | undefined): { trace_id?: string } =>
  traceparent ? { trace_id: traceparent.slice(3, 35) } : {}

type SpanKind = 'server' | 'internal' | 'producer' | 'consumer' | 'client'

/** Holds our own numbers and names, never text from callers. */
type SpanAttributes = Record<string, string | number>

export interface Span {
  /** Identifies the trace for everything that happens in the span. */
  readonly traceparent: string
  end(isFailed?: boolean, attributes?: SpanAttributes): void
}

/** Records spans. Without a tracer nothing is recorded, and a request's own `traceparent` is passed on. */
export interface Tracer {
  /** Starts a span, which begins a trace if it has no parent. */
  start(name: string, kind: SpanKind, parent?: string): Span
  close(): Promise<void>
}

interface Traced {
  readonly traceparent?: string | null | undefined
}

/** Runs `run` in a span of each trace that the items belong to; `run` gets the items as part of those spans. */
export const inSpans = async <Item extends Traced, Result>(
  tracer: Tracer | undefined,
  name: string,
  kind: SpanKind,
  items: readonly Item[],
  run: (items: readonly Item[]) => Promise<Result>,
): Promise<Result> => {
  if (!tracer || !items.some(({ traceparent }) => traceparent)) return run(items)
  const parents = new Set(items.flatMap(({ traceparent }) => traceparent ?? []))
  const spans = new Map([...parents].map(parent => [parent, tracer.start(name, kind, parent)]))
  const moved = items.map(item => {
    const span = spans.get(item.traceparent ?? '')
    return span ? { ...item, traceparent: span.traceparent } : item
  })
  let isFailed = true
  try {
    const result = await run(moved)
    isFailed = false
    return result
  } finally {
    for (const span of spans.values()) span.end(isFailed)
  }
}
