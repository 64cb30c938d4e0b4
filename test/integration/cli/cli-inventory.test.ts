import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { v7 as uuidv7 } from 'uuid'
import { beforeAll, expect, test } from 'vitest'
import { runCli } from '../../../src/cli/run.ts'
import { rulesVersion } from '../../../src/domain/inventory/rules/catalogue.ts'
import {
  addFinding,
  addInstance,
  addMigrated,
  addNetwork,
  addSite,
} from '../../api/inventory/inventory-rows.ts'
import { startFleet } from '../../browser/fleet.ts'
import { addMachine } from '../../support/machines.ts'
import { freePort, tempDir } from '../../support/temp.ts'
import { sampleInstance, sampleNetwork, sampleNic } from '../../unit/inventory/samples.ts'

const fleet = await startFleet()
const { db } = fleet.database
const secret = 'planted-secret-7f3a'

interface Extras {
  readonly env?: NodeJS.ProcessEnv
  readonly stdin?: string
  readonly terminal?: boolean
}

/** What a person types at a terminal, key by key; remembers whether it was hidden. */
const keyboard = (text: string, isTTY: boolean) => {
  const modes: boolean[] = []
  const keys = (async function* () {
    for (const key of text) yield key
  })()
  return Object.assign(keys, { isTTY, modes, setRawMode: (raw: boolean) => modes.push(raw) })
}

const run = async (line: readonly string[], extras: Extras = {}) => {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()]
  const chunks: Buffer[] = []
  stdout.on('data', (chunk: Buffer) => chunks.push(chunk))
  const stdin = keyboard(extras.stdin ?? '', extras.terminal ?? false)
  const code = await runCli(line, {
    env: { DROVER_URL: fleet.url, DROVER_TOKEN: fleet.adminToken, ...extras.env },
    stdout,
    stderr,
    stdin,
    signal: new AbortController().signal,
  })
  const said = { stdout: Buffer.concat(chunks).toString(), stderr: String(stderr.read() ?? '') }
  expect(said.stdout + said.stderr).not.toContain(secret)
  return { code, ...said, modes: stdin.modes }
}

const json = async (...line: string[]) => {
  const result = await run([...line, '--json'])
  expect({ line, ...result }).toMatchObject({ code: 0 })
  return JSON.parse(result.stdout) as Record<string, unknown> & { items: Record<string, unknown>[] }
}

const nowhere = `http://127.0.0.1:${await freePort()}`
const ids = { web: '', db: '', network: '' }

beforeAll(async () => {
  const site = await addSite(db, 'paris', { quiet: true })
  ids.network = await addNetwork(db, site, sampleNetwork({ ref: 'network-9', name: 'shop' }))
  ids.web = await addInstance(db, site, {
    facts: sampleInstance({
      name: 'web',
      ref: 'vm-1',
      uuid: uuidv7(),
      nics: [sampleNic({ network_ref: 'network-9' })],
    }),
    rulesVersion,
  })
  ids.db = await addInstance(db, site, {
    facts: sampleInstance({ name: 'db', ref: 'vm-2', uuid: uuidv7(), attributes: {}, cpus: 8 }),
    readiness: 'blocked',
    rulesVersion,
  })
  await addFinding(db, { instanceId: ids.db, rule: 'disk-raw', severity: 'critical' })
})

test('a source is added with a password from the environment, and the wait shows why it is not connected', async () => {
  const line = ['sources', 'add', 'lyon', nowhere, '--kind', 'lab', '--username', 'drover']
  const added = await run([...line, '--setting', 'import_limit=3', '--wait'], {
    env: { DROVER_SITE_PASSWORD: secret },
  })
  expect(added.stdout).toMatch(/connectivity +cannot-connect/)
  expect(added.stdout).toMatch(/import_limit +3/)
  expect(added.code).toBe(1)
  expect((await run(['sources', 'list'])).stdout).toMatch(/lyon +lab +cannot-connect/)
  expect((await run(['sources', 'list', '--connectivity', 'tls-error'])).stdout).toBe('Nothing fits.\n')
  const sync = await run(['sources', 'sync', 'lyon'])
  expect(sync.code).toBe(1)
  expect(sync.stderr).toContain('site-not-connected')
  const checked = await run(['sources', 'check', 'lyon', '--wait'])
  expect(checked.stdout).toMatch(/connectivity +cannot-connect/)
  expect(checked.code).toBe(1)
  expect((await run(['sources', 'remove', 'lyon'])).code).toBe(0)
  expect((await run(['sources', 'show', 'lyon'])).code).toBe(1)
})

test('a source with finished migrations is removed by their number, or by a person who was told what goes', async () => {
  const site = await addSite(db, 'nice', { quiet: true })
  const [one, two] = await Promise.all(
    ['one', 'two'].map((name, at) =>
      addInstance(db, site, {
        facts: sampleInstance({ name, ref: `vm-${at}`, uuid: uuidv7() }),
        rulesVersion,
      }),
    ),
  )
  await addMigrated(db, String(one), 'to-lyon')
  const goes = 'What is known of nice goes with it: 2 machines.'
  const silent = await run(['sources', 'remove', 'nice'])
  expect(silent.code).toBe(2)
  expect(silent.stderr).toContain('This forgets a finished migration: one.')
  expect(silent.stderr).toContain(goes)
  expect(silent.stderr).toContain('--confirm 1')
  expect((await run(['sources', 'remove', 'nice', '--confirm', '2'])).code).toBe(2)
  const no = await run(['sources', 'remove', 'nice'], { stdin: 'n\n', terminal: true })
  expect([no.code, no.stderr]).toEqual([2, expect.stringContaining(goes)])
  await addMigrated(db, String(two), 'to-oslo')
  expect((await run(['sources', 'remove', 'nice', '--confirm', '1'])).code).toBe(2)
  expect((await json('sources', 'show', 'nice')).forgets).toMatchObject({ finished: 2, machines: 2 })
  expect((await run(['sources', 'remove', 'nice', '--confirm', '2'])).stdout).toContain('It is removed.')
})

test('a person is asked before a target goes of which nothing has finished, and a script is not', async () => {
  const target = await addSite(db, 'bergen', { role: 'target', quiet: true })
  await addMachine(db, { targetId: target, name: 'mail' })
  const no = await run(['targets', 'remove', 'bergen'], { stdin: 'n\n', terminal: true })
  expect([no.code, no.stderr]).toEqual([2, expect.stringContaining('goes with it: 1 machine.')])
  expect((await run(['targets', 'remove', 'bergen'])).code).toBe(0)
})

test('a password comes from standard input, from a terminal without echo, or not at all', async () => {
  const line = (name: string) => ['targets', 'add', name, nowhere, '--kind', 'lab', '--username', 'drover']
  expect((await run([...line('one'), '--password-stdin'], { stdin: `${secret}\n` })).code).toBe(0)
  const asked = await run(line('two'), { stdin: `x\u007f${secret}\r`, terminal: true })
  expect(asked).toMatchObject({ code: 0, modes: [true, false] })
  expect(asked.stderr).toContain(`Password of drover at ${nowhere}`)
  const none = await run(line('three'))
  expect(none).toMatchObject({ code: 2 })
  expect(none.stderr).toContain('--password-stdin')
  expect((await run([...line('three'), '--password-stdin'])).stderr).toContain('holds no password')
  const stopped = await run(line('three'), { stdin: 'abc\u0003', terminal: true })
  expect(stopped).toMatchObject({ code: 2, modes: [true, false] })
  expect((await json('targets', 'list')).items.map(({ name }) => name)).toEqual(['one', 'two'])
})

test('a target is changed by what is given, and a new address asks for the password', async () => {
  await run(['targets', 'add', 'three', nowhere, '--kind', 'lab', '--username', 'a', '--password-stdin'], {
    stdin: secret,
  })
  expect(
    (await run(['targets', 'set', 'three', '--setting', 'create_limit=2', '--username', 'b'])).code,
  ).toBe(0)
  expect(await json('targets', 'show', 'three')).toMatchObject({
    username: 'b',
    settings: { create_limit: 2 },
  })
  const refused = await run(['targets', 'set', 'three', '--endpoint', `${nowhere}/other`])
  expect(refused.stderr).toContain('The password is needed')
  expect((await run(['targets', 'set', 'three', '--setting', 'nonsense'])).code).toBe(2)
  expect((await run(['targets', 'set', 'three'])).stderr).toContain('Say what to change')
  const wrong = await run(['targets', 'confirm', 'three', 'ab'.repeat(32)])
  expect(wrong.stderr).toContain('nothing-to-confirm')
})

test('instances are listed, counted, filtered, and a wrong filter is shown with a caret', async () => {
  const list = await run(['instances', 'list', '--source', 'paris'])
  expect(list.stdout).toMatch(/paris +web +on +ubuntu 22\.04 +2 +4\.0 GiB/)
  expect(list.stdout).toMatch(/db .* blocked +disk-raw/)
  expect((await run(['instances', 'count', '--filter', 'cpus > 4'])).stdout).toBe('1 of 2 match.\n')
  const wrong = await run(['instances', 'list', '--filter', 'cpus >> 4'])
  expect(wrong.code).toBe(1)
  expect(wrong.stderr.split('\n').slice(1, 3)).toEqual(['cpus >> 4', '      ^'])
  const failing = await run(['instances', 'count', '--filter', 'attributes["owner"] != ""'])
  expect(failing.stderr).toContain(`1 could not be judged by the filter`)
  expect(failing.stderr).toContain(ids.db)
})

test('an instance is shown, overridden, and switched', async () => {
  expect((await run(['instances', 'show', ids.db])).stdout).toMatch(/critical +disk-raw/)
  const set = await run(['instances', 'overrides', ids.web, '--set', '{"cpus": 6, "comment": "agreed"}'])
  expect(set.stdout).toMatch(/cpus +6/)
  expect((await run(['instances', 'overrides', ids.web])).stdout).toMatch(/comment +agreed/)
  expect((await run(['instances', 'overrides', ids.web, '--set', '{}', '--clear'])).code).toBe(2)
  expect((await run(['instances', 'overrides', ids.web, '--clear'])).code).toBe(0)
  expect((await run(['instances', 'overrides', ids.web])).stdout).toContain('There are no overrides')
  expect((await run(['instances', 'power', ids.web, 'fly'])).code).toBe(2)
  const power = await json('instances', 'power', ids.web, 'start')
  expect(power).toMatchObject({ kind: 'power-instance', existing: false })
  const track = await json('instances', 'track', ids.db, '--reset')
  expect(track).toMatchObject({ kind: 'track-instance' })
  for (const { id } of [power, track]) await run(['jobs', 'cancel', String(id), '--wait'])
})

test('overrides that are set keep those that are not named, and null takes one of them away', async () => {
  const set = async (which: string, what: Record<string, unknown>) =>
    (
      await json(
        which,
        'overrides',
        which === 'instances' ? ids.web : ids.network,
        '--set',
        JSON.stringify(what),
      )
    ).overrides
  await set('instances', { cpus: 6, comment: 'agreed', attributes: { owner: 'ada', tier: 'db' } })
  expect(await set('instances', { memory: 1_073_741_824, attributes: { tier: null } })).toEqual({
    ...{ cpus: 6, comment: 'agreed', memory: 1_073_741_824 },
    attributes: { owner: 'ada' },
  })
  expect(await set('instances', { cpus: null, attributes: null })).toEqual({
    comment: 'agreed',
    memory: 1_073_741_824,
  })
  expect((await run(['instances', 'overrides', ids.web, '--clear'])).code).toBe(0)
  await set('networks', { network: 'x', nictype: 'bridged' })
  expect(await set('networks', { vlan_id: '7' })).toEqual({ network: 'x', nictype: 'bridged', vlan_id: '7' })
  const refused = await run(['networks', 'overrides', ids.network, '--set', '{"nictype": "managed"}'])
  expect([refused.code === 0, refused.stderr]).toEqual([false, expect.stringContaining('vlan_id')])
  expect(await set('networks', { nictype: 'managed', vlan_id: null })).toEqual({
    network: 'x',
    nictype: 'managed',
  })
  expect((await run(['networks', 'overrides', ids.network, '--clear'])).code).toBe(0)
  expect((await run(['instances', 'overrides', ids.web, '--set', '[1]'])).code).toBe(2)
  const help = await run(['help', 'instances', 'overrides'])
  expect(help.stdout).toContain('null takes')
})

test('networks, hosts, storage and projects are shown', async () => {
  expect((await run(['networks', 'list'])).stdout).toMatch(/paris +shop/)
  expect((await run(['networks', 'instances', ids.network])).stdout).toContain('web')
  const mapped = await run([
    'networks',
    'overrides',
    ids.network,
    '--set',
    '{"network":"x","nictype":"managed"}',
  ])
  expect(mapped.stdout).toMatch(/network +x/)
  expect((await json('networks', 'show', ids.network)).placement).toMatchObject({ network: 'x' })
  expect((await run(['networks', 'overrides', ids.network, '--clear'])).code).toBe(0)
  for (const noun of ['hosts', 'storage', 'projects'])
    expect((await run([noun])).stdout).toMatch(/^There (are|is) no \w+\.\n$/)
})

test('rules are waived, assessed, and exported', async () => {
  expect((await run(['rules'])).stdout).toMatch(/^disk-raw +critical +1 +0/m)
  expect((await run(['assessment'])).stdout).toMatch(/^all +2 +\d +\d +1/m)
  expect((await run(['assessment', '--filter', 'cpus > 4'])).stdout).toMatch(/^all +1 +0 +0 +1/m)
  const csv = await run(['assessment', '--csv'])
  expect(csv.stdout).toMatch(/^"source","name"/)
  expect(csv.stdout).toContain('"disk-raw"')
  expect((await run(['assessment', 'instances', '--rule', 'disk-raw'])).stdout).toMatch(/db .* disk-raw/)
  expect((await run(['waivers', 'add', 'no-ipv4'])).code).toBe(2)
  const waiver = await json('waivers', 'add', 'no-ipv4', '--reason', 'by DHCP')
  expect((await run(['waivers', 'list'])).stdout).toMatch(/no-ipv4 +the fleet/)
  expect((await run(['waivers', 'remove', String(waiver.id)])).code).toBe(0)
})

test('warnings are read and acknowledged', async () => {
  const id = uuidv7()
  await db`
    insert into warning (id, type, entity_type, entity_id, entity_name, messages)
    values (${id}, 'instances-ignored', 'source', 'paris', 'paris', '[{"text":"two were left out",
      "first_seen_at":"2026-11-18T14:00:00.000Z","last_seen_at":"2026-11-18T15:00:00.000Z"}]')`
  expect((await run(['warnings', 'list', '--entity', 'source/paris'])).stdout).toContain('two were left out')
  expect((await run(['warnings', 'acknowledge', id])).stdout).toContain('paris is acknowledged')
  expect((await run(['warnings', 'show', id])).stdout).toMatch(/status +acknowledged/)
  expect((await run(['warnings', 'reopen', id])).code).toBe(0)
})

test('a dump goes to standard output, whole and without secrets', async () => {
  const { stdout, code } = await run(['sources', 'dump', 'paris'])
  expect(code).toBe(0)
  const types = stdout
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as { type: string }).type)
  expect(types.slice(0, 2)).toEqual(['dump', 'source'])
  expect(types.at(-1)).toBe('end')
  expect((await run(['sources', 'dump', 'nowhere'])).code).toBe(1)
})

test('certificates come from a file', async () => {
  const file = join(await tempDir('ca'), 'ca.pem')
  await writeFile(file, 'no certificate')
  const line = ['sources', 'add', 'x', nowhere, '--username', 'a', '--password-stdin', '--ca']
  const refused = await run([...line, file], { stdin: secret })
  expect(refused.stderr).toContain('ca: must be certificates in PEM')
  expect((await run([...line, `${file}.none`], { stdin: secret })).code).toBe(2)
  expect(await readFile(file, 'utf8')).toBe('no certificate')
})

test('machines are listed, named by what they are called, and given a policy', async () => {
  const targetId = await addSite(db, 'oslo', { role: 'target', quiet: true })
  const id = await addMachine(db, { name: 'web 1', targetId, power: 'off' })
  await addMachine(db, { name: 'twin', targetId })
  await addMachine(db, { name: 'twin', targetId })
  const listed = await run(['machines', 'list', '--target', 'oslo', '--phase', 'stopped'])
  expect(listed.stdout).toMatch(/web 1 +node-1 +stopped +manual +1 +1.0 GiB/)
  expect(listed.stdout).not.toContain('twin')
  expect((await json('machines', 'list', '--filter', 'name == "twin"')).items).toHaveLength(2)
  expect((await run(['machines', 'list', '--host', 'nowhere'])).stdout).toBe('Nothing fits.\n')
  expect((await run(['machines', 'show', 'web 1'])).stdout).toMatch(new RegExp(`id +${id}`))
  expect(await run(['machines', 'show', 'twin'])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('Several machines are called twin'),
  })
  expect((await run(['machines', 'set-policy', 'web 1', 'sometimes'])).code).toBe(2)
  expect((await run(['machines', 'set-policy', 'web 1', 'always-off'])).stdout).toBe(
    'web 1 is always-off now; it was manual.\n',
  )
  expect(await json('machines', 'show', id)).toMatchObject({ run_policy: 'always-off', version: 2 })
  expect((await run(['machines', 'list', '--run-policy', 'always-off'])).stdout).toContain('web 1')
})
