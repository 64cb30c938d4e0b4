import { request } from 'node:https'
import { expect, test } from 'vitest'
import { openLab } from '../../../src/platforms/lab/lab.ts'
import { createLog } from '../../../src/process/log.ts'
import { ImaginedSite, platformProblem } from '../../support/imagined-site.ts'
import {
  createInventoryWorker,
  eventsOf,
  instancesOf,
  makeSite,
  moveSite,
  siteOf,
  warningsOf,
} from '../../support/inventory.ts'
import { createLab, type TestLab } from '../../support/lab.ts'
import { jobOf } from '../../support/ledger.ts'
import { createDatabase } from '../../support/postgres.ts'

const { db } = await createDatabase()

let made = 0
const setUp = async () => {
  made += 1
  const name = `vc-${made}`
  const world = new ImaginedSite()
  for (let index = 1; index <= 3; index += 1) world.put({ ref: `vm-${made * 1_000 + index}` })
  await makeSite(db, { name })
  const worker = createInventoryWorker(db, world.open)
  const check = async () => jobOf(db, await worker.run('check-connection', { role: 'source', name }))
  return { name, world, worker, check }
}

const syncsOf = async (name: string) => db<{ id: string; payload: { mode: string; reason: string } }[]>`
  select id, payload from job where kind = 'sync-source' and subject_id = ${name} order by id`

test('a connection that works brings the first sync, once', async () => {
  const { name, check } = await setUp()
  expect(await check()).toMatchObject({ state: 'succeeded', result: { connectivity: 'ok', code: null } })
  expect(await check()).toMatchObject({ state: 'succeeded' })
  expect(await siteOf(db, name)).toMatchObject({
    ...{
      connectivity: 'ok',
      identity: { instance_id: 'imagined-1' },
      capabilities: ['inventory', 'inventory-delta'],
    },
  })
  expect((await syncsOf(name)).map((job) => job.payload)).toEqual([
    expect.objectContaining({ mode: 'full', reason: 'first' }),
  ])
  expect(await eventsOf(db, name)).toEqual(['source.connectivity-changed'])
})

test.each([
  ['platform-unreachable', 'cannot-connect'],
  ['platform-timeout', 'cannot-connect'],
  ['platform-redirects', 'cannot-connect'],
  ['platform-tls', 'tls-error'],
  ['platform-authentication', 'authentication-error'],
  ['platform-permission', 'authentication-error'],
] as const)('%s is %s, with a warning that goes when the connection is back', async (code, connectivity) => {
  const { name, world, check } = await setUp()
  await check()
  world.probeError = platformProblem(code)
  expect(await check()).toMatchObject({ state: 'succeeded', result: { connectivity, code } })
  const before = await siteOf(db, name)
  expect(before).toMatchObject({ connectivity, connectivityError: { code } })
  expect((await warningsOf(db, name)).map((row) => row.type)).toEqual(['connection-failed'])
  await check()
  expect((await siteOf(db, name)).connectivitySince).toEqual(before.connectivitySince)
  world.probeError = undefined
  await check()
  expect(await siteOf(db, name)).toMatchObject({ connectivity: 'ok', connectivityError: null })
  expect(await warningsOf(db, name)).toEqual([])
  expect((await eventsOf(db, name)).filter((type) => type === 'source.connectivity-changed')).toHaveLength(3)
})

test('an error that says nothing of the connection leaves what was known of it, and is told', async () => {
  const { name, world, check } = await setUp()
  world.probeError = platformProblem('platform-busy')
  expect(await check()).toMatchObject({ result: { connectivity: 'unknown', code: 'platform-busy' } })
  expect(await syncsOf(name)).toEqual([])
  world.probeError = undefined
  await check()
  world.probeError = platformProblem('platform-busy')
  expect(await check()).toMatchObject({ result: { connectivity: 'ok', code: 'platform-busy' } })
  expect(await siteOf(db, name)).toMatchObject({ connectivityError: { code: 'platform-busy' } })
  expect((await warningsOf(db, name)).map((row) => row.type)).toEqual(['connection-failed'])
})

// promise: password-to-platform
test('an address that leads to another installation feeds nothing into the inventory', async () => {
  const { name, world, worker, check } = await setUp()
  await check()
  await worker.sync(name)
  const before = await instancesOf(db, name)
  world.identity = { ...world.identity, instance_id: 'somewhere-else' }
  world.put({ ref: `vm-${made * 1_000 + 1}`, cpus: 99 })
  expect(await worker.sync(name)).toMatchObject({
    state: 'failed',
    error: { code: 'platform-identity-changed' },
  })
  await check()
  expect(await siteOf(db, name)).toMatchObject({
    ...{ connectivity: 'unknown', connectivityError: { code: 'platform-identity-changed' } },
  })
  expect(await worker.sync(name, { mode: 'full' })).toMatchObject({ state: 'failed' })
  expect(await instancesOf(db, name)).toEqual(before)
  // A person saves the connection once more: whoever answers now is who is meant.
  await db`update site set connectivity = 'unknown', connectivity_error = null where name = ${name}`
  expect(await check()).toMatchObject({ result: { connectivity: 'ok' } })
  expect((await worker.sync(name)).result).toMatchObject({ changed: 1 })
})

test('a changed password closes the old session; unused ones are closed by themselves', async () => {
  const { name, world, worker, check } = await setUp()
  await check()
  await check()
  expect([world.opened, world.closed]).toEqual([1, 0])
  await moveSite(db, { name }, { username: 'somebody-else' })
  await check()
  expect([world.opened, world.closed, worker.platforms.size]).toEqual([2, 1, 1])
  world.probeError = platformProblem('platform-authentication')
  await check()
  expect([world.opened, world.closed, worker.platforms.size]).toEqual([2, 2, 0])
})

// promise: dead-source
test('one dead source of three delays nothing of the others', async () => {
  const [dead, ...living] = [await setUp(), await setUp(), await setUp()]
  dead.world.beforeChunk = () => {
    throw platformProblem('platform-unreachable')
  }
  const ends = await Promise.all([dead, ...living].map(({ worker, name }) => worker.sync(name)))
  expect(ends.map(({ state }) => state)).toEqual(['ready', 'succeeded', 'succeeded'])
})

/** Over TLS that nobody vouches for: the test is the one who knows. */
const changeCertificate = (lab: TestLab): Promise<void> =>
  new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${lab.adminToken}`, 'content-type': 'application/json' }
    const asked = request(
      `${lab.url}/lab/acts`,
      { method: 'POST', headers, rejectUnauthorized: false },
      (answer) => {
        answer.resume()
        answer.once('end', () =>
          answer.statusCode === 204 ? resolve() : reject(new Error(String(answer.statusCode))),
        )
      },
    )
    asked.once('error', reject)
    asked.end(JSON.stringify({ act: 'certificate-change' }))
  })

test('a certificate that nobody has confirmed, or that changed, waits for a person and shows itself', async () => {
  const lab = await createLab({ tls: true })
  await makeSite(db, { name: 'tls', endpoint: lab.endpoint('vcenter'), password: lab.password })
  const worker = createInventoryWorker(db, openLab)
  const check = () => worker.run('check-connection', { role: 'source', name: 'tls' })
  const confirm = async () => {
    const { connectivity, seenCertificate } = await siteOf(db, 'tls')
    expect([connectivity, seenCertificate?.fingerprint]).toEqual([
      'confirm-fingerprint',
      expect.stringMatching(/^[0-9a-f]{64}$/),
    ])
    await moveSite(db, { name: 'tls' }, { fingerprint: seenCertificate?.fingerprint ?? '' })
    await check()
    expect(await siteOf(db, 'tls')).toMatchObject({ connectivity: 'ok', seenCertificate: null })
    return seenCertificate?.fingerprint
  }
  await check()
  const first = await confirm()
  expect((await worker.sync('tls')).state).toBe('succeeded')
  await changeCertificate(lab)
  await worker.platforms.close()
  const later = createInventoryWorker(db, openLab)
  expect(await later.sync('tls', { mode: 'full' })).toMatchObject({ error: { code: 'platform-fingerprint' } })
  expect((await siteOf(db, 'tls')).nextCheckAt.getTime()).toBeLessThan(Date.now() + 5_000)
  await later.run('check-connection', { role: 'source', name: 'tls' })
  const { connectivity, seenCertificate } = await siteOf(db, 'tls')
  expect(connectivity).toBe('confirm-fingerprint')
  expect(seenCertificate?.fingerprint).not.toBe(first)
})

const planted = 'S3cret-&<planted>-pässword'

// promise: password-to-platform
test('the password of a source is nowhere: not in jobs, events, errors, warnings, logs, nor in the site', async () => {
  const lines: string[] = []
  const log = createLog({
    role: 'test',
    level: 'trace',
    destination: { write: (line) => void lines.push(line) },
  })
  const { name, world } = await setUp()
  const worker = createInventoryWorker(db, world.open, log)
  const lab = await createLab({ password: planted })
  const tricky = await makeSite(db, {
    name: `lab-${name}`,
    password: planted,
    endpoint: lab.endpoint('vcenter'),
  })
  const real = createInventoryWorker(db, openLab, log)
  await real.run('check-connection', { role: 'source', name: tricky.name })
  await real.sync(tricky.name)
  await lab.admin('POST /lab/faults', {
    kind: 'act',
    do: { act: 'password-change', site: 'vcenter', password: 'new' },
  })
  await real.run('check-connection', { role: 'source', name: tricky.name })
  // A platform that sends back what it was told.
  await moveSite(db, { name }, { password: planted })
  world.probeError = platformProblem(
    'platform-fault',
    `Cannot sign in as drover/${planted} (${encodeURIComponent(planted)}).`,
  )
  await worker.run('check-connection', { role: 'source', name })
  world.probeError = undefined
  world.beforeChunk = () => {
    throw platformProblem('platform-fault', `Who is ${JSON.stringify({ password: planted })}?`)
  }
  await worker.sync(name)
  // And one that tells it of a single machine, beside others that are well.
  world.beforeChunk = () => Promise.resolve()
  const [first = ''] = world.instances.keys()
  world.broken.set(first, platformProblem('platform-fault', `${first} was asked for with ${planted}.`))
  await worker.sync(name, { mode: 'full' })
  log.info({ site: await siteOf(db, name) }, 'as it is stored')
  const everything = await db<{ row: string }[]>`
    select row_to_json(j)::text as row from job j union all select row_to_json(e)::text from event e
    union all select row_to_json(w)::text from warning w union all select row_to_json(s)::text from site s
    union all select row_to_json(i)::text from instance i union all select row_to_json(x)::text from effect x`
  const text = [...everything.map(({ row }) => row), ...lines].join('\n')
  expect(text).toContain('***')
  for (const spelling of [
    planted,
    encodeURIComponent(planted),
    Buffer.from(planted).toString('base64'),
    'planted',
  ])
    expect(text.includes(spelling), spelling).toBe(false)
})
