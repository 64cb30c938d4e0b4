import { chmod, readdir, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { until } from '../support/wait.ts'
import { attackPostgres } from './attacks/postgres.ts'
import { attackSecrets } from './attacks/secrets.ts'
import { lines, roles } from './attacks/taken-over.ts'
import { askApi, makeSecrets, openScene, type Scene, workCanFlow } from './stand-ins/scene.ts'

const before = fileURLToPath(new URL('stand-ins/one-login.compose.yml', import.meta.url))

interface SelfTest {
  readonly lane: string
  readonly counts: Record<string, number>
  readonly done: boolean
}

describe('an installation whose roles all sign in as the superuser of Postgres', () => {
  let scene: Scene

  /** What the superuser of the database sees, from inside its container. */
  const query = async (text: string): Promise<string[]> => {
    const [postgres = ''] = await scene.fleet.containers('postgres')
    const psql = ['psql', '--host=/var/run/postgresql', '--username=drover', '--no-align', '--tuples-only']
    return lines(await scene.engine.podman(['exec', postgres, ...psql, '--command', text]))
  }

  const startJobs = (body: Record<string, number>) =>
    askApi<{ lane: string }>(scene, '/v1/self-tests', { method: 'POST', body: JSON.stringify(body) })
  const progress = (lane: string) => askApi<SelfTest>(scene, `/v1/self-tests/${encodeURIComponent(lane)}`)

  beforeAll(async () => {
    scene = await openScene('upgrade')
    const at = (name: string) => join(scene.secrets, name)
    await rename(at('setup_database_url'), at('database_url'))
    for (const name of await readdir(scene.secrets))
      if (name.endsWith('_database_url')) await rm(at(name), { force: true })
    await chmod(scene.secrets, 0o700)
  })

  afterAll(async () => {
    await scene?.fleet.compose(['down', '--volumes', '--remove-orphans'], { file: before })
    await scene?.close()
  })

  test('works before the upgrade, with one login for all', async () => {
    await scene.fleet.compose(['up', '--detach', '--no-build'], { file: before })
    await workCanFlow(scene)
    expect(
      await query("select distinct usename from pg_stat_activity where backend_type = 'client backend'"),
    ).toEqual(['drover'])
    expect(
      await query("select tableowner from pg_tables where schemaname = 'public' and tablename = 'job'"),
    ).toEqual(['drover'])
    expect(
      await query("select rolname from pg_roles where rolname like '%login' or rolname = 'drover_owner'"),
    ).toEqual([])
  })

  // promise: stolen-container
  test('is upgraded by the two commands of the manual, at work, and loses no job', async () => {
    const { lane } = await startJobs({ jobs: 300, steps: 10, step_ms: 200, effects: 1 })
    await until(async () => ((await progress(lane)).counts.running ?? 0) > 0, { what: 'jobs to run' })
    const kept = await readFile(join(scene.secrets, 'database_url'), 'utf8')
    await makeSecrets(scene.secrets)
    expect(await readFile(join(scene.secrets, 'setup_database_url'), 'utf8')).toBe(kept)
    expect((await progress(lane)).done).toBe(false)
    await scene.fleet.compose(['up', '--detach', '--no-build'])
    await workCanFlow(scene)
    const [migrate = ''] = await scene.fleet.containers('migrate', { ended: true })
    const { State } = await scene.fleet.inspect<{ State: { ExitCode: number } }>(migrate)
    expect(State.ExitCode).toBe(0)
    await until(async () => (await progress(lane)).done, {
      what: 'the jobs of before to end',
      withinMs: 180_000,
    })
    expect((await progress(lane)).counts).toMatchObject({ succeeded: 300 })
  })

  test('has a login for each role afterwards, and the owner has what the superuser had', async () => {
    const users = await query(`select distinct usename from pg_stat_activity
      where backend_type = 'client backend' and usename <> 'drover' order by usename`)
    expect(users).toEqual(roles.map((role) => `drover_${role}_login`))
    expect(
      await query(`select rolname from pg_roles where rolname like 'drover\\_%' and
        (rolsuper or rolcreaterole or rolcreatedb or rolreplication or rolbypassrls)`),
    ).toEqual([])
    expect(
      await query(
        `select distinct tableowner from pg_tables where schemaname in ('public', 'drizzle', 'bullmq')`,
      ),
    ).toEqual(['drover_owner'])
    expect(await query("select datdba::regrole from pg_database where datname = 'drover'")).toEqual([
      'drover_owner',
    ])
  })

  test('runs new jobs with the new logins', async () => {
    const { lane } = await startJobs({ jobs: 100, effects: 1, failing: 3 })
    await until(async () => (await progress(lane)).done, { what: 'the new jobs to end', withinMs: 120_000 })
    expect((await progress(lane)).counts).toMatchObject({ succeeded: 97, failed: 3 })
  })

  test('can be brought up once more, and changes nothing', async () => {
    await scene.fleet.compose(['up', '--detach', '--no-build'])
    await workCanFlow(scene)
  })

  test('leaves two networks that nobody uses and the manual says to remove', async () => {
    const names = ['backend', 'outside'].map((name) => `${scene.project}_${name}`)
    await scene.engine.podman(['network', 'rm', ...names])
    expect((await scene.fleet.left()).filter((name) => names.includes(name))).toEqual([])
  })

  describe('attacked from inside, like a new one', () => {
    const now = () => scene
    attackSecrets(now)
    attackPostgres(now)
  })
})
