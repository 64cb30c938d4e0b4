import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { v7 as uuidv7 } from 'uuid'
import { expect, test } from 'vitest'
import { followOperations } from '../../../src/cli/commands/operation/watch-operation.ts'
import { Client } from '../../../src/cli/kit/client.ts'
import { readConnection } from '../../../src/cli/kit/connection.ts'
import { Output } from '../../../src/cli/kit/output.ts'
import { runCli } from '../../../src/cli/run.ts'
import { readConfig } from '../../../src/config/config.ts'
import { runApi } from '../../../src/roles/api.ts'
import { createSealer } from '../../../src/seal/seal.ts'
import { enterKey } from '../../../src/sealing/key-check.ts'
import { adminEnv, adminToken, asAdmin } from '../../support/admin-token.ts'
import { atEnd } from '../../support/cleanup.ts'
import { addMachine } from '../../support/machines.ts'
import { createDatabase } from '../../support/postgres.ts'
import { repositoryRoot } from '../../support/processes.ts'
import { until } from '../../support/wait.ts'
import { addSite } from '../inventory/inventory-rows.ts'

const { db, url } = await createDatabase()
// As `migrate` with this key does: what tests seal with another one is then no reason to end.
await enterKey(db, createSealer('a'.repeat(64)))
const api = await runApi(
  readConfig({
    ...{ DATABASE_URL: url, DROVER_SECRET_KEY: 'a'.repeat(64), DROVER_PORT: '0', DROVER_LOG_LEVEL: 'silent' },
    ...adminEnv,
  }),
)
atEnd(() => api.stop())
const cloud = await addSite(db, 'cloud', { role: 'target' })

const run = async (...line: string[]) => {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()]
  const env = { DROVER_URL: `http://127.0.0.1:${api.port}`, DROVER_TOKEN: adminToken }
  const code = await runCli(line, { env, stdout, stderr, signal: new AbortController().signal })
  return { code, stdout: String(stdout.read() ?? ''), stderr: String(stderr.read() ?? '') }
}

const add = async (name: string, power: 'on' | 'off' = 'on') =>
  addMachine(db, { name, power, targetId: cloud })

/** The words of a line of a shell: of what shells know it has single quotes and comments. */
const wordsOf = (line: string): string[] =>
  [...line.replace(/\s+#.*$/, '').matchAll(/(?:'([^']*)'|(\S+))/g)].map(
    ([, quoted, plain]) => quoted ?? plain ?? '',
  )

const findOpen = async (machine: string) => {
  const [row] = await db<{ id: string; jobId: string }[]>`
    select id, job_id from operation where machine_id = ${machine}::uuid and state in ('pending', 'running')`
  return row
}

/** As if a worker had done it. */
const complete = async (id: string) => {
  await db`update operation set state = 'completed', reason = 'completed', message = 'It is done.', progress = 100,
    started_at = now(), finished_at = now(), settled_at = now() where id = ${id}::uuid`
}

test('every command that docs/operations.md shows does what it says', async () => {
  const names = [
    'web-01',
    'web-02',
    'web-03',
    'web-04',
    'web-05',
    'web-06',
    'web-07',
    'web-10',
    'web-11',
    'db-01',
  ]
  for (const name of [...names, 'idle', 'shop-1']) await add(name)
  await db`update machine set host = 'node-3' where name <> 'idle'`
  await db`update machine set project = 'shop' where name = 'shop-1'`
  const page = readFileSync(join(repositoryRoot, 'docs', 'operations.md'), 'utf8')
  const [, shown = ''] = /## In a hurry\n\n```sh\n([^`]*)```/.exec(page) ?? []
  const lines = shown.trim().split('\n')
  expect(lines.length).toBeGreaterThan(10)
  const said = new Map<string, string>()
  for (const line of lines) {
    const [program, ...words] = wordsOf(line)
    expect(program).toBe('drover')
    const { code, stdout, stderr } = await run(...words)
    expect([line, code, stderr]).toEqual([line, 0, expect.any(String)])
    said.set(words.join(' '), stdout)
  }
  expect(said.get('operations list --machine web-01')).toMatch(/stop!\s+pending[\s\S]*stop\s+superseded/)
  expect(said.get('migrate db-01 --dry-run')).toContain('migrate of db-01 would begin.')
  expect(said.get('stop --target cloud --on-host node-1 --dry-run')).toContain('It would be: 1 admitted')
  expect(said.get('stop --filter name.startsWith("web-1") --yes')).toContain('2 admitted, 0 superseded')
  const [row] = await db`select count(*)::int as n from operation where state <> 'superseded'`
  expect(row?.n).toBe(12)
})

test('many are asked only with the number that fits, or --yes; each refusal is told', async () => {
  for (const name of ['many-1', 'many-2']) await add(name)
  await add('many-3', 'off')
  const filter = ['--filter', 'name.startsWith("many-")']
  const asked = await run('stop', ...filter)
  expect([asked.code, asked.stderr]).toEqual([2, expect.stringContaining('3 fit: many-1, many-2, many-3')])
  expect(asked.stderr).toContain('--confirm 3, or --yes')
  expect(await run('stop', ...filter, '--confirm', '2')).toMatchObject({ code: 1 })
  const done = await run('stop', ...filter, '--confirm', '3')
  expect([done.code, done.stdout]).toEqual([
    1,
    expect.stringContaining('2 admitted, 0 superseded, 0 queued, 1 refused'),
  ])
  expect(done.stdout).toContain('many-3: stop of many-3')
  expect((await run('stop')).stderr).toContain('Say which machines')
  expect((await run('stop', 'many-1', '--all')).stderr).toContain('Either name the machines')
})

test('of several that are named, the refusal of one keeps nothing from the others', async () => {
  const [on, off] = [await add('named-on'), await add('named-off', 'off')]
  const { code, stdout, stderr } = await run('stop', 'named-off', 'named-on')
  expect([code, stderr]).toEqual([1, expect.stringContaining('named-off: stop of named-off')])
  expect(stdout).toContain('stop of named-on')
  expect([await findOpen(on), await findOpen(off)]).toEqual([expect.anything(), undefined])
})

test('--wait ends with what became of it: done, or superseded by which', async () => {
  const machine = await add('waited')
  const watched = run('stop', 'waited', '--wait')
  await until(async () => (await findOpen(machine)) !== undefined, { what: 'the stop' })
  const forced = run('stop', 'waited', '--force', '--wait')
  const { code, stdout } = await watched
  const newer = await findOpen(machine)
  expect([code, stdout]).toEqual([
    1,
    expect.stringContaining(`was superseded by ${newer?.id}: it was not done.`),
  ])
  await complete(newer?.id ?? '')
  expect(await forced).toMatchObject({ code: 0, stdout: expect.stringContaining('is done.') })
})

test('one is shown with what it waits for, and canceled until its return', async () => {
  const machine = await add('shown')
  await run('snapshot', 'shown')
  const id = String((await findOpen(machine))?.id)
  const shown = await run('operations', 'show', id)
  expect(shown.stdout).toMatch(/ends when\s+A worker starts\./)
  expect(shown.stdout).toMatch(/reason\s+no-worker/)
  const conditions = await run('operations', 'show', id, '--conditions', '--json')
  expect(JSON.parse(conditions.stdout)).toMatchObject({ phase: 'Pending' })
  expect(await run('operations', 'cancel', id)).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('canceled'),
  })
  expect(await run('operations', 'cancel', id)).toMatchObject({ code: 1 })
  const missing = await run('clone', 'shown')
  expect([missing.code, missing.stderr]).toEqual([1, expect.stringContaining('--name')])
})

/** How often the API was asked for a single operation. */
const singleLooks = async (): Promise<number> => {
  const text = await (await fetch(`http://127.0.0.1:${api.port}/metrics`, { headers: asAdmin })).text()
  return text
    .split('\n')
    .filter((line) => /^drover_api_requests_total\{method="GET",route="\/v1\/operations\/:id"/.test(line))
    .reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
}

test('--wait of very many asks for two hundred of them at a time, not for each', async () => {
  const machine = await add('crowded')
  const ids = Array.from({ length: 205 }, () => uuidv7())
  await db`
    insert into operation (id, machine_id, kind, state, reason, message, on_conflict, deadline_seconds, expires_at,
      created_by, finished_at, settled_at)
    select id, ${machine}::uuid, 'stop', 'completed', 'completed', 'It is done.', 'queue', 60, now(), 'ada', now(), now()
    from unnest(${ids}::uuid[]) id`
  const before = await singleLooks()
  expect((await run('operations', 'show', ids[0] ?? '')).code).toBe(0)
  const [stdout, stderr] = [new PassThrough(), new PassThrough()]
  const { signal } = new AbortController()
  const env = { DROVER_URL: `http://127.0.0.1:${api.port}`, DROVER_TOKEN: adminToken }
  const io = { env, stdout, stderr, signal }
  const client = new Client(() => readConnection(io.env), signal)
  const call = { args: [], values: {}, client, output: new Output(io, false), io }
  const begun = [...ids, uuidv7()].map((id) => ({ id }))
  expect(await followOperations(call, begun)).toBe(1)
  const said = String(stdout.read())
  expect(said.match(/is done\./g)).toHaveLength(ids.length)
  expect(said).toContain('It is no longer kept.')
  expect((await singleLooks()) - before).toBe(1)
})

test('--timeout ends the waiting and nothing else', async () => {
  const machine = await add('patient')
  const waited = await run('stop', 'patient', '--wait', '--timeout', '0.3')
  expect([waited.code, waited.stderr]).toEqual([1, expect.stringContaining('1 of 1 are open and go on')])
  const open = await findOpen(machine)
  expect(open).toBeDefined()
  const shown = await run('operations', 'show', open?.id ?? '', '--wait', '--timeout', '0', '--json')
  expect([shown.code, JSON.parse(shown.stdout)]).toMatchObject([1, { items: [{ state: 'pending' }] }])
})

test('operations are listed by their target and by a filter, as the API does', async () => {
  await add('listed')
  await run('snapshot', 'listed', '--name', 'before')
  const listed = await run('operations', 'list', '--target', 'cloud', '--filter', 'machine == "listed"')
  expect([listed.code, listed.stdout]).toEqual([0, expect.stringMatching(/listed\s+snapshot/)])
  const wrong = await run('operations', 'list', '--filter', 'machin == "listed"')
  expect([wrong.code, wrong.stderr]).toEqual([1, expect.stringContaining('Did you mean machine?')])
})
