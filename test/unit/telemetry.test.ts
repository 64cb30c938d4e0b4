import { createServer } from 'node:http'
import { context, trace } from '@opentelemetry/api'
import { expect, test } from 'vitest'
import { currentTraceparent, startTracing, withRemoteParent, withSpan } from '../../src/process/telemetry.ts'
import { atEnd } from '../support/cleanup.ts'

interface ExportedSpan {
  readonly name: string
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly status?: { code?: number; message?: string }
  readonly attributes: { key: string; value: Record<string, unknown> }[]
}

interface Exported {
  readonly resourceSpans: {
    readonly resource: { attributes: { key: string; value: { stringValue?: string } }[] }
    readonly scopeSpans: { readonly spans: ExportedSpan[] }[]
  }[]
}

/** A collector that keeps what it is sent. */
const startCollector = async () => {
  const spans: ExportedSpan[] = []
  const services = new Set<string | undefined>()
  const paths = new Set<string | undefined>()
  const server = createServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => {
      paths.add(request.url)
      const body = JSON.parse(Buffer.concat(parts).toString()) as Exported
      for (const resource of body.resourceSpans) {
        services.add(resource.resource.attributes.find((a) => a.key === 'service.name')?.value.stringValue)
        for (const scope of resource.scopeSpans) spans.push(...scope.spans)
      }
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
    })
  })
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  atEnd(() => server.close())
  const { port } = server.address() as { port: number }
  return { endpoint: `http://127.0.0.1:${port}`, spans, services, paths }
}

test('with tracing off a span is only the call itself', async () => {
  const tracing = await startTracing({ otlpEndpoint: undefined }, 'worker')
  expect(await withSpan('job', {}, async () => currentTraceparent())).toBeUndefined()
  expect(withRemoteParent('00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', () => 7)).toBe(7)
  expect(trace.getSpan(context.active())).toBeUndefined()
  await tracing.stop()
})

test('a trace goes on from the text in a job row, in whatever process and after a republish', async () => {
  const collector = await startCollector()
  const api = await startTracing({ otlpEndpoint: `${collector.endpoint}/` }, 'api')
  const kept = await withSpan('POST /v1/jobs', { 'job.kind': 'plan-batch' }, async () => currentTraceparent())
  await api.stop()
  expect(kept).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/)

  const worker = await startTracing({ otlpEndpoint: collector.endpoint }, 'worker')
  for (const name of ['first try', 'second try']) {
    await withRemoteParent(kept, () =>
      withSpan(name, {}, async () => {
        await new Promise((resolve) => setImmediate(resolve))
        await withSpan(`${name}: copy`, {}, async () => {})
      }),
    )
  }
  await worker.stop()

  const named = (name: string) => collector.spans.find((span) => span.name === name)
  const request = named('POST /v1/jobs')
  expect(new Set(collector.spans.map((span) => span.traceId))).toEqual(new Set([kept?.split('-')[1]]))
  for (const name of ['first try', 'second try']) {
    expect(named(name)?.parentSpanId).toBe(request?.spanId)
    expect(named(`${name}: copy`)?.parentSpanId).toBe(named(name)?.spanId)
  }
  expect(request?.attributes).toContainEqual({ key: 'job.kind', value: { stringValue: 'plan-batch' } })
  expect(collector.services).toEqual(new Set(['drover-api', 'drover-worker']))
  expect(collector.paths).toEqual(new Set(['/v1/traces']))
})

test('a failing span carries its error and throws it on', async () => {
  const collector = await startCollector()
  const tracing = await startTracing({ otlpEndpoint: collector.endpoint }, 'worker')
  const failing = withSpan('copy', {}, async () => {
    throw new Error('disk full')
  })
  await expect(failing).rejects.toThrow('disk full')
  await tracing.stop()
  expect(collector.spans[0]?.status).toMatchObject({ code: 2, message: 'disk full' })
})

test('a text that is no traceparent begins a trace of its own', async () => {
  const collector = await startCollector()
  const tracing = await startTracing({ otlpEndpoint: collector.endpoint }, 'worker')
  const texts = [undefined, null, '', 'nonsense', `00-${'0'.repeat(32)}-b7ad6b7169203331-01`]
  for (const text of texts) await withRemoteParent(text, () => withSpan('job', {}, async () => {}))
  await tracing.stop()
  expect(collector.spans).toHaveLength(texts.length)
  expect(collector.spans.every((span) => !span.parentSpanId)).toBe(true)
})

test('a collector that is away delays no shutdown', async () => {
  const tracing = await startTracing({ otlpEndpoint: 'http://127.0.0.1:9' }, 'worker')
  await withSpan('job', {}, async () => {})
  const began = performance.now()
  await tracing.stop()
  expect(performance.now() - began).toBeLessThan(8_000)
})
