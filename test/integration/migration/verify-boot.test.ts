import { beforeEach, expect, test } from 'vitest'
import type { EntryRow } from '../../../db/schema/migration.ts'
import type { CertificateDocument } from '../../../src/certificate/document.ts'
import { entryOf, overlapsOf, powerOf, sendTo } from '../../support/entry-world.ts'
import { createLab } from '../../support/lab.ts'
import { effectsOf } from '../../support/ledger.ts'
import { createDatabase } from '../../support/postgres.ts'
import { createVerifyWorld, probes, resolveEntry } from '../../support/verify-world.ts'

const { db } = await createDatabase()
const lab = await createLab()
const world = await createVerifyWorld(db, lab)
const { from, to } = world

beforeEach(async () => {
  await lab.admin('DELETE /lab/faults')
  await world.setBatch({ config: { post_migration_retries: 2 } })
})

const documentOf = async (entryId: string): Promise<CertificateDocument> => {
  const [row] = await db<{ document: CertificateDocument }[]>`
    select document from certificate where entry_id = ${entryId}::uuid`
  if (!row) throw new Error('There is no certificate.')
  return row.document
}

const checkOf = async (entryId: string, name: string) =>
  (await documentOf(entryId)).checks.find((check) => check.name === name)

/** What the guest says of itself is on its boot disk; here it is changed under the running lab. */
const editGuest = (machine: string, guest: object) => lab.database.db`
  update lab.machine set guest = guest || ${JSON.stringify(guest)}::text::jsonb
  where site = 'cloud' and ref = ${machine}`

/** Somebody changes the guest of the target as soon as it is up: until then it has none. */
const verifyWith = async (entry: EntryRow, guest: object, payload: Record<string, unknown> = {}) => {
  const machine = entry.machineRef ?? ''
  const id = await sendTo(world, entry.id, 'final-verify', payload)
  await lab.admin('POST /lab/faults', { kind: 'error', call: 'guest', site: 'cloud', machine })
  // The look inside fails while the guest is not as this test wants it.
  await world.worker.follow(id)
  expect(await powerOf(to, machine)).toBe('on')
  await editGuest(machine, guest)
  await lab.admin('DELETE /lab/faults')
  return world.worker.finish(id)
}

const expectStopped = async (entry: EntryRow, jobId: string) => {
  expect(await powerOf(to, entry.machineRef ?? '')).toBe('off')
  expect(await powerOf(from, String(entry.facts.ref))).toBe('off')
  expect((await entryOf(db, entry.id)).certificateId).toBeNull()
  expect((await effectsOf(db, jobId)).every(({ state }) => state === 'undone')).toBe(true)
  expect(await overlapsOf(lab)).toEqual([])
}

test.each([
  ['an agent that was there and is not', 'vm-101', { agent: 'not-running' }, 'agent', 'agent is'],
  ['a port that was open and is closed', 'vm-102', { ports: [] }, 'port-22', 'port-22 (ssh)'],
] as const)(
  '%s fails: the target is stopped again, and force takes it as it is',
  async (_what, ref, guest, check, said) => {
    const entry = await world.ready(ref)
    const job = await verifyWith(entry, guest)
    expect(job).toMatchObject({ state: 'failed', error: { code: 'checks-failed', class: 'conflict' } })
    expect(job.error?.message).toContain(said)
    await expectStopped(entry, job.id)

    await resolveEntry(db, entry.id)
    await verifyWith(entry, guest, { force: true })
    expect(await entryOf(db, entry.id)).toMatchObject({ state: 'finished' })
    expect(await checkOf(entry.id, check)).toMatchObject({ result: 'failed' })
    expect(await documentOf(entry.id)).toMatchObject({ forced: true })
  },
)

test('another host name, another address and a port that was closed are told, and keep nobody from finishing', async () => {
  const entry = await world.ready('vm-103')
  const mac = (entry.facts.nics as { mac: string }[])[0]?.mac ?? ''
  await verifyWith(entry, { hostname: 'localhost', addresses: [['192.0.2.99']], ports: [22, 81] })
  expect(await entryOf(db, entry.id)).toMatchObject({ state: 'finished' })
  for (const [name, observed] of [
    ['hostname', 'localhost'],
    [`addresses-${mac}`, '192.0.2.99'],
    ['port-81', 'open'],
  ])
    expect(await checkOf(entry.id, name ?? '')).toMatchObject({ observed, result: 'differs' })
  expect(await documentOf(entry.id)).toMatchObject({ forced: false, ignored: [] })
})

test('a probe that came after the baseline is in the certificate, as one that proves nothing', async () => {
  const entry = await world.ready('vm-105')
  await world.setProbes([...probes, { name: 'late', ports: [22, 4_443] }])
  await world.verify(entry.id)
  await world.setProbes(probes)
  expect(await entryOf(db, entry.id)).toMatchObject({ state: 'finished' })
  expect(await checkOf(entry.id, 'port-4443')).toMatchObject({
    expected: '',
    result: 'not-asked',
    probes: ['late'],
  })
  expect(await checkOf(entry.id, 'port-22')).toMatchObject({ result: 'passed', probes: ['ssh', 'late'] })
})

test('a target that does not start is tried as often as the batch allows; a person may try once more', async () => {
  const entry = await world.ready('vm-104')
  const refuse = { kind: 'error', call: 'start', site: 'cloud', machine: entry.machineRef }
  await lab.admin('POST /lab/faults', { ...refuse, code: 'platform-refused', failure: 'refused' })
  const job = await world.verify(entry.id)
  expect(job).toMatchObject({
    state: 'failed',
    error: { code: 'target-start-failed', detail: { starts: 3 } },
  })
  expect(await entryOf(db, entry.id)).toMatchObject({ retries: 2, state: 'worker-done' })
  await expectStopped(entry, job.id)
  await resolveEntry(db, entry.id)
  await lab.admin('DELETE /lab/faults')
  await world.verify(entry.id)
  expect(await entryOf(db, entry.id)).toMatchObject({ state: 'finished' })
})

test('one that goes off again is started again', async () => {
  const entry = await world.ready('vm-109')
  const machine = entry.machineRef ?? ''
  const id = await sendTo(world, entry.id, 'final-verify')
  await lab.admin('POST /lab/faults', { kind: 'error', call: 'guest', site: 'cloud', machine })
  await world.worker.follow(id)
  await to.done(`POST /instances/${machine}/power`, { verb: 'stop' })
  await lab.admin('DELETE /lab/faults')
  expect(await world.worker.finish(id)).toMatchObject({ state: 'succeeded' })
  expect(await entryOf(db, entry.id)).toMatchObject({ state: 'finished', retries: 1 })
  expect(await powerOf(to, machine)).toBe('on')
})

test('a source that is started while its copy boots stops the copy: there are never two for long, and no certificate', async () => {
  const entry = await world.ready('vm-106')
  const machine = entry.machineRef ?? ''
  const id = await sendTo(world, entry.id, 'final-verify')
  await lab.admin('POST /lab/faults', { kind: 'error', call: 'guest', site: 'cloud', machine })
  await world.worker.follow(id)
  await from.done('POST /instances/vm-106/power', { verb: 'start' })
  await lab.admin('DELETE /lab/faults')
  const job = await world.worker.finish(id)
  expect(['source-runs', 'copy-stale']).toContain(job.error?.code ?? job.result?.ended)
  expect(await powerOf(to, machine)).toBe('off')
  expect((await entryOf(db, entry.id)).certificateId).toBeNull()
  await lab.database.db`delete from lab.power_log where machine in ('vm-106', ${machine})`
})

// promise: one-copy
test('a source that is on right before the start keeps the copy off', async () => {
  const entry = await world.ready('vm-107')
  await lab.admin('POST /lab/faults', {
    kind: 'error',
    call: 'owner',
    site: 'cloud',
    machine: entry.machineRef,
  })
  const id = await sendTo(world, entry.id, 'final-verify')
  await world.worker.follow(id)
  await from.done('POST /instances/vm-107/power', { verb: 'start' })
  await lab.admin('DELETE /lab/faults')
  const job = await world.worker.finish(id)
  expect(['source-runs', 'copy-stale']).toContain(job.error?.code ?? job.result?.ended)
  expect(await powerOf(to, entry.machineRef ?? '')).toBe('off')
  expect(await overlapsOf(lab)).toEqual([])
})

test('a target that is to stay off stays off, and its certificate says that nothing was asked of it', async () => {
  const entry = await world.ready('vm-112')
  expect(entry.running).toBe(false)
  const job = await world.verify(entry.id)
  expect((await effectsOf(db, job.id)).map(({ kind }) => kind)).toEqual(['target-fit'])
  expect(await entryOf(db, entry.id)).toMatchObject({ state: 'finished' })
  expect(await powerOf(to, entry.machineRef ?? '')).toBe('off')
  expect(await checkOf(entry.id, 'boot')).toMatchObject({
    expected: 'off',
    observed: 'off',
    result: 'passed',
  })
})

test("a machine that is not ours any more is not started, whatever the entry's record says", async () => {
  const entry = await world.ready('vm-110')
  await to.call(`PUT /instances/${entry.machineRef}/owner`, { owner: { 'drover.entry': 'somebody' } })
  await world.verify(entry.id, { force: true })
  expect((await entryOf(db, entry.id)).certificateId).toBeNull()
  expect(await powerOf(to, entry.machineRef ?? '')).toBe('off')
})
