import { v7 as uuidv7 } from 'uuid'
import { afterEach, describe, expect, test } from 'vitest'
import { pauseWork } from '../../../src/ledger/jobs/pause.ts'
import { advanceEntries } from '../../../src/migration/batch/scheduler.ts'
import { ownedMachines } from '../../support/batch-world.ts'
import { driveEntry, lookNow } from '../../support/drive-entry.ts'
import { entryOf, eventsOfEntry, overlapsOf, powerOf, sendTo } from '../../support/entry-world.ts'
import { quietLog } from '../../support/events.ts'
import { createLab } from '../../support/lab.ts'
import { jobOf } from '../../support/ledger.ts'
import { checkMigration } from '../../support/migration-invariants.ts'
import { createDatabase } from '../../support/postgres.ts'
import { createVerifyWorld } from '../../support/verify-world.ts'
import { until } from '../../support/wait.ts'

const { db } = await createDatabase()
const lab = await createLab()
const world = await createVerifyWorld(db, lab)
const { from, to } = world

afterEach(async () => {
  await lab.admin('DELETE /lab/faults')
  await db`delete from pause`
  await db`update batch set state = 'running'`
  await db`update entry set window_id = null`
  await db`delete from batch_window`
})

/** A window of the batch that the entry holds. */
const holdWindow = async (id: string, endsInSeconds: number) => {
  const window = uuidv7()
  await db`insert into batch_window (id, batch_id, name, starts_at, ends_at)
    values (${window}::uuid, ${world.batch.id}::uuid, 'night', now() - interval '1 hour',
      now() + ${endsInSeconds}::float8 * interval '1 second')`
  await db`update entry set window_id = ${window}::uuid where id = ${id}::uuid`
}

/** Time passes, for the window and for the moment at which the conductor means to look: what is due then is due. */
const passHour = (id: string) =>
  db.begin(async (tx) => {
    await tx`update batch_window set ends_at = ends_at - interval '3601 seconds'`
    await tx`update entry set look_at = look_at - interval '3601 seconds' where id = ${id}::uuid`
  })

const endWindow = () => db`update batch_window set ends_at = now() - interval '1 second'`

/** The conductor as it looks by itself: only at what is due. */
const lookAtDue = () => advanceEntries({ db, log: quietLog })

/** The source runs again, nothing of ours is left on the target, and all begins anew. */
const isBack = async (id: string) => {
  await driveEntry(world, id, ['waiting'])
  const entry = await entryOf(db, id)
  expect(entry).toMatchObject({ stage: 'background', sourceStoppedAt: null, machineRef: null })
  expect(await powerOf(from, String(entry.facts.ref))).toBe('on')
  expect((await eventsOfEntry(db, id)).slice(-2)).toEqual(['entry.let-go', 'entry.withdrawn'])
  expect(await overlapsOf(lab)).toEqual([])
  expect(await checkMigration(db)).toEqual([])
}

describe('a window ends while the verification', () => {
  // promise: window-end
  test.each([
    ['stands in line', 'vm-101', () => Promise.resolve()],
    [
      'is a kind that is paused',
      'vm-102',
      () => pauseWork(db, { scope: 'kind', name: 'final-verify', by: 'test', reason: 'Wait.' }),
    ],
    [
      'is of a batch that is stopped',
      'vm-103',
      async () => {
        await db`update batch set state = 'stopped'`
        await pauseWork(db, { scope: 'lane', name: `batch/${world.batch.name}`, by: 'test', reason: 'Wait.' })
      },
    ],
  ] as const)('%s: its source runs again at once', async (_how, ref, hold) => {
    const { id, machineRef } = await world.ready(ref)
    await holdWindow(id, 3_600)
    await lookNow(world)
    const { jobId } = await entryOf(db, id)
    expect(await jobOf(db, jobId ?? '')).toMatchObject({ kind: 'final-verify', state: 'ready' })
    await hold()
    await passHour(id)
    await until(
      async () => {
        await lookAtDue()
        return (await entryOf(db, id)).state === 'waiting'
      },
      { what: 'the entry to be let go when its window ends' },
    )
    expect(await jobOf(db, jobId ?? '')).toMatchObject({ state: 'canceled' })
    await isBack(id)
    expect(await ownedMachines(world)).not.toContain(machineRef)
  })

  // promise: window-end
  test('is at work: it stops before it starts the target, also when nobody has called it off yet', async () => {
    const { id, machineRef } = await world.ready('vm-104')
    await holdWindow(id, 3_600)
    const job = await sendTo(world, id, 'final-verify')
    const fault = { kind: 'error', call: 'owner', site: 'cloud', machine: machineRef }
    await lab.admin('POST /lab/faults', fault)
    await world.worker.follow(job)
    expect((await jobOf(db, job)).finishedAt).toBeNull()
    await lab.admin('DELETE /lab/faults')
    await endWindow()
    await world.worker.follow(job)
    expect(await startsOf(machineRef)).toEqual([])
    await lookNow(world)
    await isBack(id)
    expect(await startsOf(machineRef)).toEqual([])
  })

  test('waits for its target to boot: the target is off before the source runs', async () => {
    const { id, machineRef } = await world.ready('vm-107')
    await holdWindow(id, 3_600)
    const job = await sendTo(world, id, 'final-verify')
    await lab.admin('POST /lab/faults', { kind: 'error', call: 'guest', site: 'cloud', machine: machineRef })
    await world.worker.follow(job)
    expect(await powerOf(to, machineRef ?? '')).toBe('on')
    await pauseWork(db, { scope: 'kind', name: 'final-verify', by: 'test', reason: 'Wait.' })
    await endWindow()
    await lookNow(world)
    await world.worker.finish(job)
    expect(await jobOf(db, job)).toMatchObject({ state: 'canceled' })
    await isBack(id)
  })
})

test('a source that runs by the end of its window is not switched off by a verification that comes late', async () => {
  const { id } = await world.ready('vm-111')
  await holdWindow(id, 3_600)
  await from.done('POST /instances/vm-111/power', { verb: 'start' })
  await endWindow()
  await world.worker.follow(await sendTo(world, id, 'final-verify'))
  expect(await powerOf(from, 'vm-111')).toBe('on')
  await lookNow(world)
  await isBack(id)
})

/** How often the platform started a machine. */
const startsOf = async (ref: string | null) => {
  const rows = await lab.database.db<{ state: string }[]>`
    select * from lab.power_log where machine = ${ref} and site = 'cloud'`
  return rows
}
