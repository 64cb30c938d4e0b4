import { expect, test } from 'vitest'
import type { Tx } from '../../../db/client.ts'
import type { DiskFacts } from '../../../src/domain/inventory/facts.ts'
import { actOnEntry, type EntryVerbAsk } from '../../../src/migration/entry/entry-verbs.ts'
import { handleStartBatch } from '../../../workers/handlers/start-batch.ts'
import { clientOf, depsOver } from '../../api/setup.ts'
import { lookNow } from '../../support/drive-entry.ts'
import { createEntryWorker, entryOf, placeEntry, powerOf, sendTo } from '../../support/entry-world.ts'
import { checkInvariants } from '../../support/invariants.ts'
import { instanceOf } from '../../support/inventory.ts'
import { createLab } from '../../support/lab.ts'
import { jobOf } from '../../support/ledger.ts'
import { codesOf } from '../../support/placing.ts'
import { createDatabase } from '../../support/postgres.ts'
import { createVerifyWorld } from '../../support/verify-world.ts'

const { db } = await createDatabase()
const lab = await createLab()
const world = await createVerifyWorld(db, lab)
const call = clientOf(depsOver(db))
const starter = createEntryWorker(db, [handleStartBatch])

/** Says at the source how the first disk is attached, and lets a sync see it. */
const attach = async (ref: string, how: Partial<DiskFacts>): Promise<void> => {
  const { json } = await world.from.call(`GET /instances/${ref}`)
  const [first, ...others] = (json as { facts: { disks: DiskFacts[] } }).facts.disks
  await lab.admin(`PATCH /lab/sites/vcenter/instances/${ref}`, {
    facts: { disks: [{ ...first, ...how }, ...others] },
  })
  await world.inventory.sync(world.source.name)
}

const act = (id: string, verb: EntryVerbAsk['verb']) =>
  db.begin((tx) => actOnEntry(tx as Tx, { id, by: 'test', verb, force: false, cleanup: false }))

const startJobs = async (): Promise<void> => {
  const jobs = await db<{ id: string }[]>`
    select id from job where kind = 'start-batch' and finished_at is null order by id`
  for (const { id } of jobs) await starter.finish(id)
}

// promise: changed-source
test('an instance made unfit in conflict is blocked when the conflict is resolved, and goes on when it is fit again', async () => {
  const instance = await instanceOf(db, world.source.name, 'vm-101')
  const made = await call('POST', '/v1/batches', {
    json: {
      name: 'two',
      include_expression: `name == "${instance.name}" && cpus < 64`,
      defaults: { placement: { target: 'cloud', storage_pool: 'local' } },
    },
  })
  expect(made.status).toBe(201)
  await startJobs()
  const path = `/v1/instances/${instance.id}/overrides`
  expect((await call('PUT', path, { json: { cpus: 64 }, headers: { 'if-match': '*' } })).status).toBe(200)
  expect((await call('POST', '/v1/batches/two/:start')).status).toBe(202)
  await startJobs()
  const [row] = await db<{ id: string }[]>`select id from entry where instance_id = ${instance.id}::uuid`
  const id = row?.id ?? ''
  expect(await entryOf(db, id)).toMatchObject({ state: 'conflict', stage: 'background' })
  await attach('vm-101', { shared: true })
  await act(id, 'resolve')
  await lookNow(world)
  const blocked = await entryOf(db, id)
  expect(blocked).toMatchObject({ state: 'blocked', machineRef: null, jobId: null })
  expect(codesOf(blocked)).toEqual(['disk-shared'])
  await attach('vm-101', { shared: false })
  await lookNow(world)
  const { jobId } = await entryOf(db, id)
  expect(await jobOf(db, jobId ?? '')).toMatchObject({ kind: 'place-instance' })
  expect(await checkInvariants(db)).toEqual([])
})

// promise: changed-source
test('what the remedy of drifted disks says can be done: after a sync and a retry the entry is judged by the disks as they are', async () => {
  const { id, instanceId } = await placeEntry(world, 'vm-102')
  await db`update instance set frozen_by = ${`batch/${world.batch.name}`} where id = ${instanceId}::uuid`
  await attach('vm-102', { shared: true })
  const job = await world.worker.finish(await sendTo(world, id, 'import-instance'))
  expect(job).toMatchObject({ state: 'failed', error: { code: 'source-drifted' } })
  expect(job.error?.remedy).toContain('retry the entry')
  await lookNow(world)
  expect(await entryOf(db, id)).toMatchObject({ state: 'error', reason: 'source-drifted' })
  await world.inventory.sync(world.source.name)
  await act(id, 'retry')
  await lookNow(world)
  const blocked = await entryOf(db, id)
  expect(blocked).toMatchObject({ state: 'blocked', jobId: null })
  expect(codesOf(blocked)).toEqual(['disk-shared'])
  expect(await powerOf(world.from, 'vm-102')).toBe('on')
  await attach('vm-102', { shared: false })
  await lookNow(world)
  expect(await jobOf(db, (await entryOf(db, id)).jobId ?? '')).toMatchObject({ kind: 'place-instance' })
})
