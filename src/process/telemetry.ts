import {
  type Attributes,
  type Context,
  context,
  ROOT_CONTEXT,
  type Span,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import { Counter, collectDefaultMetrics, Gauge, Histogram, type Metric, register } from 'prom-client'
import type { Config } from '../config/config.ts'

/** Names get the prefix `drover_`. Asking again for a name gives the metric that is there. */
export const counter = <Label extends string>(
  name: string,
  help: string,
  labelNames: readonly Label[] = [],
) => known<Counter<Label>>(name) ?? new Counter({ name: prefixed(name), help, labelNames })

export const gauge = <Label extends string>(name: string, help: string, labelNames: readonly Label[] = []) =>
  known<Gauge<Label>>(name) ?? new Gauge({ name: prefixed(name), help, labelNames })

/** Durations in seconds, as Prometheus wants them; the buckets reach from a bell's latency to a long copy. */
export const histogram = <Label extends string>(
  name: string,
  help: string,
  labelNames: readonly Label[] = [],
  buckets: readonly number[] = durationBuckets,
) =>
  known<Histogram<Label>>(name) ??
  new Histogram({ name: prefixed(name), help, labelNames, buckets: [...buckets] })

const durationBuckets = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300, 1_000, 3_600]

const prefixed = (name: string): string => `drover_${name}`

const known = <M extends Metric>(name: string): M | undefined =>
  register.getSingleMetric(prefixed(name)) as M | undefined

let defaultMetricsOn = false

/** Metrics of the process itself, labelled with its role. Once a process; a second call changes nothing. */
export const startProcessMetrics = (role: string): void => {
  if (defaultMetricsOn) return
  defaultMetricsOn = true
  register.setDefaultLabels({ role })
  collectDefaultMetrics({ register })
}

/** The text of /metrics and its content type. */
export const metricsText = async (): Promise<{ type: string; body: string }> => ({
  type: register.contentType,
  body: await register.metrics(),
})

/** Undefined while tracing is off: then nothing below does more than look at it. */
let tracer: Tracer | undefined

export interface Tracing {
  /** Sends what is still held, and stops. Never rejects, never takes longer than a few seconds. */
  stop(): Promise<void>
}

/** Turns tracing on when OTEL_EXPORTER_OTLP_ENDPOINT is set. The SDK is not even loaded otherwise. */
export const startTracing = async (
  config: Pick<Config, 'otlpEndpoint'> & Partial<Pick<Config, 'otlpHeaders'>>,
  role: string,
): Promise<Tracing> => {
  if (config.otlpEndpoint === undefined) return { stop: async () => {} }
  const [sdk, { OTLPTraceExporter }, { AsyncLocalStorageContextManager }, { resourceFromAttributes }] =
    await Promise.all([
      import('@opentelemetry/sdk-trace-base'),
      import('@opentelemetry/exporter-trace-otlp-http'),
      import('@opentelemetry/context-async-hooks'),
      import('@opentelemetry/resources'),
    ])
  const exporter = new OTLPTraceExporter({
    url: `${config.otlpEndpoint.replace(/\/+$/, '')}/v1/traces`,
    headers: { ...config.otlpHeaders },
    timeoutMillis: exportMs,
  })
  const provider = new sdk.BasicTracerProvider({
    resource: resourceFromAttributes({
      'service.name': `drover-${role}`,
      'service.namespace': 'drover',
      'service.instance.id': String(process.pid),
    }),
    spanProcessors: [new sdk.BatchSpanProcessor(exporter, { scheduledDelayMillis: 1_000 })],
  })
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  const mine = provider.getTracer('drover')
  tracer = mine
  return {
    stop: async () => {
      if (tracer === mine) tracer = undefined
      context.disable()
      // A collector that is away costs spans, never the shutdown of a role.
      await provider.shutdown().catch(() => {})
    },
  }
}

const exportMs = 3_000

/** Runs `fn` in a span, which ends with it and carries its error. Just runs it while tracing is off. */
export const withSpan = async <Value>(
  name: string,
  attributes: Attributes,
  fn: () => Promise<Value>,
): Promise<Value> => {
  if (!tracer) return await fn()
  return await tracer.startActiveSpan(name, { attributes }, async (span) => {
    try {
      return await fn()
    } catch (error) {
      markFailed(span, error)
      throw error
    } finally {
      span.end()
    }
  })
}

const markFailed = (span: Span, error: unknown): void => {
  const message = error instanceof Error ? error.message : String(error)
  span.setStatus({ code: SpanStatusCode.ERROR, message })
  if (error instanceof Error) span.recordException(error)
}

/** The W3C `traceparent` of the running span, to keep in a job row or to send along. */
export const currentTraceparent = (): string | undefined => {
  if (!tracer) return undefined
  const facts = trace.getSpanContext(context.active())
  if (!facts) return undefined
  return `00-${facts.traceId}-${facts.spanId}-${facts.traceFlags.toString(16).padStart(2, '0')}`
}

/**
 * Runs `fn` as a continuation of the trace that `traceparent` names: spans in it become its children, in
 * whatever process and however often the job was republished. A text that is no traceparent starts afresh.
 */
export const withRemoteParent = <Value>(traceparent: string | null | undefined, fn: () => Value): Value => {
  if (!tracer) return fn()
  return context.with(remoteContext(traceparent), fn)
}

const traceparentPattern = /^[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})/

const remoteContext = (traceparent: string | null | undefined): Context => {
  const match = traceparentPattern.exec(traceparent ?? '')
  if (!match || traceparent?.startsWith('ff')) return ROOT_CONTEXT
  const [, traceId = '', spanId = '', flags = '00'] = match
  return trace.setSpanContext(ROOT_CONTEXT, {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16) & 1,
    isRemote: true,
  })
}
