import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { atEnd } from '../../support/cleanup.ts'
import { processesOf } from '../../support/owned-processes.ts'
import { startProcess } from '../../support/processes.ts'
import { addressOf, freshDataDir, npmStart, startMs, startUp, stopMs } from '../../support/up.ts'
import { settles, until } from '../../support/wait.ts'

const token = 'a-preset-token-for-tests'

const workersOf = (dataDir: string) => processesOf(dataDir).filter(({ command }) => / worker$/.test(command))

// promise: one-command
test(
  'one command starts everything, shows an inventory, and leaves nothing running after Ctrl-C',
  async () => {
    const dataDir = await freshDataDir()
    const up = await npmStart(dataDir)
    const address = await addressOf(up)
    const [, shown = ''] = await up.line(/Token +(drv_\S+)/)
    await up.line(/source +lab-vcenter +Drover Lab Center .* 24 machines/, { withinMs: startMs })
    await up.line(/24 machines to migrate: \d+ ready, \d+ with warnings, \d+ blocked/)
    await up.line(`${address}/instances`)
    const health = await fetch(`${address}/healthz`)
    expect(health.status).toBe(200)
    await until(async () => (await fetch(`${address}/readyz`)).status === 200, { what: 'readiness' })
    expect((await fetch(`${address}/v1/jobs`)).status).toBe(401)
    const headers = { authorization: `Bearer ${shown}` }
    expect((await fetch(`${address}/v1/jobs`, { headers })).status).toBe(200)

    // The command line and the start itself use a socket: nobody else can listen there, nor read the token.
    const cli = async (...args: string[]) => {
      const started = await startProcess({
        command: process.execPath,
        args: ['src/roles/drover.mjs', ...args],
        env: { DROVER_DATA_DIR: dataDir },
      })
      return { ...(await settles(started.exited, { what: args.join(' ') })), output: started.output }
    }
    const doctor = await cli('doctor')
    expect(doctor).toMatchObject({ code: 0 })
    expect(doctor.output).toContain(`answers at the socket ${join(dataDir, 'socket', 'api.sock')}`)
    expect(doctor.output).toContain(`with the token in ${join(dataDir, 'local.token')}`)
    expect((await cli('events', '--limit', '3', '--json')).code).toBe(0)
    expect((await cli('assessment', '--csv')).output).toContain('"lab-vcenter"')
    const { mode } = statSync(join(dataDir, 'socket', 'api.sock'))
    expect(mode & 0o777).toBe(0o600)

    const second = await npmStart(dataDir)
    await second.line(`Drover already runs in ${dataDir}: process ${up.pid}`)
    expect(second.output).toContain(address)
    expect(await settles(second.exited, { what: 'the second one to end' })).toMatchObject({ code: 1 })
    expect((await fetch(`${address}/healthz`)).status).toBe(200)

    up.kill('SIGINT')
    expect(await settles(up.exited, { what: 'the end', withinMs: stopMs })).toEqual({ code: 0, signal: null })
    expect(up.output).toContain('Nothing is left running.')
    expect(processesOf(dataDir)).toEqual([])
    expect(readdirSync(dataDir)).not.toContain('drover.lock')
    expect(readdirSync(join(dataDir, 'socket'))).toEqual([])
    expect(await cli('doctor')).toMatchObject({ code: 3 })

    const again = await npmStart(dataDir, { DROVER_LAB: '0' })
    await addressOf(again)
    expect(again.output).not.toContain(shown)
    expect(again.output).not.toMatch(/Token +drv_/)
    expect(again.output).not.toContain('lab')
    expect(processesOf(dataDir).filter(({ command }) => / lab$/.test(command))).toEqual([])
    expect(await again.stop(stopMs)).toEqual({ code: 0, signal: null })
    expect(processesOf(dataDir)).toEqual([])
  },
  4 * startMs,
)

// promise: one-command
test(
  'kill -9 of the supervisor ends its roles, and the next start goes on with the same data',
  async () => {
    const dataDir = await freshDataDir()
    const env = { DROVER_ADMIN_TOKEN: token, DROVER_LAB: '0' }
    const first = await startUp(dataDir, env)
    const address = await addressOf(first)
    const headers = { authorization: `Bearer ${token}` }
    const stored = await fetch(`${address}/v1/self-tests`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json', 'idempotency-key': 'before-the-kill' },
      body: '{"jobs": 3}',
    })
    const { lane } = (await stored.json()) as { lane: string }
    await first.crash()
    await until(
      () => processesOf(dataDir).every(({ command }) => !/ (api|conductor|worker)$/.test(command)),
      {
        what: 'the roles to notice',
        withinMs: stopMs,
      },
    )
    const second = await startUp(dataDir, env)
    const newAddress = await addressOf(second)
    const progress = async () => {
      const answer = await fetch(`${newAddress}/v1/self-tests/${encodeURIComponent(lane)}`, { headers })
      return (await answer.json()) as { done: boolean; counts: Record<string, number> }
    }
    await until(async () => (await progress()).done, { what: 'the jobs of before', withinMs: 30_000 })
    expect((await progress()).counts.succeeded).toBe(3)
    expect(await second.stop(stopMs)).toEqual({ code: 0, signal: null })
    expect(processesOf(dataDir)).toEqual([])
  },
  4 * startMs,
)

test(
  'a role or a Postgres that dies is started again, where everybody can see it',
  async () => {
    const dataDir = await freshDataDir()
    const up = await startUp(dataDir, { DROVER_ADMIN_TOKEN: token, DROVER_LAB: '0' })
    const address = await addressOf(up)
    const [worker] = workersOf(dataDir)
    process.kill(worker?.pid ?? 0, 'SIGKILL')
    await up.line(/worker-1 ended with SIGKILL; it starts again/)
    await until(() => workersOf(dataDir).some(({ pid }) => pid !== worker?.pid), { what: 'another worker' })

    const pidFile = readFileSync(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8')
    process.kill(Number(pidFile.split('\n')[0]), 'SIGKILL')
    await up.line(/Postgres ended by itself; it is started again/)
    await up.line('Postgres runs again')
    await until(async () => (await fetch(`${address}/readyz`)).status === 200, {
      what: 'work to flow again',
      withinMs: 30_000,
    })
    expect(await up.stop(stopMs)).toEqual({ code: 0, signal: null })
    expect(processesOf(dataDir)).toEqual([])
  },
  3 * startMs,
)

test(
  'a second Ctrl-C does not wait for the drain, and still leaves nothing running',
  async () => {
    const dataDir = await freshDataDir()
    const env = { DROVER_ADMIN_TOKEN: token, DROVER_LAB: '0', DROVER_DRAIN_MS: '120000' }
    const up = await startUp(dataDir, env)
    const address = await addressOf(up)
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    await fetch(`${address}/v1/self-tests`, {
      method: 'POST',
      headers: { ...headers, 'idempotency-key': 'a-long-one' },
      body: '{"jobs": 1, "steps": 1, "step_ms": 60000}',
    })
    const running = async () => {
      const answer = await fetch(`${address}/v1/jobs?state=running`, { headers })
      return ((await answer.json()) as { items: unknown[] }).items.length === 1
    }
    await until(running, { what: 'the long job to run' })
    up.kill('SIGINT')
    await up.line('Stopping')
    await until(
      () => {
        up.kill('SIGINT')
        return !up.running
      },
      { what: 'the end', everyMs: 300 },
    )
    expect(await up.exited).toMatchObject({ code: 130 })
    await until(() => processesOf(dataDir).length === 0, { what: 'everything to be gone' })
  },
  2 * startMs,
)

test('a port that is taken ends the start with one clear line and nothing left', async () => {
  const dataDir = await freshDataDir()
  const other = createServer()
  await new Promise<void>((resolve) => {
    other.listen(0, '127.0.0.1', resolve)
  })
  atEnd(() => other.close())
  const { port } = other.address() as { port: number }
  const up = await startUp(dataDir, { DROVER_PORT: String(port) })
  await up.line(/Cannot go on: api: .*DROVER_PORT/, { withinMs: startMs })
  expect(await settles(up.exited, { what: 'the end', withinMs: stopMs })).toMatchObject({ code: 1 })
  expect(up.output).not.toMatch(/^ +at /m)
  expect(processesOf(dataDir)).toEqual([])
})

test('asked for help or with a word that it does not know, nothing starts', async () => {
  const ended = async (...words: string[]) => {
    const dataDir = await freshDataDir()
    const started = await startUp(dataDir, {}, words)
    const { code } = await settles(started.exited, { what: 'the end', withinMs: startMs })
    return { code, output: started.output, began: existsSync(dataDir) }
  }
  const usage = expect.stringContaining('everything on this machine')
  expect(await ended('--help')).toEqual({ code: 0, output: usage, began: false })
  expect(await ended('--no-rekeys')).toEqual({
    code: 2,
    output: expect.stringContaining('drover up: it does not know "--no-rekeys". Nothing was started.'),
    began: false,
  })
})

test('a role apart needs a database, and a wrong setting is named, without a stack', async () => {
  for (const [role, env, text] of [
    ['worker', {}, 'DATABASE_URL'],
    ['conductor', {}, 'DATABASE_URL'],
    ['api', {}, 'DATABASE_URL'],
    ['migrate', {}, 'DATABASE_URL'],
    ['worker', { DROVER_DRAIN_MS: 'soon' }, 'DROVER_DRAIN_MS'],
  ] as const) {
    const started = await startProcess({
      command: process.execPath,
      args: ['src/roles/drover.mjs', role],
      env,
    })
    expect(await settles(started.exited, { what: `${role} to end` })).toMatchObject({ code: 1 })
    expect(started.output).toContain(text)
    expect(started.lines).toHaveLength(1)
  }
})
