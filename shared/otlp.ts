import { DiagLogLevel, diag, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { AlwaysOnSampler, BatchSpanProcessor, ParentBasedSampler, TracerProvider } from '@opentelemetry/sdk-trace'
import type { Logger } from 'pino'
import type { Tracer } from './traces.ts'

/** Limits the time of an export, so that it ends within the shutdown of a service even if the collector is silent. */
const exportMilliseconds = 2_000

/**
 * Sends spans to a collector by OTLP over HTTP, as JSON. The sender of a request decides whether its trace is recorded.
 */
export const createTracer = (service: string, endpoint: string, logger: Logger): Tracer => {
  const ignore = (): void => {}
  // Logs no message: it may quote the collector's response.
  const warn = (): void => logger.warn('traces.export_failed')
  diag.setLogger({ error: warn, warn, info: ignore, debug: ignore, verbose: ignore }, DiagLogLevel.WARN)
  const exporter = new OTLPTraceExporter({
    url: `${endpoint.replace(/\/$/, '')}/v1/traces`,
    timeoutMillis: exportMilliseconds,
  })
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ 'service.name': `courier-${service}` }),
    sampler: new ParentBasedSampler({ root: new AlwaysOnSampler() }),
    spanProcessors: [new BatchSpanProcessor({ exporter, exportTimeoutMillis: exportMilliseconds })],
  })
  const tracer = provider.getTracer('courier')
  return {
    start: (name, kind, parent) => {
      const spanKind = SpanKind[kind.toUpperCase() as Uppercase<typeof kind>]
      const span = tracer.startSpan(name, { kind: spanKind }, readContext(parent))
      const { traceId, spanId, traceFlags } = span.spanContext()
      return {
        traceparent: `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`,
        end: (isFailed = false, attributes = {}) => {
          span.setAttributes(attributes)
          if (isFailed) span.setStatus({ code: SpanStatusCode.ERROR })
          span.end()
        },
      }
    },
    close: () => provider.shutdown().catch(warn),
  }
}

const readContext = (traceparent: string | undefined) => {
  if (traceparent === undefined) return ROOT_CONTEXT
  const [, traceId = '', spanId = '', flags = ''] = traceparent.split('-')
  return trace.setSpanContext(ROOT_CONTEXT, {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16),
    isRemote: true,
  })
}
