import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { runCli } from '../../../src/cli/run.ts'
import { startFleet } from '../../browser/fleet.ts'
import { atEnd } from '../../support/cleanup.ts'
import { startProcess } from '../../support/processes.ts'
import { settles, until } from '../../support/wait.ts'

const fleet = await startFleet()
const patienceMs = 45_000

interface Result {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

const run = async (
  line: readonly string[],
  options: { token?: string; signal?: AbortSignal } = {},
): Promise<Result> => {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()]
  const code = await runCli(line, {
    env: { DROVER_URL: fleet.url, DROVER_TOKEN: options.token ?? fleet.adminToken },
    stdout,
    stderr,
    signal: options.signal ?? new AbortController().signal,
  })
  return { code, stdout: String(stdout.read() ?? ''), stderr: String(stderr.read() ?? '') }
}

/** Runs a line that must succeed, and gives its JSON. */
const json = async <Answer>(...line: string[]): Promise<Answer> => {
  const result = await run([...line, '--json'])
  expect({ line, ...result }).toMatchObject({ code: 0, stderr: '' })
  return JSON.parse(result.stdout) as Answer
}

interface Thing {
  readonly id: string
  readonly kind: string
  readonly state: string
  readonly name: string
  readonly secret: string
  readonly items: readonly Thing[]
  readonly [field: string]: unknown
}

const addJob = (payload: object, ...more: string[]) =>
  json<Thing>(
    'jobs',
    'add',
    'self-test',
    '--subject',
    'self-test/cli',
    '--payload',
    JSON.stringify(payload),
    ...more,
  )

test('a job is added, waited for, listed and shown with its events', async () => {
  const job = await addJob({ effects: 1 }, '--lane', 'cli-lane', '--priority=7', '--wait')
  expect(job).toMatchObject({ state: 'succeeded', lane: 'cli-lane', priority: 7 })
  const list = await json<Thing>('jobs', 'list', '--lane', 'cli-lane', '--state', 'succeeded')
  expect(list.items.map(({ id }) => id)).toEqual([job.id])
  const events = await run(['jobs', 'events', job.id])
  expect(events.stdout).toMatch(/job\.created[\s\S]*job\.running[\s\S]*job\.succeeded/)
  expect((await json<Thing>('jobs', 'effects', job.id)).items).toHaveLength(1)
  const shown = await run(['jobs', 'show', job.id])
  expect(shown.stdout).toMatch(/state +succeeded/)
})

test('every page of a list comes with --all, and without it the way to the next', async () => {
  for (let at = 0; at < 3; at += 1) await addJob({}, '--lane', 'paged')
  const first = await run(['jobs', 'list', '--lane', 'paged', '--limit', '2'])
  expect(first.stdout.trim().split('\n')).toHaveLength(3)
  expect(first.stderr).toMatch(/There is more: --cursor \S+, or --all/)
  expect((await json<Thing>('jobs', 'list', '--lane', 'paged', '--limit', '2', '--all')).items).toHaveLength(
    3,
  )
})

test('a job that fails gives exit code 1, is retried, and canceled while it runs', async () => {
  const failed = await run([
    'jobs',
    'add',
    'self-test',
    '--subject',
    'a/b',
    '--payload',
    '{"outcome":"fail"}',
    '--wait',
  ])
  expect(failed.code).toBe(1)
  expect(failed.stdout).toMatch(/error +This job was asked to fail[\s\S]*remedy +Nothing to do/)
  const [, id = ''] = /^id +(\S+)/m.exec(failed.stdout) ?? []
  expect((await run(['jobs', 'retry', id, '--wait'])).stdout).toMatch(/generation 2/)
  const long = await addJob({ steps: 1_000, step_ms: 100 })
  const canceled = await run(['jobs', 'cancel', long.id, '--reason', 'not needed', '--wait'])
  expect(canceled).toMatchObject({ code: 0 })
  expect(canceled.stdout).toMatch(/state +canceled/)
  const again = await run(['jobs', 'cancel', long.id])
  expect(again).toMatchObject({ code: 1, stdout: '' })
  expect(again.stderr).toContain('The job has ended as canceled')
})

test('a self-test is followed to its end, and one that does not end as asked gives exit code 1', async () => {
  const good = await run(['self-test', '--jobs', '20', '--failing', '2', '--failing-once', '1', '--wait'])
  expect(good).toMatchObject({ code: 0 })
  expect(good.stdout).toMatch(/20 of 20 ended: 18 succeeded, 2 failed, 0 canceled/)
  const { lane } = await json<{ lane: string }>('self-test', '--jobs', '3', '--failing', '1')
  const other = await run(['self-test', 'show', lane, '--wait', '--failing', '0'])
  expect(other.code).toBe(1)
})

test('a kind is drained by pause --wait, shown as paused, and resumed', async () => {
  const job = await addJob({ steps: 3, step_ms: 100 }, '--lane', 'drained')
  const paused = await run(['pause', 'lane', 'drained', '--reason', 'upgrade', '--wait'])
  expect(paused).toMatchObject({ code: 0 })
  expect(paused.stdout).toContain('0 of its jobs still run')
  expect((await run(['pauses'])).stdout).toMatch(/lane +drained/)
  expect((await run(['resume', 'lane', 'drained'])).code).toBe(0)
  expect((await run(['resume', 'lane', 'drained'])).code).toBe(1)
  expect((await run(['jobs', 'show', job.id, '--wait'])).code).toBe(0)
})

test('tokens are made and revoked; a viewer is refused with exit code 3, and so is a token that is gone', async () => {
  const token = await json<Thing>('tokens', 'add', 'cli-viewer', '--role', 'viewer')
  const as = { token: token.secret }
  expect((await run(['kinds'], as)).code).toBe(0)
  const refused = await run(['self-test'], as)
  expect(refused).toMatchObject({ code: 3, stdout: '' })
  expect(refused.stderr).toContain('This needs the role operator')
  expect((await run(['tokens', 'revoke', token.id])).code).toBe(0)
  expect((await run(['kinds'], as)).code).toBe(3)
  expect((await run(['tokens', 'list'])).stdout).toMatch(/cli-viewer +viewer.*revoked/)
})

test('settings and limits are changed with the version that was read', async () => {
  const [setting] = (await json<Thing>('settings', 'list')).items
  const before = setting?.value as number
  const name = setting?.name ?? ''
  expect(await json<Thing>('settings', 'set', name, String(before + 1))).toMatchObject({ value: before + 1 })
  expect(await json<Thing>('settings', 'get', name)).toMatchObject({ value: before + 1, version: 1 })
  expect(await json<Thing>('limits', 'set', 'source-host-reads/esx-1', '3')).toMatchObject({
    capacity: 3,
    origin: 'set',
  })
  expect((await run(['limits', 'reset', 'source-host-reads/esx-1'])).code).toBe(0)
  expect(await json<Thing>('limits', 'get', 'source-host-reads/esx-1')).toMatchObject({ origin: 'default' })
})

test('a webhook lives its life by the command line', async () => {
  const hook = await json<Thing>(
    'webhooks',
    'add',
    'chat',
    'https://example.org/hook',
    '--type',
    'job.failed',
  )
  expect(hook.secret).toMatch(/\S{16,}/)
  expect((await run(['webhooks', 'set', hook.id, '--name', 'talk'])).code).toBe(0)
  expect((await run(['webhooks', 'pause', hook.id])).stdout).toContain('talk is paused')
  expect((await run(['webhooks', 'replay', hook.id, '--from', 'start'])).code).toBe(0)
  expect((await run(['webhooks', 'list'])).stdout).toMatch(/talk +paused/)
  expect(await json<Thing>('webhooks', 'show', hook.id)).toMatchObject({ types: ['job.failed'] })
  expect((await run(['webhooks', 'resume', hook.id])).code).toBe(0)
  expect((await run(['webhooks', 'remove', hook.id])).code).toBe(0)
  expect((await run(['webhooks', 'show', hook.id])).code).toBe(1)
})

test('effects, workers, kinds and the chain of events are shown', async () => {
  expect((await json<Thing>('effects', 'list', '--state', 'done')).items.length).toBeGreaterThan(0)
  const [effect] = (await json<Thing>('effects', 'list')).items
  expect((await run(['effects', 'show', effect?.id ?? ''])).stdout).toContain('self-test-marker')
  expect((await run(['effects', 'waive', effect?.id ?? '', '--reason', 'x'])).code).toBe(1)
  expect((await run(['workers', '--live', 'true', '--role', 'worker'])).stdout).toMatch(/worker +active/)
  expect((await run(['kinds'])).stdout).toMatch(/^self-test/m)
  // A chain that was cut off looks whole too: without a head from before nothing is proved.
  const chain = async () => await run(['events', 'verify'])
  await until(async () => /head +\d+:/.test((await chain()).stdout), { what: 'a seal', withinMs: patienceMs })
  const unproved = await chain()
  expect(unproved.stdout).toMatch(/chain +whole/)
  expect(unproved.stderr).toContain('NOT PROVED')
  expect(unproved.code).toBe(4)
  const [, head = ''] = /head +(\S+)/.exec(unproved.stdout) ?? []
  const proved = await run(['events', 'verify', '--head', head])
  expect(proved).toMatchObject({ code: 0, stderr: '' })
  // The feed shows an event once no older transaction of the server is open.
  await until(
    async () =>
      (await run(['events', '--types', 'token.*', '--after', 'start'])).stdout.includes('token.created'),
    { what: 'the events of tokens to be in the feed', withinMs: patienceMs },
  )
})

test('doctor finds nothing wrong with a fleet that works', async () => {
  const report = await json<{ ok: boolean; findings: { check: string; verdict: string }[] }>('doctor')
  expect(report.findings.map(({ check }) => check)).toEqual([
    'node',
    'api',
    'clock',
    'ready',
    'token',
    'fleet',
    'sites',
    'off',
  ])
  expect(report.ok).toBe(true)
  expect(await run(['doctor'], { token: 'not-a-good-token-at-all' })).toMatchObject({ code: 3 })
})

test('events are followed as they happen, a line of JSON each, until Ctrl-C', async () => {
  const follower = await startProcess({
    command: process.execPath,
    args: [
      'src/roles/drover.mjs',
      'events',
      '--follow',
      '--types',
      'self-test.*,job.succeeded',
      '--after',
      'now',
      '--json',
    ],
    env: { DROVER_URL: fleet.url, DROVER_TOKEN: fleet.adminToken },
  })
  const lines = () => follower.lines.map((line) => JSON.parse(line) as { type: string })
  // It follows from when it is connected, which only an event can tell.
  await until(
    async () => {
      await json('self-test', '--jobs', '1')
      return lines().some(({ type }) => type === 'job.succeeded')
    },
    { what: 'an event to arrive', withinMs: patienceMs, everyMs: 500 },
  )
  expect(lines().every(({ type }) => /^self-test\.|^job\.succeeded$/.test(type))).toBe(true)
  follower.kill('SIGINT')
  expect(await settles(follower.exited, { what: 'the follower to end' })).toMatchObject({ signal: null })
})

test('an interrupted wait ends at once, and the job goes on', async () => {
  const stop = new AbortController()
  atEnd(() => stop.abort())
  const { id } = await addJob({ steps: 20, step_ms: 100 })
  const waiting = run(['jobs', 'show', id, '--wait'], { signal: stop.signal })
  stop.abort()
  expect((await settles(waiting, { what: 'the wait to end' })).code).toBe(130)
  expect((await run(['jobs', 'show', id, '--wait'])).code).toBe(0)
})
