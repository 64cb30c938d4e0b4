import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { repositoryRoot } from '../support/processes.ts'
import { freePort, makeTempDir } from '../support/temp.ts'
import { until } from '../support/wait.ts'
import { type Engine, say, startEngine } from './stand-ins/engine.ts'
import { Fleet, HealthChecks } from './stand-ins/fleet.ts'
import { buildImage, makeStandIns } from './stand-ins/images.ts'

const run = promisify(execFile)
const image = 'localhost/drover-container-test:1'
const project = `drover-test-${process.pid}`

interface SelfTest {
  readonly lane: string
  readonly jobs: number
  readonly ended: number
  readonly counts: Record<string, number>
  readonly done: boolean
}

/** Image names as our two files have them, in the long form that podman keeps. */
const pulledImages = () => {
  const text = (name: string) => readFileSync(join(repositoryRoot, name), 'utf8')
  const compose = parse(text('docker-compose.yml'), { merge: true }) as {
    services: Record<string, { image: string }>
  }
  const node = text('Dockerfile').match(/^ARG NODE_IMAGE=(\S+)$/m)?.[1] ?? ''
  const byDefault = (name: string) => compose.services[name]?.image.match(/:-(.+)\}$/)?.[1] ?? ''
  const long = (name: string) => `docker.io/library/${name}`
  return { node, postgres: long(byDefault('postgres')), redis: long(byDefault('redis')) }
}

describe('the compose file on a real container engine, on stand-in base images', () => {
  let dir: string
  let engine: Engine
  let fleet: Fleet
  let checks: HealthChecks
  let address: string

  const api = async <Answer>(path: string, init: RequestInit = {}): Promise<Answer> => {
    const token = readFileSync(join(dir, 'admin_token'), 'utf8').trim()
    const headers = {
      Authorization: `Bearer ${token}`,
      'Content-Type': 'application/json',
      'Idempotency-Key': crypto.randomUUID(),
    }
    const response = await fetch(`${address}${path}`, {
      headers,
      signal: AbortSignal.timeout(10_000),
      ...init,
    })
    if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`)
    return (await response.json()) as Answer
  }

  const startJobs = (body: Record<string, number>) =>
    api<{ lane: string }>('/v1/self-tests', { method: 'POST', body: JSON.stringify(body) })

  const progress = (lane: string) => api<SelfTest>(`/v1/self-tests/${encodeURIComponent(lane)}`)

  const ready = () =>
    until(async () => (await fetch(`${address}/readyz`, { signal: AbortSignal.timeout(5_000) })).ok, {
      what: 'the API to say that work can flow',
      withinMs: 120_000,
      everyMs: 250,
    })

  /** All of them ended, and as they were meant to. */
  const allEnded = async (lane: string, expected: { succeeded: number; failed: number }) => {
    const last = await until(
      async () => {
        const now = await progress(lane)
        return now.done ? now : undefined
      },
      { what: `every job of ${lane} to end`, withinMs: 180_000, everyMs: 250 },
    ).catch(async (error: Error) => {
      throw new Error(`${error.message}\n${JSON.stringify(await progress(lane))}\n${await fleet.logs()}`)
    })
    expect(last.counts).toMatchObject(expected)
  }

  const only = async (service: string): Promise<string> => {
    const [name, ...others] = await fleet.containers(service)
    expect(others).toEqual([])
    return name ?? ''
  }

  beforeAll(async () => {
    dir = await makeTempDir('containers')
    await run(process.execPath, ['src/cli/make-secrets.mjs', dir], { cwd: repositoryRoot })
    const began = performance.now()
    engine = await startEngine()
    await makeStandIns(engine, pulledImages())
    await buildImage(engine, image)
    say(`the image was built after ${Math.round((performance.now() - began) / 1000)} s`)
    const port = await freePort()
    address = `http://127.0.0.1:${port}`
    const settings = { DROVER_SECRETS: dir, DROVER_IMAGE: image, DROVER_PUBLISH: `127.0.0.1:${port}` }
    fleet = new Fleet({ engine, project, settings })
    checks = new HealthChecks(engine, fleet)
    say('NOT AS IN PRODUCTION: health checks are run by this test, since podman leaves them to systemd')
  })

  afterAll(async () => {
    await checks?.stop()
    await fleet?.down()
    await engine?.podman(['rmi', '--force', image])
    await engine?.close()
    await rm(dir, { recursive: true, force: true })
  })

  test('comes up in order with three workers, and every role is healthy', async () => {
    await fleet.compose(['up', '--detach', '--no-build', '--scale', 'worker=3'])
    await ready()
    expect(await fleet.containers('worker')).toHaveLength(3)
    expect(await fleet.containers('conductor')).toHaveLength(2)
    for (const name of await fleet.containers())
      await until(async () => (await fleet.health(name)) === 'healthy', {
        what: `${name} to be healthy`,
        withinMs: 60_000,
      })
    const [migrate = ''] = await fleet.containers('migrate', { ended: true })
    const { State } = await fleet.inspect<{ State: { ExitCode: number; Running: boolean } }>(migrate)
    expect(State).toMatchObject({ ExitCode: 0, Running: false })
  })

  test('no role is root, has a capability, can write its root file system or lacks its limits', async () => {
    const look = [
      'id -u',
      'sed -n "s/^CapEff:\\t//p" /proc/1/status',
      'touch /app/x 2>/dev/null && echo written || echo read-only',
      'cat /sys/fs/cgroup/memory/memory.limit_in_bytes /sys/fs/cgroup/memory.max 2>/dev/null | head -1',
      'cat /sys/fs/cgroup/pids/pids.max /sys/fs/cgroup/pids.max 2>/dev/null | head -1',
      'node --version',
    ].join('; ')
    for (const service of ['api', 'worker']) {
      const [name = ''] = await fleet.containers(service)
      const seen = (await engine.podman(['exec', name, 'sh', '-c', look])).split('\n')
      const [memory, pids] = service === 'api' ? [512, 128] : [1024, 256]
      expect(seen.slice(0, 3), name).toEqual(['1000', '0000000000000000', 'read-only'])
      expect(seen.slice(3, 5), name).toEqual([String(memory * 1024 * 1024), String(pids)])
      expect(seen[5]).toMatch(/^v24\./)
    }
  })

  test('no secret shows in the settings of a container', async () => {
    const names = ['postgres_password', 'redis_conf', 'admin_token', 'secret_key']
    const secrets = names.map((name) => readFileSync(join(dir, name), 'utf8').trim().split(' ').at(-1) ?? '')
    for (const name of await fleet.containers(undefined, { ended: true })) {
      const shown = JSON.stringify(await fleet.inspect(name)) + (await fleet.logs())
      for (const secret of secrets) expect(shown.includes(secret), name).toBe(false)
    }
  })

  test('runs jobs given to the API, failing ones too', async () => {
    const { lane } = await startJobs({
      jobs: 300,
      failing: 5,
      failing_once: 10,
      steps: 2,
      step_ms: 20,
      effects: 1,
    })
    await allEnded(lane, { succeeded: 295, failed: 5 })
  })

  test('a killed worker container loses no job', async () => {
    const { lane } = await startJobs({ jobs: 400, steps: 10, step_ms: 150, effects: 2 })
    await until(async () => ((await progress(lane)).counts.running ?? 0) > 0, { what: 'jobs to run' })
    const [victim = ''] = await fleet.containers('worker')
    await engine.podman(['kill', '--signal=KILL', victim])
    expect((await progress(lane)).done).toBe(false)
    await allEnded(lane, { succeeded: 400, failed: 0 })
  })

  test('jobs committed while Redis is dead run when it is back', async () => {
    const { lane: before } = await startJobs({ jobs: 400, steps: 10, step_ms: 100, effects: 1 })
    await until(async () => ((await progress(before)).counts.running ?? 0) > 0, { what: 'jobs to run' })
    const redis = await only('redis')
    await fleet.compose(['kill', '-s', 'KILL', 'redis'])
    await until(async () => (await fleet.containers('redis')).length === 0, { what: 'Redis to be gone' })
    const { lane: during } = await startJobs({ jobs: 100 })
    expect((await progress(during)).jobs).toBe(100)
    await engine.podman(['start', redis])
    await allEnded(before, { succeeded: 400, failed: 0 })
    await allEnded(during, { succeeded: 100, failed: 0 })
    await ready()
  })

  test('a worker that is told to stop drains and exits with 0', async () => {
    const [name = ''] = await fleet.containers('worker')
    const { lane } = await startJobs({ jobs: 60, steps: 5, step_ms: 100 })
    await engine.podman(['stop', '--time=40', name])
    const { State } = await fleet.inspect<{ State: { ExitCode: number } }>(name)
    expect(State.ExitCode).toBe(0)
    await allEnded(lane, { succeeded: 60, failed: 0 })
  })

  test('goes down without leaving a container, a network or a volume', async () => {
    await checks.stop()
    expect((await fleet.left()).length).toBeGreaterThan(5)
    await fleet.down()
    expect(await fleet.left()).toEqual([])
  })
})
