import { beforeEach, expect, test } from 'vitest'
import { listEffects } from '../../../db/queries/effects/list-effects.ts'
import { countEntryEffects } from '../../../db/queries/entries/list-entries.ts'
import { actOnEntry } from '../../../src/migration/entry/entry-verbs.ts'
import { cleanUpKind, undoCleanUp } from '../../../src/migration/target/clean-up.ts'
import { machineKind, undoTargetMachine } from '../../../src/migration/target/target-machine.ts'
import { checkEntries } from '../../support/copy-invariants.ts'
import { createCopyWorker } from '../../support/copy-worker.ts'
import { createDebtSettler } from '../../support/debts.ts'
import { lookNow } from '../../support/drive-entry.ts'
import { createEntryWorld, entryOf, placeEntry, powerOf, sendTo } from '../../support/entry-world.ts'
import { createLab } from '../../support/lab.ts'
import { jobOf } from '../../support/ledger.ts'
import { requestCancel, waiveEffect } from '../../support/ledger-verbs.ts'
import { createDatabase } from '../../support/postgres.ts'

const { db } = await createDatabase()
const lab = await createLab()
const world = await createEntryWorld(db, lab)
const worker = createCopyWorker(world)
const settle = createDebtSettler(
  db,
  {
    [cleanUpKind]: undoCleanUp,
    [machineKind]: undoTargetMachine,
  },
  world.inventory.use,
)

beforeEach(async () => {
  await lab.admin('DELETE /lab/faults')
})

/** The target answers nobody. */
const loseTarget = () =>
  lab.admin('POST /lab/faults', {
    ...{ kind: 'error', site: 'cloud', code: 'platform-unreachable', failure: 'unknown' },
  })
const isThere = async (machine: string) => (await world.to.call(`GET /instances/${machine}`)).status === 200

const cancel = (id: string) =>
  db.begin((tx) => actOnEntry(tx, { id, by: 'ada', verb: 'cancel', force: true, cleanup: true }))

/** What `GET /v1/effects?state=debt,intended` shows of an entry. */
const leftBehind = async (id: string) =>
  (
    await listEffects(
      db,
      { states: ['debt', 'intended'], subject: { type: 'entry', id } },
      { before: undefined, limit: 10 },
    )
  ).map(({ kind, state, platform, undo }) => ({ kind, state, platform, machine: undo?.machine_ref }))

const owed = (machine: string | null) => ({
  ...{ kind: cleanUpKind, state: 'debt', platform: 'cloud', machine },
})

/** A withdrawal that comes to an end without its aim: somebody cancels its job. */
const endWithdrawal = async (id: string) => {
  const job = (await entryOf(db, id)).jobId ?? ''
  await requestCancel(db, job, { by: 'ada', reason: 'It takes too long.' })
  expect(await worker.finish(job)).toMatchObject({ state: 'canceled' })
}

const cleanUpsOf = (id: string) => db<{ state: string }[]>`
  select state from effect where kind = ${cleanUpKind} and subject_id = ${id}`

// promise: debt
test('a machine that is to be taken away is listed before its target is asked, once, until it is proved gone', async () => {
  const { id, machineRef } = await placeEntry(world, 'vm-101')
  await loseTarget()
  expect(await cancel(id)).toMatchObject({ outcome: 'done' })
  expect(await leftBehind(id)).toEqual([owed(machineRef)])
  expect(await countEntryEffects(db, id)).toEqual({ open: 0, debts: 1 })
  const job = (await entryOf(db, id)).jobId ?? ''
  expect(await worker.follow(job)).toMatchObject({ state: 'ready', environmentAttempt: 1 })
  expect(await leftBehind(id)).toEqual([owed(machineRef)])
  await endWithdrawal(id)
  expect(await leftBehind(id)).toEqual([owed(machineRef)])
  await lookNow(world)
  const again = (await entryOf(db, id)).jobId ?? ''
  expect(again).not.toBe(job)
  expect(await leftBehind(id)).toEqual([owed(machineRef)])
  await lab.admin('DELETE /lab/faults')
  expect(await worker.finish(again)).toMatchObject({ state: 'succeeded' })
  expect(await isThere(machineRef ?? '')).toBe(false)
  expect(await leftBehind(id)).toEqual([])
  expect(await cleanUpsOf(id)).toEqual([{ state: 'undone' }])
  expect(await checkEntries(world)).toEqual([])
})

test('a machine whose ref was never recorded is listed and found by its tag', async () => {
  const { id, machineRef } = await placeEntry(world, 'vm-102')
  await db`update entry set machine_ref = null where id = ${id}::uuid`
  await cancel(id)
  expect(await leftBehind(id)).toEqual([owed(null)])
  await worker.finish((await entryOf(db, id)).jobId ?? '')
  expect(await isThere(machineRef ?? '')).toBe(false)
  expect(await leftBehind(id)).toEqual([])
})

test('it is taken away by its debt when its entry is no more', async () => {
  const { id, machineRef } = await placeEntry(world, 'vm-103')
  await loseTarget()
  await cancel(id)
  await endWithdrawal(id)
  await db`delete from entry where id = ${id}::uuid`
  await settle()
  expect(await leftBehind(id)).toEqual([owed(machineRef)])
  await lab.admin('DELETE /lab/faults')
  await settle()
  expect(await isThere(machineRef ?? '')).toBe(false)
  expect(await cleanUpsOf(id)).toEqual([{ state: 'undone' }])
})

test('while its withdrawal is to be tried again nobody takes it away out of turn: the source comes back first', async () => {
  const { id, machineRef } = await placeEntry(world, 'vm-104')
  await worker.finish(await sendTo(world, id, 'cutover-instance'))
  await db`update entry set job_id = null where id = ${id}::uuid`
  await lab.admin('POST /lab/faults', {
    ...{ kind: 'error', site: 'vcenter', call: 'start', code: 'platform-unreachable', failure: 'unknown' },
  })
  await cancel(id)
  await worker.follow((await entryOf(db, id)).jobId ?? '')
  await endWithdrawal(id)
  await settle()
  expect(await powerOf(world.from, 'vm-104')).toBe('off')
  expect(await isThere(machineRef ?? '')).toBe(true)
  expect(await leftBehind(id)).toEqual([owed(machineRef)])
  await lab.admin('DELETE /lab/faults')
  await lookNow(world)
  expect(await worker.finish((await entryOf(db, id)).jobId ?? '')).toMatchObject({ state: 'succeeded' })
  expect(await powerOf(world.from, 'vm-104')).toBe('on')
  expect(await isThere(machineRef ?? '')).toBe(false)
  expect(await leftBehind(id)).toEqual([])
})

// promise: debt
test('a debt of a machine that its entry goes on with, or that was verified, takes nothing away', async () => {
  for (const [ref, state] of [
    ['vm-105', 'waiting'],
    ['vm-106', 'finished'],
    ['vm-107', 'tidied away'],
  ] as const) {
    const { id, machineRef, instanceId } = await placeEntry(world, ref)
    await loseTarget()
    await cancel(id)
    await endWithdrawal(id)
    await lab.admin('DELETE /lab/faults')
    if (state === 'tidied away') {
      await db`insert into certificate (id, entry_id, instance_id, batch_name, instance_name, document, signature, key_id)
        values (gen_random_uuid(), ${id}::uuid, ${instanceId}::uuid, 'wave', ${ref}, '{}', '', 'test')`
      await db`delete from entry where id = ${id}::uuid`
    } else await db`update entry set state = ${state}, job_id = null where id = ${id}::uuid`
    // Another one of the same machine, of the job that was to make it.
    await db`insert into effect (id, job_id, subject_type, subject_id, epoch, kind, platform, name, undo, state, error, next_try_at)
      select gen_random_uuid(), job_id, subject_type, subject_id, 0, ${machineKind}, platform, 'machine', jsonb_build_object(
        'site_id', undo -> 'site_id', 'entry_id', ${id}::text, 'owner', jsonb_build_object('drover.entry', ${id}::text)),
        'debt', '{}', now() from effect where kind = ${cleanUpKind} and subject_id = ${id}`
    await settle()
    expect([state, await leftBehind(id), await isThere(machineRef ?? '')]).toEqual([state, [], true])
  }
})

test('what a person has taken over keeps no withdrawal waiting for a target that is gone for good', async () => {
  const { id, machineRef } = await placeEntry(world, 'vm-108')
  await loseTarget()
  await cancel(id)
  await endWithdrawal(id)
  const [debt] = await db<{ id: string }[]>`
    select id from effect where kind = ${cleanUpKind} and subject_id = ${id}`
  expect(await waiveEffect(db, debt?.id ?? '', { by: 'ada', reason: 'scrapped with its host' })).toBe(true)
  await lookNow(world)
  const job = (await entryOf(db, id)).jobId ?? ''
  expect(await worker.finish(job)).toMatchObject({ state: 'succeeded', result: { destroyed: [] } })
  expect(await entryOf(db, id)).toMatchObject({ state: 'canceled', machineRef: null, jobId: null })
  expect(await cleanUpsOf(id)).toEqual([{ state: 'waived' }])
  await lab.admin('DELETE /lab/faults')
  await settle()
  expect(await isThere(machineRef ?? '')).toBe(true)
  expect((await jobOf(db, job)).state).toBe('succeeded')
})

test('what a person has taken over stays so when the reset that goes on tries again', async () => {
  const { id, machineRef } = await placeEntry(world, 'vm-109')
  await loseTarget()
  await db`update entry set intent = '{"verb":"reset","force":true}' where id = ${id}::uuid`
  await lookNow(world)
  await endWithdrawal(id)
  const [debt] = await db<{ id: string }[]>`
    select id from effect where kind = ${cleanUpKind} and subject_id = ${id}`
  expect(await waiveEffect(db, debt?.id ?? '', { by: 'ada', reason: 'scrapped with its host' })).toBe(true)
  await lookNow(world)
  expect(await cleanUpsOf(id)).toEqual([{ state: 'waived' }])
  const job = (await entryOf(db, id)).jobId ?? ''
  expect(await worker.finish(job)).toMatchObject({ state: 'succeeded', result: { destroyed: [] } })
  expect(await db`select from entry where id = ${id}::uuid`).toHaveLength(0)
  await lab.admin('DELETE /lab/faults')
  expect(await isThere(machineRef ?? '')).toBe(true)
})

test('a source that a person has started where its target is gone for good lets its entry end', async () => {
  const { id } = await placeEntry(world, 'vm-110')
  await worker.finish(await sendTo(world, id, 'cutover-instance'))
  await db`update entry set job_id = null where id = ${id}::uuid`
  await loseTarget()
  await cancel(id)
  await endWithdrawal(id)
  const [debt] = await db<{ id: string }[]>`
    select id from effect where kind = ${cleanUpKind} and subject_id = ${id}`
  await waiveEffect(db, debt?.id ?? '', { by: 'ada', reason: 'burnt down' })
  await lookNow(world)
  const job = (await entryOf(db, id)).jobId ?? ''
  // Nobody can tell whether the copy runs: Drover does not start the source.
  expect(await worker.follow(job)).toMatchObject({ state: 'ready', environmentAttempt: 1 })
  expect(await powerOf(world.from, 'vm-110')).toBe('off')
  await world.from.done('POST /instances/vm-110/power', { verb: 'start' })
  expect(await worker.follow(job)).toMatchObject({ state: 'succeeded' })
  expect(await entryOf(db, id)).toMatchObject({ state: 'canceled', machineRef: null, sourceStoppedAt: null })
})
