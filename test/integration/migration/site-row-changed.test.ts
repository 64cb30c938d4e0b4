import { PassThrough } from 'node:stream'
import { v7 as uuidv7 } from 'uuid'
import { beforeEach, expect, test } from 'vitest'
import { beatWorker } from '../../../db/queries/fleet/workers.ts'
import { runCli } from '../../../src/cli/run.ts'
import { readConfig } from '../../../src/config/config.ts'
import { runApi } from '../../../src/roles/api.ts'
import { adminEnv, adminToken, asAdmin } from '../../support/admin-token.ts'
import { atEnd } from '../../support/cleanup.ts'
import { driveEntry, lookNow } from '../../support/drive-entry.ts'
import { entryOf, overlapsOf, placeEntry, powerOf, sendTo } from '../../support/entry-world.ts'
import { createLab } from '../../support/lab.ts'
import { jobOf } from '../../support/ledger.ts'
import { checkMigration } from '../../support/migration-invariants.ts'
import { createDatabase } from '../../support/postgres.ts'
import { createVerifyWorld } from '../../support/verify-world.ts'

/**
 * Somebody with a login of the database changes the row of a site while machines are off for their cutover: its password
 * does not open any more. Work waits for it as for a site that does not answer, and everybody is told why.
 */

const { db, url } = await createDatabase()
const lab = await createLab()
const world = await createVerifyWorld(db, lab)
const { from, worker, inventory, source, target } = world
const api = await runApi(
  readConfig({
    ...{
      DATABASE_URL: url,
      DROVER_SECRET_KEY: '5a'.repeat(32),
      DROVER_PORT: '0',
      DROVER_LOG_LEVEL: 'silent',
    },
    ...adminEnv,
  }),
)
atEnd(() => api.stop())
const address = `http://127.0.0.1:${api.port}`

/** As if a whole fleet ran: what is not ready is not what is looked at here. */
const beat = async () => {
  for (const role of ['worker', 'conductor'])
    await beatWorker(
      db,
      { ...{ id: uuidv7(), role, host: 'test', pid: 1, version: '0' }, kinds: {}, slots: {} },
      'active',
    )
}

beforeEach(async () => {
  await lab.admin('DELETE /lab/faults')
})

const check = (site: { role: string; name: string }) =>
  inventory.run('check-connection', { role: site.role, name: site.name })

const read = async (path: string): Promise<string> => {
  // Right before each look: on a slow machine a test takes longer than a heartbeat lasts.
  await beat()
  const answer = await fetch(`${address}${path}`, { headers: asAdmin })
  expect(answer.status, path).toBe(200)
  return await answer.text()
}

const drover = async (...line: string[]) => {
  await beat()
  const [stdout, stderr] = [new PassThrough(), new PassThrough()]
  const env = { DROVER_URL: address, DROVER_TOKEN: adminToken, DROVER_SITE_PASSWORD: lab.password }
  const code = await runCli(line, { env, stdout, stderr, signal: new AbortController().signal })
  return { code, said: `${String(stdout.read() ?? '')}${String(stderr.read() ?? '')}` }
}

/** One turn of a job that cannot open the password, and the look that follows. */
const meetsIt = async (job: string, site: { role: string; name: string }) => {
  await worker.follow(job)
  expect(await jobOf(db, job)).toMatchObject({
    state: 'ready',
    error: { code: 'site-seal-broken', class: 'environment' },
  })
  await check(site)
  await lookNow(world)
}

/** The password is given again, the check that this asks for is done, and whoever waited is due. */
const giveAgain = async (site: { role: string; name: string; endpoint: string }, job: string) => {
  const given = await drover(`${site.role}s`, 'set', site.name, '--endpoint', site.endpoint, '--password')
  expect(given, given.said).toMatchObject({ code: 0 })
  const [asked] = await db<{ id: string }[]>`
    select id from job where kind = 'check-connection' and subject_id = ${site.name} and finished_at is null`
  await inventory.follow(asked?.id ?? '')
  const [row] = await db<{ due: boolean }[]>`
    select run_after <= now() + interval '1 millisecond' as due from job where id = ${job}::uuid`
  expect(row).toEqual({ due: true })
  expect(JSON.parse(await read('/readyz'))).not.toMatchObject({ warnings: [expect.anything()] })
}

test('an address that is written into the row of a target while a source is off is told on every screen, and giving the password again goes on', async () => {
  const { id, facts } = await world.ready('vm-101')
  const name = String(facts.name)
  const job = await sendTo(world, id, 'final-verify')
  await db`update site set endpoint = 'http://127.0.0.1:1/sites/cloud' where id = ${target.id}::uuid`
  await meetsIt(job, target)

  expect(await entryOf(db, id)).toMatchObject({ state: 'worker-done', reason: 'target-not-connected' })
  expect(await powerOf(from, 'vm-101')).toBe('off')
  for (const path of [`/queue/${id}`, `/batches/${world.batch.name}`, '/', '/targets/cloud']) {
    const page = await read(path)
    expect(page, path).toContain('The stored password of the target cloud does not open')
    expect(page, path).toContain('changed outside Drover')
    expect(page, path).toContain('drover targets set cloud --password')
    expect(page, path).toContain(name)
    expect(page, path).not.toContain('It answers and does not let us in')
  }
  const ready = JSON.parse(await read('/readyz')) as { warnings: string[] }
  expect(ready.warnings).toEqual([
    expect.stringContaining('The stored password of 1 source or target does not open'),
  ])
  const doctor = await drover('doctor')
  expect(doctor.said).toMatch(/fail +sites +cloud: The stored password of the target cloud does not open/)
  expect(doctor.said).toContain(`1 machine is off for its migration: ${name}`)
  expect(doctor.said).toContain('drover targets set cloud --password, with --endpoint')
  expect(doctor.said).toMatch(/warn +ready +work can flow, but/)
  const shown = await drover('targets', 'show', 'cloud')
  expect(shown.said).toContain(`off ${name}`)

  await giveAgain(target, job)
  expect(await worker.finish(job)).toMatchObject({ state: 'succeeded' })
  expect(await entryOf(db, id)).toMatchObject({ state: 'finished' })
  expect(await overlapsOf(lab)).toEqual([])
})

// promise: stolen-database
test('a password of a source that is overwritten in the middle of a cutover keeps the copy waiting, and it goes on where it was', async () => {
  const { id } = await placeEntry(world, 'vm-102')
  const job = await sendTo(world, id, 'cutover-instance')
  await lab.admin('POST /lab/faults', { kind: 'error', call: 'write', site: 'cloud' })
  await worker.follow(job)
  expect(await entryOf(db, id)).toMatchObject({ state: 'final-import' })
  expect(await powerOf(from, 'vm-102')).toBe('off')
  await lab.admin('DELETE /lab/faults')
  await db`update site set secret = ${Buffer.from('nothing that was sealed')} where id = ${source.id}::uuid`
  await meetsIt(job, source)
  expect(await entryOf(db, id)).toMatchObject({
    state: 'final-import',
    reason: 'source-not-connected',
    message: expect.stringContaining('The stored password of the source vc does not open'),
  })
  expect(await read(`/queue/${id}`)).toContain('drover sources set vc --password')

  await giveAgain(source, job)
  expect(await worker.finish(job)).toMatchObject({ state: 'succeeded' })
  expect(await entryOf(db, id)).toMatchObject({ state: 'worker-done' })
  expect(await powerOf(from, 'vm-102')).toBe('off')
})

test('a source whose window ends meanwhile runs again as soon as its password is given again, without a decision', async () => {
  const { id } = await world.ready('vm-103')
  const window = uuidv7()
  await db`insert into batch_window (id, batch_id, name, starts_at, ends_at)
    values (${window}::uuid, ${world.batch.id}::uuid, 'night', now() - interval '1 hour', now() + interval '1 hour')`
  await db`update entry set window_id = ${window}::uuid where id = ${id}::uuid`
  const job = await sendTo(world, id, 'final-verify')
  await db`update site set username = 'thief' where id = ${source.id}::uuid`
  await meetsIt(job, source)
  await db`update batch_window set ends_at = now() - interval '1 second' where id = ${window}::uuid`
  await lookNow(world)
  await worker.finish(job)
  await lookNow(world)
  const { jobId } = await entryOf(db, id)
  const withdrawal = jobId ?? ''
  expect(await jobOf(db, withdrawal)).toMatchObject({ kind: 'withdraw-entry' })
  await meetsIt(withdrawal, source)
  expect(await powerOf(from, 'vm-103')).toBe('off')
  const page = await read(`/queue/${id}`)
  expect(page).toContain('The stored password of the source vc does not open')
  expect(page).toContain('It is to be switched on again, once its copy is proved off.')

  const named = await drover('sources', 'set', 'vc', '--username', source.username, '--password')
  expect(named, named.said).toMatchObject({ code: 0 })
  await giveAgain(source, withdrawal)
  await driveEntry(world, id, ['waiting'])
  expect(await powerOf(from, 'vm-103')).toBe('on')
  expect(await overlapsOf(lab)).toEqual([])
  expect(await checkMigration(db)).toEqual([])
})
