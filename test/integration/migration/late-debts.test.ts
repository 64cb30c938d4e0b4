import { beforeEach, expect, test } from 'vitest'
import type { Tx } from '../../../db/client.ts'
import { removeEntry } from '../../../src/migration/entry/entry-verbs.ts'
import { targetStartKind } from '../../../src/migration/target/own-target.ts'
import { undoTargetStart } from '../../../src/migration/verify/start-target.ts'
import { createDebtSettler } from '../../support/debts.ts'
import { entryOf, overlapsOf, powerOf, sendTo } from '../../support/entry-world.ts'
import { createLab } from '../../support/lab.ts'
import { effectsOf, jobOf } from '../../support/ledger.ts'
import { createDatabase } from '../../support/postgres.ts'
import { createVerifyWorld, resolveEntry } from '../../support/verify-world.ts'
import { until } from '../../support/wait.ts'

const { db } = await createDatabase()
const lab = await createLab()
const world = await createVerifyWorld(db, lab)
const { to, worker } = world

const dueDebts = createDebtSettler(db, { [targetStartKind]: undoTargetStart }, world.inventory.use)

beforeEach(async () => {
  await lab.admin('DELETE /lab/faults')
  await world.setBatch({ config: { post_migration_retries: 0 } })
})

const startOf = async (job: string) => {
  const start = (await effectsOf(db, job)).find(({ kind }) => kind === targetStartKind)
  if (!start) throw new Error('The target was not started.')
  return start
}

/** A verification that has started its target, has failed, and could not stop it again. */
const leaveRunning = async (ref: string) => {
  const { id, machineRef } = await world.ready(ref)
  const job = await sendTo(world, id, 'final-verify')
  const machine = machineRef ?? ''
  await lab.admin('POST /lab/faults', { kind: 'error', call: 'guest', site: 'cloud', machine })
  await worker.follow(job)
  expect(await powerOf(to, machine)).toBe('on')
  await lab.admin('DELETE /lab/faults')
  await lab.database.db`update lab.machine set guest = guest || '{"ports":[]}'::jsonb
    where site = 'cloud' and ref = ${machine}`
  await lab.admin('POST /lab/faults', { kind: 'error', call: 'find-owned', site: 'cloud' })
  expect(await worker.finish(job)).toMatchObject({ state: 'failed', error: { code: 'checks-failed' } })
  await lab.admin('DELETE /lab/faults')
  expect(await startOf(job)).toMatchObject({ state: 'debt' })
  await resolveEntry(db, id)
  return { id, machine, job }
}

test('a verification waits until the target of an earlier one is stopped, and nobody stops it later', async () => {
  const { id, machine, job: earlier } = await leaveRunning('vm-101')
  const job = await sendTo(world, id, 'final-verify')
  expect(await worker.follow(job)).toMatchObject({
    state: 'waiting',
    waitDetail: expect.stringContaining('its target to be stopped, which an earlier verification has left'),
  })
  const [{ soon } = { soon: false }] = await db<{ soon: boolean }[]>`
    select next_try_at <= now() + interval '30 seconds' as soon from effect where state = 'debt'`
  expect(soon).toBe(true)
  await dueDebts()
  expect(await startOf(earlier)).toMatchObject({ state: 'undone' })
  expect(await powerOf(to, machine)).toBe('off')
  expect(await worker.finish(job)).toMatchObject({ state: 'succeeded' })
  expect(await entryOf(db, id)).toMatchObject({ state: 'finished' })
  await dueDebts()
  expect(await powerOf(to, machine)).toBe('on')
  expect(await overlapsOf(lab)).toEqual([])
})

test('what is open of earlier starts is settled with the finish, also for when the entry is no more', async () => {
  const { id, machine, job: earlier } = await leaveRunning('vm-102')
  await dueDebts()
  const job = await sendTo(world, id, 'final-verify')
  await lab.admin('POST /lab/faults', { kind: 'delay', ms: 3_000, call: 'guest', site: 'cloud', machine })
  const verifying = worker.finish(job)
  const struck = async () =>
    ((await lab.admin('GET /lab/faults')).json as { faults: { struck: number }[] }).faults[0]?.struck
  await until(async () => (await struck()) === 1, { what: 'the look inside', withinMs: 60_000 })
  // The same debt once more, at a moment at which nobody asks for debts any more.
  await db`update effect set state = 'debt', next_try_at = now() - interval '1 second' where id = ${(await startOf(earlier)).id}::uuid`
  expect(await verifying).toMatchObject({ state: 'succeeded' })
  expect(await startOf(earlier)).toMatchObject({ state: 'undone' })
  expect((await entryOf(db, id)).sourceStoppedAt).not.toBeNull()
  await db.begin((tx) => removeEntry(tx as Tx, { id, by: 'test', confirmedFinished: 1 }))
  await dueDebts()
  expect(await db`select from effect where state = 'debt'`).toEqual([])
  expect(await powerOf(to, machine)).toBe('on')
  expect((await jobOf(db, job)).state).toBe('succeeded')
})
