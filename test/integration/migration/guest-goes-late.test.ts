import { afterEach, expect, test } from 'vitest'
import type { Tx } from '../../../db/client.ts'
import { sweepDebts } from '../../../src/ledger/conductor/sweeps.ts'
import { actOnEntry } from '../../../src/migration/entry/entry-verbs.ts'
import { sourceStopKind } from '../../../src/migration/source/source-stops.ts'
import { undoSourceStop } from '../../../src/migration/source/start-source.ts'
import { handleSettleDebt } from '../../../workers/handlers/settle-debt.ts'
import { lookNow } from '../../support/drive-entry.ts'
import {
  createEntryWorker,
  entryOf,
  overlapsOf,
  placeEntry,
  powerOf,
  sendTo,
} from '../../support/entry-world.ts'
import { createLab } from '../../support/lab.ts'
import { effectsOf, jobOf } from '../../support/ledger.ts'
import { createDatabase } from '../../support/postgres.ts'
import { expectUnderWay, setPace } from '../../support/slow-tasks.ts'
import { createVerifyWorld } from '../../support/verify-world.ts'
import { until } from '../../support/wait.ts'

const { db } = await createDatabase()
const lab = await createLab()
const world = await createVerifyWorld(db, lab)
const { from, to, worker } = world
await world.setBatch({ config: { guest_shutdown_limit: '1s', boot_limit: '5m' } })

const settling = createEntryWorker(
  db,
  [handleSettleDebt(new Map([[sourceStopKind, undoSourceStop]]))],
  world.inventory.use,
)

afterEach(async () => {
  await lab.admin('DELETE /lab/faults')
  await setPace(lab, 0)
})

/** Everything that is owed is tried once. */
const settleDebts = async (): Promise<void> => {
  await db`update effect set next_try_at = now() - interval '1 second' where state = 'debt'`
  await sweepDebts(db)
  const jobs = await db<
    { id: string }[]
  >`select id from job where kind = 'settle-debt' and finished_at is null`
  for (const { id } of jobs) await settling.finish(id)
}

const cancel = (id: string) =>
  db.begin((tx) => actOnEntry(tx as Tx, { id, by: 'test', verb: 'cancel', force: true, cleanup: false }))

const withdraw = async (id: string) => {
  for (let turns = 0; turns < 5; turns += 1) {
    await lookNow(world)
    const { jobId } = await entryOf(db, id)
    if (jobId !== null && (await jobOf(db, jobId)).kind === 'withdraw-entry') return worker.finish(jobId)
  }
  throw new Error(`Nobody withdraws entry ${id}.`)
}

/** An entry that was given up while its source's guest, long asked, still runs; its withdrawal has ended. */
const givenUp = async (ref: string) => {
  const { id, machineRef } = await placeEntry(world, ref)
  const job = await sendTo(world, id, 'cutover-instance')
  await setPace(lab, 200)
  await lab.admin('POST /lab/faults', { kind: 'error', call: 'stop', site: 'vcenter', machine: ref })
  const turn = worker.follow(job)
  await until(async () => (await effectsOf(db, job)).some(({ state }) => state === 'done'), {
    what: 'the guest to be asked',
    withinMs: 60_000,
  })
  await lab.pass(25_000)
  await expectUnderWay(lab, ref, 'guest-off')
  await cancel(id)
  await turn
  if ((await jobOf(db, job)).finishedAt === null) await worker.follow(job)
  await setPace(lab, 0)
  expect(await withdraw(id)).toMatchObject({ state: 'succeeded' })
  expect(await powerOf(from, ref)).toBe('on')
  expect((await entryOf(db, id)).sourceStoppedAt).toBeNull()
  return { id, job, machine: machineRef ?? '' }
}

const owedOf = async (job: string) =>
  (await effectsOf(db, job)).filter(({ kind, state }) => kind === sourceStopKind && state === 'debt')

const isOwed = async (job: string): Promise<boolean> => (await owedOf(job)).length > 0

const goesDown = async (ref: string): Promise<void> => {
  await lab.pass(3_600_000)
  expect(await powerOf(from, ref)).toBe('off')
}

// promise: source-given-back
test('a source that goes off after its entry was given up, on our account, is owed and started', async () => {
  const { job, machine } = await givenUp('vm-101')
  await settleDebts()
  const [debt] = await owedOf(job)
  expect(debt?.error).toMatchObject({ code: 'source-may-go-off' })
  await goesDown('vm-101')
  await settleDebts()
  expect(await powerOf(from, 'vm-101')).toBe('on')
  expect(await powerOf(to, machine)).toBe('off')
  expect(await overlapsOf(lab)).toEqual([])
  await settleDebts()
  expect(await isOwed(job)).toBe(false)
})

test('a source that went off on our account is started though its entry is no more', async () => {
  const { id, job } = await givenUp('vm-102')
  await db`update instance set frozen_by = null where frozen_by = ${id}`
  await db`delete from entry where id = ${id}::uuid`
  await goesDown('vm-102')
  await settleDebts()
  expect(await powerOf(from, 'vm-102')).toBe('on')
  await settleDebts()
  expect(await isOwed(job)).toBe(false)
})

test('a source that was started anew is not watched any more: whoever switches it off then means it', async () => {
  const { job } = await givenUp('vm-103')
  await goesDown('vm-103')
  await from.done('POST /instances/vm-103/power', { verb: 'start' })
  await settleDebts()
  expect(await isOwed(job)).toBe(false)
})

test('a source that a person wants off after it was asked is not started', async () => {
  const { job } = await givenUp('vm-104')
  await db`
    with made as (
      insert into job (id, kind, subject_type, subject_id, payload, payload_version, state, lane, created_by, finished_at)
      select gen_random_uuid(), 'power-instance', 'instance', id::text, '{"verb":"shutdown"}', 1, 'succeeded', 'test', 'test', now()
      from instance where ref = 'vm-104' returning id, kind, lane, subject_type, subject_id
    )
    insert into job_search (job_id, kind, lane, subject_type, subject_id) select * from made on conflict do nothing`
  await goesDown('vm-104')
  await settleDebts()
  expect(await isOwed(job)).toBe(false)
  expect(await powerOf(from, 'vm-104')).toBe('off')
})

test('a source whose copy runs is not started beside it, and that is said', async () => {
  const { job, machine } = await givenUp('vm-106')
  await goesDown('vm-106')
  await to.done(`POST /instances/${machine}/power`, { verb: 'start' })
  await settleDebts()
  expect(await powerOf(from, 'vm-106')).toBe('off')
  expect(await overlapsOf(lab)).toEqual([])
  const [debt] = await owedOf(job)
  expect(JSON.stringify(debt?.error)).toContain(machine)
  await to.done(`POST /instances/${machine}/power`, { verb: 'stop' })
  await settleDebts()
  expect(await powerOf(from, 'vm-106')).toBe('on')
})

test('a guest that was asked a day ago and still runs is waited for no longer, and a warning says so', async () => {
  const { job } = await givenUp('vm-107')
  await db`update effect set created_at = created_at - interval '25 hours' where job_id = ${job}::uuid`
  await settleDebts()
  expect(await isOwed(job)).toBe(false)
  const warnings = await db`select entity_type, messages from warning where type = 'guest-may-go-off'`
  expect(warnings).toHaveLength(1)
  expect(JSON.stringify(warnings)).toContain('asked to shut itself down')
})
