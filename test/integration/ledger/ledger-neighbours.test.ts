import { expect, test } from 'vitest'
import { settleEffect, takeDueDebts, waiveOpenEffect } from '../../../db/queries/effects/effects.ts'
import { heartbeatJobs } from '../../../db/queries/leases/heartbeat-jobs.ts'
import { holdLease } from '../../../db/queries/leases/hold-lease.ts'
import { selfTest } from '../../../src/domain/job/kinds/self-test.ts'
import { done } from '../../../src/ledger/job.ts'
import { fullTokens } from '../../../src/ledger/jobs/admission.ts'
import { pauseWork, resumeWork } from '../../../src/ledger/jobs/pause.ts'
import {
  addOne,
  claim,
  contextOf,
  createWorker,
  effectsOf,
  end,
  jobOf,
  mustClaim,
  stateOf,
} from '../../support/ledger.ts'
import { requestCancel } from '../../support/ledger-verbs.ts'
import { createDatabase } from '../../support/postgres.ts'

/** What goes wrong with one job must not cost another one: not in a shared statement, not in a shared line. */
const { db } = await createDatabase()

test('a job whose row is held is passed over by the heartbeat, and the others keep their leases', async () => {
  const [held, free] = [await mustClaim(db, await addOne(db)), await mustClaim(db, await addOne(db))]
  await db.begin(async (tx) => {
    expect(await holdLease(tx, held.id, held.leaseEpoch)).toBe(true)
    const answers = await heartbeatJobs(
      db,
      [held, free].map((job) => ({ id: job.id, epoch: job.leaseEpoch, progress: null })),
      60_000,
    )
    const extended = new Map(answers.map((answer) => [answer.id, answer.extended]))
    expect([extended.get(held.id), extended.get(free.id)]).toEqual([false, true])
  })
  const [again] = await heartbeatJobs(db, [{ id: held.id, epoch: held.leaseEpoch, progress: null }], 60_000)
  expect(again?.extended).toBe(true)
})

test('text that Postgres cannot store is made storable, in a result as in an error', async () => {
  const broken = 'a\0b\ud800c'
  const id = await addOne(db)
  await end(db, await mustClaim(db, id), done({ said: broken, [broken]: 1n }))
  expect((await jobOf(db, id)).result).toEqual({ said: 'a\ufffdb\ufffdc', 'a\ufffdb\ufffdc': '1' })
  const failed = await addOne(db)
  await end(db, await mustClaim(db, failed), { type: 'thrown', thrown: new Error(broken) })
  expect((await jobOf(db, failed)).error).toMatchObject({ message: 'Unexpected error: a\ufffdb\ufffdc' })
})

test('an outcome that cannot be written fails its own try and none of its neighbours', async () => {
  const ids = [await addOne(db), await addOne(db), await addOne(db)]
  const circle: Record<string, unknown> = {}
  circle.self = circle
  const worker = createWorker(db, async (ctx) => done(ctx.job.id === ids[1] ? circle : { fine: true }))
  await Promise.all(ids.map((id) => worker.runner.follow(selfTest.kind, { id, generation: 1 })))
  expect(await Promise.all(ids.map((id) => stateOf(db, id)))).toEqual(['succeeded', 'ready', 'succeeded'])
  expect(await jobOf(db, ids[1] ?? '')).toMatchObject({ attempt: 1, lost: 0, error: { class: 'bug' } })
})

const marker = (name: string, seen: string[]) => ({
  kind: 'self-test-marker',
  platform: 'test',
  name,
  undo: { name },
  observe: async () => {
    seen.push('looked')
    return { found: true, externalId: name } as const
  },
  act: async () => {
    seen.push('acted')
    return { externalId: name }
  },
})

test('a debt of a job that runs again is looked for, taken back, and settled by nobody meanwhile', async () => {
  const id = await addOne(db)
  const seen: string[] = []
  const first = await mustClaim(db, id)
  await contextOf(db, first).effect(marker('taken-back', seen))
  const [effect] = await effectsOf(db, id)
  if (!effect) throw new Error('The effect was not written.')
  // The undo failed, and the worker died before it could end the job.
  await settleEffect(db, { id: effect.id, actor: 'test', outcome: 'debt', error: '{}', delayMs: 0 })
  expect(await db.begin((tx) => takeDueDebts(tx, 10, 1_000))).toEqual([])
  await db`update job set state = 'ready', bell = 'due', lease_until = null where id = ${id}::uuid`
  const result = await contextOf(db, await mustClaim(db, id)).effect(marker('taken-back', seen))
  expect(result).toMatchObject({ id: effect.id, adopted: true })
  expect(seen).toEqual(['acted', 'looked'])
  expect((await effectsOf(db, id)).map((row) => row.state)).toEqual(['done'])
})

test('a debt that somebody is settling cannot be waived under their hands', async () => {
  const id = await addOne(db)
  await contextOf(db, await mustClaim(db, id)).effect(marker('in-hand', []))
  const [effect] = await effectsOf(db, id)
  if (!effect) throw new Error('The effect was not written.')
  await settleEffect(db, { id: effect.id, actor: 'test', outcome: 'debt', error: '{}', delayMs: 0 })
  const settling = await addOne(db, {
    kind: 'settle-debt',
    payload: { effect_id: effect.id },
    subject: { type: 'effect', id: effect.id },
  })
  const waive = () => db.begin((tx) => waiveOpenEffect(tx, { id: effect.id, by: 'me', reason: 'by hand' }))
  await mustClaim(db, settling)
  expect(await waive()).toBe(false)
  await db`update job set state = 'ready', bell = 'due', lease_until = null where id = ${settling}::uuid`
  expect(await waive()).toBe(true)
})

test('a token of a class that this version does not know is full to it, and no other line is held up', () => {
  const tokens = ['from-the-future/x', 'link/wan']
  expect(fullTokens(tokens, new Map(), new Map())).toEqual(['from-the-future/x'])
})

test('a pause keeps no cancelled job from undoing what it left', async () => {
  const id = await addOne(db, { lane: 'batch/paused' })
  const job = await mustClaim(db, id)
  await contextOf(db, job).effect(marker('left', []))
  await db`update job set state = 'ready', bell = 'due', lease_until = null where id = ${id}::uuid`
  await pauseWork(db, { scope: 'lane', name: 'batch/paused', by: 'test', reason: 'test' })
  expect(await claim(db, id)).toBeUndefined()
  await requestCancel(db, id, { by: 'test', reason: 'test' })
  expect(await claim(db, id)).toMatchObject({ id, cancelRequested: true })
  await resumeWork(db, { scope: 'lane', name: 'batch/paused', by: 'test' })
})
