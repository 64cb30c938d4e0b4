import { PassThrough } from 'node:stream'
import { beforeEach, expect, test } from 'vitest'
import type { Db } from '../../../db/client.ts'
import { runCli } from '../../../src/cli/run.ts'
import { readConfig } from '../../../src/config/config.ts'
import { runApi } from '../../../src/roles/api.ts'
import { createSealer } from '../../../src/seal/seal.ts'
import { enterKey } from '../../../src/sealing/key-check.ts'
import { adminEnv, adminToken } from '../../support/admin-token.ts'
import { atEnd } from '../../support/cleanup.ts'
import { createDatabase } from '../../support/postgres.ts'
import { until } from '../../support/wait.ts'
import { clientOf, depsOver } from '../setup.ts'
import { askTemplate, emptyTemplates, failSwap, finishSwap, importImage } from './template-rows.ts'

const { db, url } = await createDatabase()
await enterKey(db, createSealer('a'.repeat(64)))
const api = await runApi(
  readConfig({
    ...{ DATABASE_URL: url, DROVER_SECRET_KEY: 'a'.repeat(64), DROVER_PORT: '0', DROVER_LOG_LEVEL: 'silent' },
    ...adminEnv,
  }),
)
atEnd(() => api.stop())
const call = clientOf(depsOver(db))

const run = async (...line: string[]) => {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()]
  const env = { DROVER_URL: `http://127.0.0.1:${api.port}`, DROVER_TOKEN: adminToken }
  const code = await runCli(line, { env, stdout, stderr, signal: new AbortController().signal })
  return { code, stdout: String(stdout.read() ?? ''), stderr: String(stderr.read() ?? '') }
}

/** Does the work of a swap as soon as it was asked for. */
const work = async (end: (of: Db, name: string) => Promise<void>) => {
  await until(
    async () => (await db`select from job where kind = 'swap-template' and finished_at is null`).length === 1,
    { what: 'a swap to be asked for' },
  )
  await end(db, 'debian')
}

beforeEach(() => emptyTemplates(db))

test('an image is imported, listed, shown, and deleted with its copies by number', async () => {
  const both = await run('images', 'import', 'debian-13', '--target', 'oslo')
  expect([both.code, both.stderr]).toEqual([2, expect.stringContaining('Give either --url or --file.')])
  const source = ['--target', 'oslo', '--url', 'https://images.example.org/a.ova', '--folder', 'golden']
  const made = await run('images', 'import', 'debian-12', ...source, '--require-manifest')
  expect([made.code, made.stdout]).toEqual([0, expect.stringContaining('debian-12 is being imported: job ')])
  const asJson = JSON.parse((await run('images', 'show', 'debian-12', '--json')).stdout)
  expect(asJson).toMatchObject({ require_manifest: true, replicas: [{ folder: 'golden' }] })
  await importImage(db, call, 'debian-13', '13.1')
  const listed = (await run('images', 'list', '--state', 'ready')).stdout
  expect(listed).toMatch(/debian-13\s+ready\s+1 MiB\s+Debian\s+13\.1\s+oslo/)
  expect(listed).not.toContain('debian-12')
  const shown = (await run('images', 'show', 'debian-13')).stdout
  expect(shown).toMatch(/copy\s+oslo, golden, ready, on the shelf/)
  expect(shown).toMatch(/disk disk-1\s+4 GiB, vmdk-stream/)
  const asked = await run('images', 'delete', 'debian-13', '--destroy')
  expect([asked.code, asked.stderr]).toEqual([2, expect.stringContaining('Add --confirm 1, or --yes.')])
  const gone = await run('images', 'delete', 'debian-13', '--destroy', '--confirm', '1')
  expect([gone.code, gone.stdout]).toEqual([0, expect.stringContaining('its copies go with: ')])
})

test('a template is added, updated, rolled back and forgotten; --wait follows the swap and says how it ended', async () => {
  await importImage(db, call, 'debian-13', '13.0')
  await importImage(db, call, 'debian-14', '14.0')
  const added = run(
    ...[
      'templates',
      'add',
      'debian',
      '--target',
      'oslo',
      '--folder',
      'golden',
      '--image',
      'debian-13',
      '--wait',
    ],
  )
  await work(finishSwap)
  expect(await added).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/points at\s+debian-13 \(version 1\)/),
  })
  const planned = (await run('templates', 'plan', 'debian', 'debian-14')).stdout
  expect(planned).toMatch(/2\. stage: [\s\S]*4\. promote: [\s\S]*Nothing is uploaded\./)
  const updated = run('templates', 'update', 'debian', 'debian-14', '--wait')
  await work(failSwap)
  expect(await updated).toMatchObject({ code: 1, stdout: expect.stringMatching(/remedy\s+Make room\./) })
  const again = run('templates', 'recover', 'debian', '--wait')
  await work(finishSwap)
  expect((await again).code).toBe(0)
  expect((await run('templates', 'plan', 'debian')).stdout).toContain('debian to debian-13:')
  const back = await run('templates', 'rollback', 'debian', '--json')
  expect(JSON.parse(back.stdout)).toMatchObject({ image: 'debian-13', version_wanted: 3 })
  expect((await run('templates', 'list')).stdout).toMatch(
    /debian\s+oslo\s+golden\s+swapping\s+debian-14\s+2\s+debian-13/,
  )
  const versions = (await run('templates', 'versions', 'debian')).stdout
  expect(versions).toMatch(/3\s+debian-13\s+wanted\s+rollback/)
  expect(versions).toMatch(/2\s+debian-14\s+live\s+update\s+\S+\s.*900 ms\s+40 ms/)
  expect((await run('templates', 'forget', 'debian')).stderr).toContain('Wait for its end, or cancel the job')
  await finishSwap(db, 'debian')
  expect((await run('templates', 'forget', 'debian')).stdout).toContain('It is forgotten.')
})

test('the settings of a template are set, and an empty change is refused', async () => {
  await importImage(db, call, 'debian-13')
  await askTemplate(call)
  const nothing = await run('templates', 'set', 'debian')
  expect([nothing.code, nothing.stderr]).toEqual([2, expect.stringContaining('Say what to change')])
  const words = ['--keep-versions', '4', '--allow-downgrade', 'true', '--pool', 'fast']
  expect((await run('templates', 'set', 'debian', ...words)).code).toBe(0)
  const shown = JSON.parse((await run('templates', 'show', 'debian', '--json')).stdout)
  expect(shown).toMatchObject({ keep_versions: 4, allow_downgrade: true, pool: 'fast', grace_seconds: 600 })
})
