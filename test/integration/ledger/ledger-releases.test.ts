import { expect, test } from 'vitest'
import { insertPause } from '../../../db/queries/fleet/pauses.ts'
import type { ReleaseReason } from '../../../src/domain/job/release.ts'
import { CancelRequest, release } from '../../../src/ledger/job.ts'
import { sealBroken } from '../../../src/seal/seal.ts'
import type { Ending } from '../../../workers/end-turn.ts'
import type { RunningJob } from '../../../workers/running-job.ts'
import { addOne, contextOf, end, jobOf, mustClaim } from '../../support/ledger.ts'
import { requestCancel } from '../../support/ledger-verbs.ts'
import { createDatabase } from '../../support/postgres.ts'

const { db } = await createDatabase()

test('a release is told with its reason, however it came about', async () => {
  const id = await addOne(db, { lane: 'batch/told' })
  const throws = (thrown: unknown) => ({ type: 'thrown' as const, thrown })
  const caught = (work: () => Promise<unknown>) => work().then(() => undefined, throws)
  const ways: [ReleaseReason, (ctx: RunningJob) => Promise<Ending | undefined>][] = [
    ['awaiting-place', async () => release('awaiting-place', 'It asks for a place on cloud.')],
    [
      'worker-drains',
      (ctx) => {
        ctx.drain()
        return caught(() => ctx.pace())
      },
    ],
    [
      'lane-paused',
      async (ctx) => {
        await db.begin((tx) =>
          insertPause(tx, { scope: 'lane', name: 'batch/told', by: 'test', reason: 'stopped' }),
        )
        const ending = await caught(() => ctx.pace())
        await db`delete from pause`
        return ending
      },
    ],
    [
      'worker-drains',
      async (ctx) => {
        ctx.drain()
        return throws(sealBroken('test'))
      },
    ],
  ]
  for (const [, come] of ways) {
    const ctx = contextOf(db, await mustClaim(db, id))
    const ending = await come(ctx)
    if (!ending) throw new Error('The job was not let go of.')
    await end(db, ctx.job, ending, { ctx })
  }
  const told = await db<{ reason: ReleaseReason; message: string }[]>`
    select reason, detail ->> 'message' as message from event where job_id = ${id}::uuid and type = 'job.released'
    order by era, xid`
  expect(told.map(({ reason }) => reason)).toEqual(ways.map(([reason]) => reason))
  expect(told.map(({ message }) => message)).toEqual([
    'It asks for a place on cloud.',
    'The worker is going away.',
    'The lane batch/told is paused.',
    'The worker is going away, and a stored secret did not open there: another worker tries.',
  ])
})

test('a cancel that was heard while a turn let go of its job ends the job in that turn', async () => {
  const id = await addOne(db)
  const ctx = contextOf(db, await mustClaim(db, id))
  await requestCancel(db, id, { by: 'ada', reason: 'no more' })
  ctx.abort(new CancelRequest('no more'))
  await end(db, ctx.job, release('awaiting-slot', 'It waits for a slot.'), { ctx })
  expect(await jobOf(db, id)).toMatchObject({ state: 'canceled', cancelReason: 'no more' })
})
