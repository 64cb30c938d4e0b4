import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { runApi } from '../../src/api/serve.ts'
import { runCli } from '../../src/cli/run.ts'
import { readConfig } from '../../src/config.ts'
import { atEnd } from '../support/cleanup.ts'
import { addMachine } from '../support/machines.ts'
import { createDatabase } from '../support/postgres.ts'
import { repositoryRoot } from '../support/processes.ts'
import { until } from '../support/wait.ts'
import { addSite } from './inventory-rows.ts'

const { db, url } = await createDatabase()
const api = await runApi(
  readConfig({
    ...{ DATABASE_URL: url, DROVER_SECRET_KEY: 'a'.repeat(64), DROVER_PORT: '0', DROVER_LOG_LEVEL: 'silent' },
  }),
)
atEnd(() => api.stop())
const cloud = await addSite(db, 'cloud', { role: 'target' })

const run = async (...line: string[]) => {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()]
  const env = { DROVER_URL: `http://127.0.0.1:${api.port}` }
  const code = await runCli(line, { env, stdout, stderr, signal: new AbortController().signal })
  return { code, stdout: String(stdout.read() ?? ''), stderr: String(stderr.read() ?? '') }
}

const add = async (name: string, power = 'on') => addMachine(db, { name, power, targetId: cloud })

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
  expect([missing.code, missing.stderr]).toEqual([1, expect.stringContaining('params.name')])
})
