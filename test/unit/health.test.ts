import { createServer } from 'node:http'
import { expect, test } from 'vitest'
import { type Readiness, serveHealth } from '../../src/process/health.ts'
import { createLog } from '../../src/process/log.ts'
import { counter } from '../../src/process/telemetry.ts'
import { atEnd } from '../support/cleanup.ts'

const log = createLog({ role: 'test', level: 'silent' })

const serve = async (ready: () => Promise<Readiness>): Promise<string> => {
  const health = await serveHealth({ role: 'worker', host: '127.0.0.1', port: 0, ready, log })
  atEnd(() => health.close())
  return `http://127.0.0.1:${health.port}`
}

test('a role is alive although it is not ready, and says why it is not', async () => {
  const address = await serve(async () => ({ ready: false, reasons: ['Postgres is away.'] }))
  expect((await fetch(`${address}/healthz`)).status).toBe(200)
  const answer = await fetch(`${address}/readyz`)
  expect(answer.status).toBe(503)
  expect(await answer.json()).toEqual({ role: 'worker', ready: false, reasons: ['Postgres is away.'] })
})

test('a role that can work is ready', async () => {
  const address = await serve(async () => ({ ready: true, reasons: [] }))
  expect((await fetch(`${address}/readyz?verbose=1`)).status).toBe(200)
})

test('a check that throws or hangs is a no, never a hang', async () => {
  const throws = await serve(async () => {
    throw new Error('no route to host')
  })
  expect(await (await fetch(`${throws}/readyz`)).text()).toContain('no route to host')
  const hangs = await serve(() => new Promise(() => {}))
  const answer = await fetch(`${hangs}/readyz`, { signal: AbortSignal.timeout(10_000) })
  expect(answer.status).toBe(503)
  expect(await answer.text()).toContain('did not end')
})

test('metrics of the process and of ours are served together', async () => {
  const address = await serve(async () => ({ ready: true, reasons: [] }))
  const tries = counter('health_test_tries_total', 'Only for this test.', ['kind'])
  expect(counter('health_test_tries_total', 'Only for this test.', ['kind'])).toBe(tries)
  tries.inc({ kind: 'plan-batch' }, 3)
  const answer = await fetch(`${address}/metrics`)
  const text = await answer.text()
  expect(answer.headers.get('content-type')).toContain('text/plain')
  expect(text).toContain('drover_health_test_tries_total{kind="plan-batch",role="worker"} 3')
  expect(text).toContain('process_cpu_seconds_total')
})

test('another path and another verb are refused, a HEAD is not', async () => {
  const address = await serve(async () => ({ ready: true, reasons: [] }))
  expect((await fetch(`${address}/nothing`)).status).toBe(404)
  const post = await fetch(`${address}/healthz`, { method: 'POST' })
  expect([post.status, post.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
  const head = await fetch(`${address}/healthz`, { method: 'HEAD' })
  expect([head.status, await head.text()]).toEqual([200, ''])
})

test('a port that another program uses is a mistake with a name', async () => {
  const other = createServer()
  await new Promise<void>((resolve) => {
    other.listen(0, '127.0.0.1', resolve)
  })
  atEnd(() => other.close())
  const { port } = other.address() as { port: number }
  const started = serveHealth({
    role: 'worker',
    host: '127.0.0.1',
    port,
    ready: async () => ({ ready: true, reasons: [] }),
    log,
  })
  await expect(started).rejects.toMatchObject({ class: 'config', field: 'DROVER_HEALTH_PORT' })
})
