import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { v7 as uuidv7 } from 'uuid'
import { expect, test } from 'vitest'
import { commands } from '../../../src/cli/commands.ts'
import type { Command } from '../../../src/cli/kit/command.ts'
import { runCli } from '../../../src/cli/run.ts'
import { readConfig } from '../../../src/config/config.ts'
import { runApi } from '../../../src/roles/api.ts'
import { createSealer } from '../../../src/seal/seal.ts'
import { enterKey } from '../../../src/sealing/key-check.ts'
import { adminEnv, adminToken } from '../../support/admin-token.ts'
import { atEnd } from '../../support/cleanup.ts'
import { createDatabase } from '../../support/postgres.ts'
import { repositoryRoot } from '../../support/processes.ts'
import { tempDir } from '../../support/temp.ts'
import { clientOf, depsOver } from '../setup.ts'
import { makeHostileFleet } from './hostile-fleet.ts'

/** Every command of the command line, over a real API whose rows hold hostile words in every text of a platform. */

const { db, url } = await createDatabase()
const deps = depsOver(db, { limits: { requestsPerSecond: 10_000, requestsBurst: 10_000 } })
await makeHostileFleet(db, clientOf(deps))
// As `migrate` with this key does: what tests seal with another one is then no reason to end.
await enterKey(db, createSealer('5'.repeat(64)))
const api = await runApi(
  readConfig({
    ...{ DATABASE_URL: url, DROVER_SECRET_KEY: '5'.repeat(64), DROVER_PORT: '0', DROVER_LOG_LEVEL: 'silent' },
    ...adminEnv,
  }),
)
atEnd(() => api.stop())
const env = { DROVER_URL: `http://127.0.0.1:${api.port}`, DROVER_TOKEN: adminToken }

const oneOf = async (table: string, where = 'true'): Promise<string> => {
  const [row] = await db.unsafe<{ id: string }[]>(
    `select id from ${table} where ${where} order by id limit 1`,
  )
  if (!row) throw new Error(`There is no ${table} where ${where}.`)
  return row.id
}

const failedJob = await oneOf('job', "state = 'failed'")
const plan = await oneOf('batch_plan')
const certificate = await oneOf('certificate')
const machine = await oneOf('machine')
const operation = await oneOf('operation', "state = 'failed'")
const file = join(await tempDir('cli'), 'certificate.json')
writeFileSync(file, (await clientOf(deps)('GET', `/v1/certificates/${certificate}`)).text)
const batchFile = join(await tempDir('cli'), 'batch.json')
writeFileSync(
  batchFile,
  JSON.stringify({ name: 'wave-2', include_expression: 'true', defaults: { placement: { target: 'oslo' } } }),
)

/** What stands for the one argument of a command, by the first word of its name. */
const things: Readonly<Record<string, string>> = {
  ...{ sources: 'paris', targets: 'oslo', batches: 'wave-1', machines: machine, operations: operation },
  ...{
    instances: await oneOf('instance'),
    networks: await oneOf('network'),
    warnings: await oneOf('warning'),
  },
  ...{
    queue: await oneOf('entry'),
    certificates: certificate,
    jobs: failedJob,
    effects: await oneOf('effect'),
  },
  ...{ images: await oneOf('image'), templates: 'debian' },
  ...{ webhooks: uuidv7(), waivers: uuidv7(), tokens: 'somebody', self: 'self-test/none' },
}

const dryRun = [machine, '--dry-run']
/** Lines of commands that want more than the one thing. */
const lines: Readonly<Record<string, readonly (readonly string[])[]>> = {
  'sources add': [['rome', 'http://127.0.0.1:1/']],
  'targets add': [['rome', 'http://127.0.0.1:1/']],
  'sources set': [['paris', '--setting', 'import_limit=2']],
  'targets set': [['oslo', '--setting', 'import_limit=2']],
  'sources confirm': [['paris', 'ab'.repeat(32)]],
  'targets confirm': [['oslo', 'ab'.repeat(32)]],
  'instances power': [[things.instances ?? '', 'start']],
  'waivers add': [['shared-disk', '--instance', things.instances ?? '', '--reason', 'tested']],
  assessment: [[], ['--csv']],
  'assessment instances': [['--rule', 'shared-disk'], []],
  'batches add': [['--file', batchFile]],
  'batches set': [['wave-1', '--file', batchFile]],
  'batches reset': [['wave-1', '--force']],
  'batches watch': [['wave-1', '--until-blocked']],
  'batches plan': [['wave-1', '--no-wait']],
  'batches plan-show': [['wave-1', plan]],
  'batches approve': [['wave-1', plan]],
  'machines set-policy': [[machine, 'always-on']],
  ...Object.fromEntries(
    ['start', 'stop', 'restart', 'hibernate', 'wake', 'evict'].map((kind) => [kind, [dryRun]]),
  ),
  snapshot: [[...dryRun, '--name', 'before']],
  restore: [[...dryRun, '--snapshot', 'before']],
  clone: [[...dryRun, '--name', 'copy']],
  migrate: [[...dryRun, '--host', 'node-2']],
  'operations show': [[operation], [operation, '--conditions'], [operation, '--wait']],
  'operations create': [['stop', machine, '--dry-run']],
  'operations bulk': [['stop', '--target', 'oslo', '--dry-run']],
  'images import': [['debian-15', '--target', 'oslo', '--file', '/srv/debian.ova']],
  'templates add': [['other', '--target', 'oslo', '--image', 'debian-13']],
  'templates set': [['debian', '--keep-versions', '3']],
  'templates update': [['debian', 'debian-13']],
  'templates plan': [['debian', 'debian-13'], ['debian']],
  verify: [[file]],
  'jobs show': [[failedJob], [failedJob, '--wait']],
  'jobs add': [['self-test']],
  pause: [['kind', 'self-test', '--reason', 'tested']],
  resume: [['kind', 'self-test']],
  'effects waive': [[things.effects ?? '', '--reason', 'tested']],
  'webhooks add': [['chat', 'http://127.0.0.1:1/hook']],
  'webhooks set': [[uuidv7(), '--name', 'other']],
  'tokens add': [['somebody', '--role', 'viewer']],
  'settings get': [['retention-events-days']],
  'settings set': [['retention-events-days', '400']],
  'limits get': [['target-imports/oslo']],
  'limits set': [['target-imports/oslo', '3']],
  'limits reset': [['target-imports/oslo']],
  'self-test': [['--jobs', '1']],
}

const linesOf = ({ name, args = [] }: Command): readonly (readonly string[])[] => {
  const [noun = ''] = name.split(' ')
  const own = lines[name] ?? [
    args.some(({ optional }) => !optional) || args.length > 0 ? [things[noun] ?? noun] : [],
  ]
  return own.map((rest) => [...name.split(' '), ...rest])
}

/** Commands that only look, and say nothing of a platform. */
const silent: Readonly<Record<string, string>> = {
  ...{
    'instances count': 'a number',
    rules: 'rules of ours',
    'batches watch': 'counts',
  },
  ...{ 'waivers list': 'words of people', 'operations matrix': 'kinds of ours' },
  ...{
    'signing-keys': 'keys of ours',
    kinds: 'kinds of ours',
    pauses: 'words of people',
    workers: 'processes',
  },
  ...{ 'events seals': 'numbers', 'events verify': 'numbers', 'webhooks list': 'words of people' },
  ...{
    'webhooks show': 'words of people',
    'tokens list': 'words of people',
    'settings list': 'settings of ours',
  },
  ...{ 'settings get': 'settings of ours', 'limits list': 'tokens of ours', 'limits get': 'tokens of ours' },
  ...{ 'self-test show': 'jobs of ours' },
}

const looksOnly = ({ covers }: Command): boolean => covers.every((one) => one.startsWith('GET '))
/** What takes things away comes last. */
const rank = (command: Command): number =>
  looksOnly(command) ? 0 : /remove|revoke|reset|cancel|waive/.test(command.name) ? 2 : 1
const all = [...commands].sort((a, b) => rank(a) - rank(b))

const harmful = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u
const harmfulIn = (text: string): string[] => text.split(/\r?\n/).filter((line) => harmful.test(line))

/** What is followed until something happens ends with Ctrl-C. */
const followMs = 3_000

const run = async (line: readonly string[], isTTY = false) => {
  const streams = [Object.assign(new PassThrough(), { isTTY }), new PassThrough()] as const
  const said: [string, string] = ['', '']
  for (const at of [0, 1] as const)
    streams[at].on('data', (chunk: Buffer) => {
      said[at] += String(chunk)
    })
  const signal = AbortSignal.timeout(line[1] === 'watch' ? followMs : 30_000)
  const code = await runCli(line, { env, stdout: streams[0], stderr: streams[1], signal })
  // How we move the cursor of a terminal ourselves.
  const moves = ['\r\u001b[2K', '\u001b[1A\u001b[2K']
  const stdout = isTTY ? moves.reduce((text, move) => text.replaceAll(move, ''), said[0]) : said[0]
  return { code, stdout, stderr: said[1] }
}

const marker = /photo(?:⟨202E⟩|\\u202e)gpj\.exe/

test.each(all.map((command) => ({ name: command.name, command })))(
  'drover $name prints hostile words as words, also as JSON and on a terminal',
  async ({ name, command }) => {
    let told = false
    for (const line of linesOf(command)) {
      for (const [more, isTTY] of [
        [[], false],
        [['--json'], false],
        [[], true],
      ] as const) {
        // A change is asked for once; its answer as JSON is asked for by the next try.
        const { code, stdout, stderr } = await run([...line, ...more], isTTY)
        const signed = name === 'certificates get' && !isTTY
        expect(harmfulIn(signed ? stderr : `${stdout}\n${stderr}`), line.join(' ')).toEqual([])
        expect(`${stdout}${stderr}`, line.join(' ')).not.toContain('This is a defect in Drover.')
        expect(
          [0, 1, 2, 4, 5, ...(line[1] === 'watch' ? [130] : [])],
          `${line.join(' ')}: ${stderr}`,
        ).toContain(code)
        if (looksOnly(command)) expect(code, `${line.join(' ')}: ${stderr}`).not.toBe(2)
        told ||= marker.test(`${stdout}${stderr}`)
      }
    }
    if (looksOnly(command) && command.covers.length > 0) expect(told).toBe(silent[name] === undefined)
  },
)

test.each([
  ['queue', 'show', things.queue ?? ''],
  ['operations', 'show', operation],
  ['batches', 'show', 'wave-1'],
  ['jobs', 'show', failedJob],
  ['jobs', 'photo\u202egpj.exe\u001b[2J', ''],
])('the program itself prints drover %s %s %s without what steers a terminal', async (...line) => {
  const child = spawn(process.execPath, [join(repositoryRoot, 'src/roles/drover.mjs'), ...line], {
    env: { ...env, PATH: process.env.PATH, HOME: await tempDir('home') },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const said: Buffer[] = []
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => said.push(chunk))
  await new Promise((resolve) => child.once('close', resolve))
  const text = new TextDecoder('utf8', { fatal: true }).decode(Buffer.concat(said))
  expect(text).toMatch(marker)
  expect(harmfulIn(text)).toEqual([])
})
