import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { runCli } from '../../../src/cli/run.ts'
import { startFleet } from '../../browser/fleet.ts'
import { startRole } from '../../support/processes.ts'
import { until } from '../../support/wait.ts'

const patience = { withinMs: 60_000 }
const password = 'drover-lab-of-this-test'
const fleet = await startFleet()
const lab = await startRole('lab', {
  DATABASE_URL: fleet.database.url,
  DROVER_LAB_PORT: '0',
  DROVER_LAB_PASSWORD: password,
  DROVER_LOG_LEVEL: 'info',
})
const [, port = ''] = await lab.line(/"port":(\d+)/, patience)
const endpoint = `http://127.0.0.1:${port}/sites`

const run = async (line: readonly string[], withPassword = password) => {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()]
  const chunks: Buffer[] = []
  stdout.on('data', (chunk: Buffer) => chunks.push(chunk))
  const code = await runCli(line, {
    env: { DROVER_URL: fleet.url, DROVER_TOKEN: fleet.adminToken, DROVER_SITE_PASSWORD: withPassword },
    stdout,
    stderr,
    signal: new AbortController().signal,
  })
  const said = { stdout: Buffer.concat(chunks).toString(), stderr: String(stderr.read() ?? '') }
  expect(said.stdout + said.stderr).not.toContain(password)
  return { code, ...said }
}

const json = async <Answer>(...line: string[]): Promise<Answer> =>
  JSON.parse((await run([...line, '--json'])).stdout) as Answer

interface Instances {
  readonly items: readonly { readonly id: string; readonly name: string }[]
}

const add = (noun: string, name: string, site: string) =>
  run([noun, 'add', name, `${endpoint}/${site}`, '--kind', 'lab', '--username', 'drover', '--wait'])

test('a source and a target are added, read by themselves, looked at, worked with, and removed', async () => {
  const added = await add('sources', 'vcenter', 'vcenter')
  expect(added.code, added.stdout + added.stderr).toBe(0)
  expect(added.stdout).toMatch(/connectivity +ok/)
  expect((await add('targets', 'cloud', 'cloud')).code).toBe(0)
  await until(async () => (await run(['instances', 'count'])).stdout === '24 of 24 match.\n', {
    what: 'the first sync to follow the check',
    ...patience,
  })
  expect((await run(['targets', 'sync', 'cloud', '--full', '--wait'])).code).toBe(0)
  expect((await run(['hosts', '--target', 'cloud'])).stdout).toContain('node-3')
  expect((await run(['assessment'])).stdout).toMatch(/^vcenter +24 /m)
  const { items } = await json<Instances>('instances', 'list', '--filter', 'name == "web-01" && running')
  expect(items).toHaveLength(1)
  const id = items[0]?.id ?? ''
  const off = await run(['instances', 'power', id, 'shutdown', '--wait', '--yes'])
  expect(off.code, off.stdout + off.stderr).toBe(0)
  expect((await run(['sources', 'sync', 'vcenter', '--wait'])).code).toBe(0)
  expect(await json('instances', 'show', id)).toMatchObject({ power_state: 'off', name: 'web-01' })
  const dump = await run(['sources', 'dump', 'vcenter'])
  expect(dump.stdout.match(/"type":"instance"/g)).toHaveLength(24)
})

test('a password that is wrong is named as such, stops syncs of that source alone, and is set right', async () => {
  expect((await add('sources', 'other', 'vcenter')).code).toBe(0)
  expect((await run(['sources', 'set', 'other', '--password'], 'wrong-password')).code).toBe(0)
  const state = async () =>
    (await json<{ connectivity: { state: string } }>('sources', 'show', 'other')).connectivity.state
  await until(async () => (await state()) === 'authentication-error', {
    what: 'the check to find out',
    ...patience,
  })
  const refused = await run(['sources', 'sync', 'other'])
  expect(refused.code).toBe(1)
  expect(refused.stderr).toContain('authentication-error')
  expect((await run(['sources', 'set', 'other', '--password'])).code).toBe(0)
  await until(async () => (await state()) === 'ok', { what: 'the check to be content', ...patience })
  await until(async () => (await run(['sources', 'remove', 'other'])).code === 0, {
    what: 'nothing to be under way for it',
    ...patience,
  })
  expect((await run(['sources', 'show', 'other'])).code).toBe(1)
})
