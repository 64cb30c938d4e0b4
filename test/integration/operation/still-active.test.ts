import { expect, test } from 'vitest'
import { findOperation } from '../../../db/queries/operations/operation-rows.ts'
import type { OperationVariant } from '../../../src/domain/operation/kinds/kinds.ts'
import { sweepDebts, sweepLeases } from '../../../src/ledger/conductor/sweeps.ts'
import type { UndoContext, Undoer } from '../../../src/ledger/job.ts'
import { type AskedOperation, askOperation } from '../../../src/operation/admission/ask-operation.ts'
import { tickOperations } from '../../../src/operation/upkeep/ticks.ts'
import { openLab } from '../../../src/platforms/lab/lab.ts'
import { handleOperateMachine } from '../../../workers/handlers/operate-machine.ts'
import { handleSettleDebt } from '../../../workers/handlers/settle-debt.ts'
import { createEntryWorker } from '../../support/entry-world.ts'
import { createInventoryWorker } from '../../support/inventory.ts'
import { expire, jobOf, mustClaim } from '../../support/ledger.ts'
import { addMachine } from '../../support/machines.ts'
import { createOperatingWorld } from '../../support/operating.ts'
import { strictLog } from '../../support/strict-log.ts'

const { db, lab, site, target, power } = await createOperatingWorld()
const { use } = createInventoryWorker(db, openLab)
/** Whether what a job began can be called off now. */
const world = { answers: true }
const undoers: Record<string, Undoer> = Object.fromEntries(
  Object.entries(handleOperateMachine.undoers ?? {}).map(([kind, undo]) => [
    kind,
    async (undoing: UndoContext) => {
      if (!world.answers) throw new Error('Nobody answers.')
      await undo(undoing)
    },
  ]),
)
const settle = handleSettleDebt(new Map(Object.entries(undoers)))
const worker = createEntryWorker(db, [{ ...handleOperateMachine, undoers }, settle], use)

const ask = (machineId: string, variant: OperationVariant) =>
  db.begin((tx) =>
    askOperation(tx, {
      ...{ machineId, ...variant, onConflict: 'supersede', params: {}, cause: 'person', by: 'test' },
      ...{ deadlineSeconds: 60, waitSeconds: 3_600 },
    }),
  ) as Promise<AskedOperation>

const stop = { kind: 'stop', force: false } as const
const plug = { kind: 'stop', force: true } as const
const idOf = ({ operation }: AskedOperation): string => operation.id
const workOf = ({ operation }: AskedOperation): string => operation.jobId ?? ''
const powerOf = async (ref: string): Promise<string> => (await power(ref)).state

/** A turn of a job that waits, as if the time of its wait had passed. */
const lookAgain = async (id: string) => {
  await db`update job set state = 'ready', wait_reason = null, wait_since = null, wait_until = null, wait_signal = null
    where id = ${id}::uuid and state = 'waiting'`
  return worker.follow(id)
}

/** A polite stop whose guest does not hear, and a newer one that takes its place. */
const hangingStop = async (ref: string) => {
  await lab.admin(`PATCH /lab/sites/vcenter/instances/${ref}`, { shutdown: 'hangs' })
  const machine = await addMachine(db, { targetId: target.id, ref, power: 'on' })
  const polite = await ask(machine, stop)
  expect((await worker.follow(workOf(polite))).state).toBe('waiting')
  return { machine, polite, forced: await ask(machine, plug) }
}

const eventsOf = async (id: string): Promise<string[]> => {
  const rows = await db<{ type: string }[]>`
    select type from event where subject_type = 'operation' and subject_id = ${id} order by xid, id`
  return rows.map(({ type }) => type)
}

const warningsOf = (machine: string) => db<{ type: string; messages: { text: string }[] }[]>`
  select type, messages from warning where entity_type = 'machine' and entity_id = ${machine}`

const endedAgo = (id: string, seconds: number) => db`
  update operation set finished_at = now() - ${seconds} * interval '1 second' where id = ${id}::uuid`

// promise: older-lets-go
test('whoever waits for an older one is woken when that has let go, and not before', async () => {
  const { polite, forced } = await hangingStop('vm-101')
  expect(await worker.follow(workOf(forced))).toMatchObject({
    ...{ state: 'waiting', waitReason: 'awaiting-older', waitSignal: expect.stringContaining('let-go') },
  })
  expect(await findOperation(db, idOf(forced))).toMatchObject({
    reason: 'awaiting-older',
    message: expect.stringContaining(`stop ${idOf(polite)} (superseded) is still active: its job is ready.`),
  })
  await tickOperations(db, strictLog)
  expect((await jobOf(db, workOf(forced))).state).toBe('waiting')
  await worker.finish(workOf(polite))
  await tickOperations(db, strictLog)
  expect((await jobOf(db, workOf(forced))).state).toBe('ready')
  await worker.finish(workOf(forced))
  expect(await powerOf('vm-101')).toBe('off')
  expect(await findOperation(db, idOf(polite))).toMatchObject({ settledAt: expect.any(Date) })
})

// promise: older-lets-go
test('an effect that could not be undone keeps the machine until it is, and everything goes on by itself then', async () => {
  const { machine, polite, forced } = await hangingStop('vm-102')
  world.answers = false
  expect((await worker.follow(workOf(polite))).state).toBe('canceled')
  await tickOperations(db, strictLog)
  expect(await findOperation(db, idOf(polite))).toMatchObject({ state: 'superseded', settledAt: null })
  expect((await worker.follow(workOf(forced))).waitReason).toBe('awaiting-older')
  expect(await findOperation(db, idOf(forced))).toMatchObject({
    message: expect.stringMatching(/one of its effects is still to be undone.*Nobody answers\./),
  })
  // Too long now: people hear of it, once, and it goes on waiting.
  await endedAgo(idOf(polite), 121)
  await tickOperations(db, strictLog)
  await tickOperations(db, strictLog)
  expect(await findOperation(db, idOf(forced))).toMatchObject({ state: 'pending', reason: 'older-keeps-on' })
  expect((await lookAgain(workOf(forced))).waitReason).toBe('older-keeps-on')
  expect((await eventsOf(idOf(forced))).filter((type) => type === 'operation.older-keeps-on')).toHaveLength(1)
  expect(await warningsOf(machine)).toMatchObject([
    { type: 'older-keeps-on', messages: [{ text: expect.stringContaining(idOf(polite)) }] },
  ])
  // The rest before its next try is bounded, however long it was to be.
  await db`update effect set next_try_at = now() + interval '1 hour' where job_id = ${workOf(polite)}::uuid`
  await lookAgain(workOf(forced))
  const [debt] = await db`select id, next_try_at < now() + interval '31 seconds' as soon from effect
    where job_id = ${workOf(polite)}::uuid and state = 'debt'`
  expect(debt?.soon).toBe(true)
  world.answers = true
  // Moments are stored rounded to the millisecond: one of now may lie ahead.
  await db`update effect set next_try_at = now() - interval '1 second' where id = ${debt?.id as string}::uuid`
  await sweepDebts(db)
  const [settling] = await db<
    { id: string }[]
  >`select id from job where kind = 'settle-debt' and state = 'ready'`
  await worker.finish(settling?.id ?? '')
  await tickOperations(db, strictLog)
  expect(await findOperation(db, idOf(polite))).toMatchObject({ settledAt: expect.any(Date) })
  expect(await warningsOf(machine)).toEqual([])
  await worker.finish(workOf(forced))
  expect(await findOperation(db, idOf(forced))).toMatchObject({ state: 'completed' })
  expect(await powerOf('vm-102')).toBe('off')
})

// promise: older-lets-go
test('one whose older does not let go until its own time is over fails with that, and has done nothing', async () => {
  const { polite, forced } = await hangingStop('vm-103')
  await worker.follow(workOf(forced))
  await db`update operation set expires_at = now() where id = ${idOf(forced)}::uuid`
  await tickOperations(db, strictLog)
  expect(await findOperation(db, idOf(forced))).toMatchObject({
    ...{ state: 'failed', reason: 'older-keeps-on', startedAt: null, settledAt: expect.any(Date) },
  })
  expect((await jobOf(db, workOf(forced))).state).toBe('canceled')
  expect(await powerOf('vm-103')).toBe('on')
  await worker.finish(workOf(polite))
})

test('the job of an older one that died with its worker is taken up by another, and the newer goes on', async () => {
  await lab.admin('PATCH /lab/sites/vcenter/instances/vm-105', { shutdown: 'hangs' })
  const machine = await addMachine(db, { targetId: target.id, ref: 'vm-105', power: 'on' })
  const polite = await ask(machine, stop)
  await worker.follow(workOf(polite))
  await db`update job set state = 'ready', wait_reason = null, wait_since = null, wait_until = null, wait_signal = null
    where id = ${workOf(polite)}::uuid`
  await mustClaim(db, workOf(polite))
  const forced = await ask(machine, plug)
  expect((await worker.follow(workOf(forced))).waitReason).toBe('awaiting-older')
  await expire(db, workOf(polite))
  await sweepLeases(db)
  expect((await worker.finish(workOf(polite))).state).toBe('canceled')
  await tickOperations(db, strictLog)
  await worker.finish(workOf(forced))
  expect(await powerOf('vm-105')).toBe('off')
})

test('one that is overdue while its job rests is ended, and called off', async () => {
  await site.done('POST /instances/vm-106/power', { verb: 'stop' })
  await lab.admin('POST /lab/faults', {
    ...{ kind: 'error', code: 'platform-no-capacity', call: 'start', machine: 'vm-106' },
  })
  const machine = await addMachine(db, { targetId: target.id, ref: 'vm-106', power: 'off' })
  const start = await ask(machine, { kind: 'start', force: false })
  expect((await worker.follow(workOf(start))).finishedAt).toBeNull()
  await tickOperations(db, strictLog)
  expect(await findOperation(db, idOf(start))).toMatchObject({ state: 'running' })
  await db`update operation set deadline_at = now() - interval '4 seconds' where id = ${idOf(start)}::uuid`
  await tickOperations(db, strictLog)
  expect(await findOperation(db, idOf(start))).toMatchObject({
    ...{ state: 'failed', reason: 'deadline-exceeded', settledAt: null },
    message: expect.stringContaining('It took longer than it was given.'),
  })
  await lab.admin('DELETE /lab/faults')
  await worker.finish(workOf(start))
  await tickOperations(db, strictLog)
  expect(await findOperation(db, idOf(start))).toMatchObject({ settledAt: expect.any(Date) })
  expect(await powerOf('vm-106')).toBe('off')
})
