import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { atEnd } from '../../support/cleanup.ts'
import { processesOf } from '../../support/owned-processes.ts'
import type { TestProcess } from '../../support/processes.ts'
import { addressOf, freshDataDir, startMs, startUp, stopMs } from '../../support/up.ts'
import { settles, until } from '../../support/wait.ts'

const token = 'a-preset-token-for-tests'

const start = (dataDir: string, env: NodeJS.ProcessEnv = {}): Promise<TestProcess> =>
  startUp(dataDir, { DROVER_ADMIN_TOKEN: token, ...env })

const get = async <Body>(address: string, path: string): Promise<Body> => {
  const answer = await fetch(`${address}${path}`, { headers: { authorization: `Bearer ${token}` } })
  expect({ path, status: answer.status }).toEqual({ path, status: 200 })
  return (await answer.json()) as Body
}

interface Site {
  readonly id: string
  readonly endpoint: string
  readonly revision: number
  readonly connectivity: { readonly state: string }
  readonly counts: { readonly instances: number }
}

interface Page {
  readonly items: readonly { readonly id: string; readonly name: string; readonly role?: string }[]
}

const labsOf = (dataDir: string) => processesOf(dataDir).filter(({ command }) => / lab$/.test(command))

const occupy = async (port: number): Promise<void> => {
  const other = createServer()
  await new Promise<void>((resolve) => {
    other.listen(port, '127.0.0.1', resolve)
  })
  atEnd(() => other.close())
}

const instanceIds = async (address: string): Promise<string[]> =>
  (await get<Page>(address, '/v1/instances?limit=200')).items.map(({ id }) => id).sort()

test(
  'kill -9 of the supervisor ends the lab; the next start goes on with it, also at another port',
  async () => {
    const dataDir = await freshDataDir()
    const first = await start(dataDir)
    const address = await addressOf(first)
    await first.line('Look next', { withinMs: startMs })
    const before = await get<Site>(address, '/v1/sources/lab-vcenter')
    const machines = await instanceIds(address)
    expect(machines).toHaveLength(24)
    await first.crash()
    await until(() => labsOf(dataDir).length === 0, { what: 'the lab to notice', withinMs: stopMs })
    await occupy(Number(readFileSync(join(dataDir, 'lab.port'), 'utf8')))

    const second = await start(dataDir)
    const newAddress = await addressOf(second)
    await second.line(/lab-vcenter +found at its new address/, { withinMs: startMs })
    await second.line('Look next', { withinMs: startMs })
    const after = await get<Site>(newAddress, '/v1/sources/lab-vcenter')
    expect(after.id).toBe(before.id)
    expect(after.endpoint).not.toBe(before.endpoint)
    expect(after.connectivity.state).toBe('ok')
    expect(await instanceIds(newAddress)).toEqual(machines)
    expect((await get<Page>(newAddress, '/v1/sources')).items).toHaveLength(1)
    expect((await get<Page>(newAddress, '/v1/targets')).items).toHaveLength(1)
    expect(await second.stop(stopMs)).toEqual({ code: 0, signal: null })
    expect(processesOf(dataDir)).toEqual([])
  },
  5 * startMs,
)

test(
  'another password for the lab is given to its source and target too, and no admin token is left',
  async () => {
    const dataDir = await freshDataDir()
    const first = await start(dataDir)
    await first.line('Look next', { withinMs: 2 * startMs })
    expect(await first.stop(stopMs)).toEqual({ code: 0, signal: null })

    const password = 'another-password-of-the-lab'
    const second = await start(dataDir, { DROVER_LAB_PASSWORD: password })
    const address = await addressOf(second)
    await second.line('Look next', { withinMs: startMs })
    const { connectivity } = await get<Site>(address, '/v1/sources/lab-vcenter')
    expect(connectivity.state).toBe('ok')
    const tokens = await get<{ items: { role: string; name: string; revoked_at: string | null }[] }>(
      address,
      '/v1/tokens',
    )
    const admins = tokens.items.filter(({ role, revoked_at: gone }) => role === 'admin' && gone === null)
    expect(admins.map(({ name }) => name)).toEqual(['preset-admin'])
    expect(second.output).not.toContain(password)
    expect(await second.stop(stopMs)).toEqual({ code: 0, signal: null })
  },
  5 * startMs,
)

// promise: one-command
test(
  'a lab that cannot start says why and takes nobody along',
  async () => {
    const dataDir = await freshDataDir()
    const blocker = createServer()
    await new Promise<void>((resolve) => {
      blocker.listen(0, '127.0.0.1', resolve)
    })
    atEnd(() => blocker.close())
    const { port } = blocker.address() as { port: number }
    const up = await start(dataDir, { DROVER_LAB_PORT: String(port) })
    const address = await addressOf(up)
    await up.line(/The lab cannot be used: .*DROVER_LAB_PORT/, { withinMs: startMs })
    await up.line('Everything else serves on.')
    await until(async () => (await fetch(`${address}/readyz`)).status === 200, { what: 'readiness' })
    up.kill('SIGINT')
    expect(await settles(up.exited, { what: 'the end', withinMs: stopMs })).toEqual({ code: 0, signal: null })
    expect(processesOf(dataDir)).toEqual([])
  },
  3 * startMs,
)

test(
  'a lab that dies is started again where it was',
  async () => {
    const dataDir = await freshDataDir()
    const up = await start(dataDir)
    const address = await addressOf(up)
    await up.line('Look next', { withinMs: startMs })
    const [lab] = labsOf(dataDir)
    process.kill(lab?.pid ?? 0, 'SIGKILL')
    await up.line(/lab ended with SIGKILL; it starts again/)
    const { endpoint } = await get<Site>(address, '/v1/sources/lab-vcenter')
    const { origin } = new URL(endpoint)
    await until(async () => (await fetch(`${origin}/healthz`).catch(() => undefined))?.status === 200, {
      what: 'the lab at its old address',
      withinMs: stopMs,
    })
    expect(await up.stop(stopMs)).toEqual({ code: 0, signal: null })
    expect(processesOf(dataDir)).toEqual([])
  },
  3 * startMs,
)

interface QueuedEntry {
  readonly id: string
  readonly name: string
  readonly state: string
  readonly reason: string
  readonly message: string
}

/** The entries of the wave that are not finished, by what they wait for. */
const unfinishedOf = async (address: string): Promise<QueuedEntry[]> => {
  const { items } = await get<{ items: readonly QueuedEntry[] }>(
    address,
    '/v1/queue?batch=lab-wave&limit=100',
  )
  return items
    .filter(({ state }) => state !== 'finished')
    .map(({ id, name, state, reason, message }) => ({ id, name, state, reason, message }))
    .sort((a, b) => (a.reason < b.reason ? -1 : 1))
}

/** What the wave has come to, whatever that is; when it comes to nothing, what each entry waits for. */
const waveEnd = async (up: TestProcess, address: string): Promise<string> => {
  const seen = up.line(/Wave lab-wave: \d+ of \d+ machines migrated/, { withinMs: 4 * startMs })
  const [line] = await seen.catch(async (error: unknown) => {
    const waiting = JSON.stringify(await unfinishedOf(address), undefined, 2)
    throw new Error(`${(error as Error).message}\nNot finished: ${waiting}`)
  })
  return line
}

const resolve = async (address: string, id: string): Promise<void> => {
  const headers = { authorization: `Bearer ${token}` }
  const answer = await fetch(`${address}/v1/queue/${id}/:resolve`, { method: 'POST', headers })
  expect({ id, status: answer.status }).toEqual({ id, status: 202 })
}

test(
  'the wave goes on after kill -9, leaves two conflicts that one resolve each ends, and is not repeated',
  async () => {
    const dataDir = await freshDataDir()
    const first = await start(dataDir)
    await first.line('A wave of 12 machines', { withinMs: 2 * startMs })
    // It happens once: cut short in the middle of its answer it would have come to nothing.
    await first.line(/could not be started on its target/, { withinMs: 2 * startMs })
    await first.line(/shop-test +finished/, { withinMs: 2 * startMs })
    await first.crash()
    await until(() => processesOf(dataDir).every(({ command }) => !/ worker$/.test(command)), {
      what: 'the workers to notice',
      withinMs: stopMs,
    })

    const second = await start(dataDir)
    const address = await addressOf(second)
    const end = await waveEnd(second, address)
    const conflict = { id: expect.any(String), state: 'conflict' }
    expect(await unfinishedOf(address)).toEqual([
      { ...conflict, name: 'wiki-01', reason: 'no-longer-matches', message: expect.any(String) },
      {
        ...conflict,
        name: expect.any(String),
        reason: 'target-start-failed',
        message: expect.stringContaining('No node has the memory free'),
      },
    ])
    expect(end).toBe('Wave lab-wave: 10 of 12 machines migrated')
    await second.line('2 wait for you, on purpose')
    await second.line(/Then watch/)
    expect(second.output).not.toContain('A wave of 12 machines')
    const ids = [...second.output.matchAll(/npx drover queue resolve (\S+)/g)].map(([, id = '']) => id)
    expect(ids).toHaveLength(2)
    for (const id of ids) await resolve(address, id)
    await until(async () => (await unfinishedOf(address)).length === 0, {
      what: 'the end of the wave',
      withinMs: 3 * startMs,
    })
    expect(await second.stop(stopMs)).toEqual({ code: 0, signal: null })

    const third = await start(dataDir)
    await third.line(/Wave lab-wave: 12 of 12 machines migrated; each has a certificate/, {
      withinMs: 2 * startMs,
    })
    const { items } = await get<Page>(await addressOf(third), '/v1/batches')
    expect(items.map(({ name }) => name)).toEqual(['lab-wave'])
    expect(await third.stop(stopMs)).toEqual({ code: 0, signal: null })
    expect(processesOf(dataDir)).toEqual([])
  },
  12 * startMs,
)
