import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { v7 as uuidv7 } from 'uuid'
import { beforeAll, expect, test } from 'vitest'
import { runCli } from '../../../src/cli/run.ts'
import { rulesVersion } from '../../../src/domain/inventory/rules/catalogue.ts'
import { addInstance, addSite } from '../../api/inventory/inventory-rows.ts'
import { startFleet } from '../../browser/fleet.ts'
import { tempDir } from '../../support/temp.ts'
import { until } from '../../support/wait.ts'
import { sampleInstance } from '../../unit/inventory/samples.ts'

const fleet = await startFleet()
const { db } = fleet.database

const run = async (...line: string[]) => {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()]
  const chunks: Buffer[] = []
  stdout.on('data', (chunk: Buffer) => chunks.push(chunk))
  const env = { DROVER_URL: fleet.url, DROVER_TOKEN: fleet.adminToken }
  const code = await runCli(line, { env, stdout, stderr, signal: new AbortController().signal })
  return { code, stdout: Buffer.concat(chunks).toString(), stderr: String(stderr.read() ?? '') }
}

const json = async (...line: string[]) => {
  const result = await run(...line, '--json')
  expect({ line, ...result }).toMatchObject({ code: 0 })
  return JSON.parse(result.stdout) as Record<string, unknown> & { items: Record<string, unknown>[] }
}

const soon = (what: string, check: () => Promise<boolean>) => until(check, { what, withinMs: 60_000 })

const settings = {
  name: 'wave-1',
  include_expression: 'name.startsWith("web")',
  defaults: { placement: { target: 'oslo' } },
  require_approval: true,
}

const fileOf = async (content: unknown): Promise<string> => {
  const path = join(await tempDir(), 'batch.json')
  await writeFile(path, typeof content === 'string' ? content : JSON.stringify(content))
  return path
}

beforeAll(async () => {
  const paris = await addSite(db, 'paris', { quiet: true })
  await addSite(db, 'oslo', { role: 'target', quiet: true })
  for (const name of ['web-1', 'web-2', 'db-1'])
    await addInstance(db, paris, {
      facts: sampleInstance({ name, ref: `vm-${name}`, uuid: uuidv7() }),
      rulesVersion,
    })
})

test('a batch goes from a file over a plan and its approval to a queue, and away again', async () => {
  expect((await run('batches', 'list')).stdout).toContain('There are no batches')
  const broken = await run('batches', 'add', '--file', await fileOf('{'))
  expect([broken.code, broken.stderr]).toEqual([2, expect.stringContaining('holds no JSON')])
  const wrong = await run(
    'batches',
    'add',
    '--file',
    await fileOf({ ...settings, include_expression: 'nam' }),
  )
  expect([wrong.code, wrong.stderr]).toEqual([1, expect.stringContaining('filter-invalid')])
  expect((await run('batches', 'add', '--file', await fileOf(settings))).stdout).toContain('is defined')
  await soon('the instances are found', async () => (await json('batches', 'show', 'wave-1')).matched === 2)
  const members = await run('batches', 'instances', 'wave-1')
  expect(members.stdout).toMatch(/web-1 +paris +matched/)
  expect(members.stdout).toMatch(/db-1 +paris +excluded .*does not match/)

  const plan = await run('batches', 'plan', 'wave-1')
  expect(plan).toMatchObject({ code: 0 })
  expect(plan.stdout).toMatch(/instances +0 go, 2 blocked, 0 in conflict/)
  expect(plan.stdout).toContain('no history yet')
  const [kept] = (await json('batches', 'plans', 'wave-1')).items
  const id = String(kept?.id)
  expect((await run('batches', 'plan-show', 'wave-1', id)).stdout).toContain(String(kept?.digest))
  const early = await run('batches', 'start', 'wave-1')
  expect([early.code, early.stderr]).toEqual([1, expect.stringContaining('batch-not-approved')])
  expect((await run('batches', 'approve', 'wave-1', id)).stdout).toContain('is approved')

  expect((await run('batches', 'start', 'wave-1')).stdout).toContain('makes its entries')
  const stopped = await run('batches', 'stop', 'wave-1')
  expect(stopped.stdout).toContain('is stopped')
  await run('batches', 'start', 'wave-1')
  await soon(
    'the entries are made',
    async () => (await json('queue', 'list', '--batch', 'wave-1')).items.length === 2,
  )
  expect((await run('batches', 'show', 'wave-1')).stdout).toMatch(/approval +plan/)
})

test('entries are shown, given up one by one and together, tried again, and taken off', async () => {
  const [one] = (await json('queue', 'list')).items
  const id = String(one?.id)
  const shown = await run('queue', 'show', id)
  expect(shown.stdout).toMatch(/name +web-1/)
  expect(shown.stdout).toMatch(/you can +cancel/)
  expect((await run('queue', 'cancel')).code).toBe(2)
  expect((await run('queue', 'cancel', '--batch', 'wave-1')).stderr).toContain('--confirm')
  const miscounted = await run('queue', 'cancel', '--batch', 'wave-1', '--confirm', '5')
  expect([miscounted.code, miscounted.stderr]).toEqual([1, expect.stringContaining('count-differs')])
  const canceled = await run('queue', 'cancel', '--batch', 'wave-1', '--confirm', '2')
  expect(canceled.stdout).toContain('2 of 2 entries')
  await soon(
    'both are given up',
    async () => (await json('queue', 'list', '--state', 'canceled')).items.length === 2,
  )
  expect((await run('queue', 'retry', id)).stdout).toContain('is waiting now')
  await run('queue', 'cancel', id)
  await soon('it is given up', async () => (await json('queue', 'show', id)).state === 'canceled')
  expect((await run('queue', 'remove', id)).stdout).toContain('off the list')
  const watched = await run('batches', 'watch', 'wave-1')
  expect([watched.code, watched.stdout]).toEqual([1, expect.stringContaining('1 canceled')])
})

test('a batch is reset, changed by a file that names one field, and removed', async () => {
  expect((await run('batches', 'reset', 'wave-1', '--force')).stdout).toContain('is defined again')
  await soon('the entries are gone', async () => (await json('queue', 'list')).items.length === 0)
  const file = await fileOf({ include_expression: 'true' })
  expect((await run('batches', 'set', 'wave-1', '--file', file)).stdout).toContain('is changed')
  const changed = await json('batches', 'show', 'wave-1')
  expect(changed).toMatchObject({ include_expression: 'true', require_approval: true, approval: null })
  expect((await run('batches', 'remove', 'wave-1')).stdout).toContain('removed')
  expect((await run('batches', 'show', 'wave-1')).code).toBe(1)
  expect((await run('certificates', 'list')).stdout).toContain('There are no certificates.')
  expect((await run('certificates', 'get', uuidv7())).code).toBe(1)
})
