import { beforeEach, expect, test } from 'vitest'
import type { Tx } from '../../../db/client.ts'
import { removeEntry } from '../../../src/migration/entry/entry-verbs.ts'
import { sourceStopKind } from '../../../src/migration/source/source-stops.ts'
import { undoSourceStop } from '../../../src/migration/source/start-source.ts'
import { targetStartKind } from '../../../src/migration/target/own-target.ts'
import { undoTargetStart } from '../../../src/migration/verify/start-target.ts'
import { createDebtSettler } from '../../support/debts.ts'
import { entryOf, overlapsOf, placeEntry, powerOf, sendTo } from '../../support/entry-world.ts'
import { effects } from '../../support/invariants.ts'
import { createLab } from '../../support/lab.ts'
import { effectsOf } from '../../support/ledger.ts'
import { createDatabase } from '../../support/postgres.ts'
import { createVerifyWorld } from '../../support/verify-world.ts'

const { db } = await createDatabase()
const lab = await createLab()
const world = await createVerifyWorld(db, lab)
const { from, to, worker } = world

const settleDebts = createDebtSettler(
  db,
  {
    [targetStartKind]: undoTargetStart,
    [sourceStopKind]: undoSourceStop,
  },
  world.inventory.use,
)

const fault = (rule: Record<string, unknown>) =>
  lab.admin('POST /lab/faults', { kind: 'error', times: 1, ...rule })

beforeEach(async () => {
  await lab.admin('DELETE /lab/faults')
  await world.setBatch({ config: { post_migration_retries: 2 } })
})

const statesOf = async (job: string, kind: string) =>
  (await effectsOf(db, job)).filter((effect) => effect.kind === kind).map(({ state }) => state)

/** The same effects as an older version left them, whose sweep has come by. */
const leaveAsDebt = (job: string, kind: string) => db`
  update effect set state = 'debt', next_try_at = now() - interval '1 second', error = '{}' where job_id = ${job}::uuid and kind = ${kind}`

test.each([
  ['refused', 'vm-101', { code: 'platform-no-capacity', failure: 'refused' }],
  ['answered with a fault after it was done', 'vm-102', { after: true }],
] as const)(
  'a start of the target that was %s is settled when its verification finishes, and nobody stops the machine later',
  async (_what, ref, rule) => {
    const { id, machineRef } = await world.ready(ref)
    const machine = machineRef ?? ''
    await fault({ call: 'start', site: 'cloud', machine, ...rule })
    const job = await world.verify(id)
    expect(job).toMatchObject({ state: 'succeeded' })
    const states = await statesOf(job.id, targetStartKind)
    expect(states.length).toBeGreaterThan(0)
    expect(states.filter((state) => state !== 'done' && state !== 'undone')).toEqual([])
    expect(await effects(db)).toEqual([])
    await db.begin((tx) => removeEntry(tx as Tx, { id, by: 'test', confirmedFinished: 1 }))
    await leaveAsDebt(job.id, targetStartKind)
    await settleDebts()
    expect(await statesOf(job.id, targetStartKind)).toEqual(states.map(() => 'undone'))
    expect(await powerOf(to, machine)).toBe('on')
    expect(await overlapsOf(lab)).toEqual([])
  },
)

test('a source whose guest refused to go, and that was switched off, stays off whatever became of the question', async () => {
  const { id } = await placeEntry(world, 'vm-103')
  const refusal = { code: 'platform-refused', failure: 'refused', call: 'shutdown' }
  await fault({ ...refusal, site: 'vcenter', machine: 'vm-103' })
  const job = await worker.finish(await sendTo(world, id, 'cutover-instance'))
  expect(job).toMatchObject({ state: 'succeeded' })
  expect(await entryOf(db, id)).toMatchObject({ state: 'worker-done' })
  expect((await statesOf(job.id, sourceStopKind)).toSorted()).toEqual(['done', 'undone'])
  expect(await effects(db)).toEqual([])
  await leaveAsDebt(job.id, sourceStopKind)
  await settleDebts()
  expect(await statesOf(job.id, sourceStopKind)).toEqual(['undone', 'undone'])
  expect(await powerOf(from, 'vm-103')).toBe('off')
})
