import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { until } from '../support/wait.ts'
import { attackBells } from './attacks/bells.ts'
import { attackImage } from './attacks/image.ts'
import { attackNetwork } from './attacks/network.ts'
import { attackPostgres } from './attacks/postgres.ts'
import { attackPlaces, attackProcesses } from './attacks/processes.ts'
import { attackSecrets } from './attacks/secrets.ts'
import { askApi, openScene, type Scene, workCanFlow } from './stand-ins/scene.ts'

interface SelfTest {
  readonly lane: string
  readonly jobs: number
  readonly ended: number
  readonly counts: Record<string, number>
  readonly done: boolean
}

describe('the compose file on a real container engine, on stand-in base images', () => {
  let scene: Scene

  const startJobs = (body: Record<string, number>) =>
    askApi<{ lane: string }>(scene, '/v1/self-tests', { method: 'POST', body: JSON.stringify(body) })

  const progress = (lane: string) => askApi<SelfTest>(scene, `/v1/self-tests/${encodeURIComponent(lane)}`)

  /** All of them ended, and as they were meant to. */
  const allEnded = async (lane: string, expected: { succeeded: number; failed: number }) => {
    const last = await until(
      async () => {
        const now = await progress(lane)
        return now.done ? now : undefined
      },
      { what: `every job of ${lane} to end`, withinMs: 180_000, everyMs: 250 },
    ).catch(async (error: Error) => {
      throw new Error(
        `${error.message}\n${JSON.stringify(await progress(lane))}\n${await scene.fleet.logs()}`,
      )
    })
    expect(last.counts).toMatchObject(expected)
  }

  const only = async (service: string): Promise<string> => {
    const [name, ...others] = await scene.fleet.containers(service)
    expect(others).toEqual([])
    return name ?? ''
  }

  beforeAll(async () => {
    scene = await openScene('test')
  })

  afterAll(async () => {
    await scene?.close()
  })

  test('comes up in order with three workers, and every role is healthy', async () => {
    await scene.fleet.compose(['up', '--detach', '--no-build', '--scale', 'worker=3'])
    await workCanFlow(scene)
    expect(await scene.fleet.containers('worker')).toHaveLength(3)
    expect(await scene.fleet.containers('conductor')).toHaveLength(2)
    for (const name of await scene.fleet.containers())
      await until(async () => (await scene.fleet.health(name)) === 'healthy', {
        what: `${name} to be healthy`,
        withinMs: 60_000,
      })
    const [migrate = ''] = await scene.fleet.containers('migrate', { ended: true })
    const { State } = await scene.fleet.inspect<{ State: { ExitCode: number; Running: boolean } }>(migrate)
    expect(State).toMatchObject({ ExitCode: 0, Running: false })
  })

  describe('attacked from inside', () => {
    const now = () => scene
    attackProcesses(now)
    attackPlaces(now)
    attackSecrets(now)
    attackPostgres(now)
    attackNetwork(now)
    attackBells(now)
    attackImage(now)
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

  // promise: containers
  test('a killed worker container loses no job', async () => {
    const { lane } = await startJobs({ jobs: 400, steps: 10, step_ms: 150, effects: 2 })
    await until(async () => ((await progress(lane)).counts.running ?? 0) > 0, { what: 'jobs to run' })
    const [victim = ''] = await scene.fleet.containers('worker')
    await scene.engine.podman(['kill', '--signal=KILL', victim])
    expect((await progress(lane)).done).toBe(false)
    await allEnded(lane, { succeeded: 400, failed: 0 })
  })

  // promise: containers
  test('jobs committed while Redis is dead run when it is back', async () => {
    const { lane: before } = await startJobs({ jobs: 400, steps: 10, step_ms: 100, effects: 1 })
    await until(async () => ((await progress(before)).counts.running ?? 0) > 0, { what: 'jobs to run' })
    const redis = await only('redis')
    await scene.fleet.compose(['kill', '-s', 'KILL', 'redis'])
    await until(async () => (await scene.fleet.containers('redis')).length === 0, {
      what: 'Redis to be gone',
    })
    const { lane: during } = await startJobs({ jobs: 100 })
    expect((await progress(during)).jobs).toBe(100)
    await scene.engine.podman(['start', redis])
    await allEnded(before, { succeeded: 400, failed: 0 })
    await allEnded(during, { succeeded: 100, failed: 0 })
    await workCanFlow(scene)
  })

  test('a worker that is told to stop drains and exits with 0', async () => {
    const [name = ''] = await scene.fleet.containers('worker')
    const { lane } = await startJobs({ jobs: 60, steps: 5, step_ms: 100 })
    await scene.engine.podman(['stop', '--time=40', name])
    const { State } = await scene.fleet.inspect<{ State: { ExitCode: number } }>(name)
    expect(State.ExitCode).toBe(0)
    await allEnded(lane, { succeeded: 60, failed: 0 })
  })

  test('goes down without leaving a container, a network or a volume', async () => {
    await scene.checks.stop()
    expect((await scene.fleet.left()).length).toBeGreaterThan(5)
    await scene.fleet.down()
    expect(await scene.fleet.left()).toEqual([])
  })
})
