import { expect, test } from 'vitest'
import { selfTest } from '../../../src/domain/job/kinds/self-test.ts'
import { settleDebt } from '../../../src/domain/job/kinds/settle-debt.ts'
import { syncSource } from '../../../src/domain/job/kinds/sync-source.ts'
import { syncTarget } from '../../../src/domain/job/kinds/sync-target.ts'
import { defaultRetryPolicy } from '../../../src/domain/job/retry.ts'
import { sweepDeadlines } from '../../../src/ledger/conductor/sweeps.ts'
import { done } from '../../../src/ledger/job.ts'
import { sealBroken } from '../../../src/seal/seal.ts'
import { endTurn } from '../../../workers/end-turn.ts'
import { siteSealBroken } from '../../../workers/site-seal-broken.ts'
import {
  addOne,
  claim,
  contextOf,
  end,
  handlerOf,
  jobOf,
  makeDue,
  mustClaim,
  stateOf,
} from '../../support/ledger.ts'
import { requestCancel } from '../../support/ledger-verbs.ts'
import { createDatabase } from '../../support/postgres.ts'

const { db } = await createDatabase()

const thrown = siteSealBroken({ role: 'target', name: 'cloud' }, sealBroken('it was changed'))
const unopened = { type: 'thrown', thrown } as const

/** How long the job was put off when its last turn ended. */
const msPutOff = async (id: string): Promise<number> => {
  const [row] = await db<{ ms: number }[]>`
    select extract(epoch from j.run_after - e.at)::float8 * 1000 as ms from job j join event e on e.job_id = j.id
    where j.id = ${id}::uuid and e.type = 'job.retried' order by e.xid desc, e.id desc limit 1`
  return row?.ms ?? 0
}

test('a job whose site has a password that does not open outlasts every budget, uncharged, and goes on', async () => {
  const id = await addOne(db)
  const { environmentBaseMs, environmentCapMs, environmentMax } = defaultRetryPolicy
  for (let turn = 1; turn <= environmentMax + 5; turn += 1) {
    await end(db, await mustClaim(db, id), unopened)
    const step = Math.min(environmentCapMs, environmentBaseMs * 2 ** (turn - 1))
    const ms = await msPutOff(id)
    // Both moments are rounded to the millisecond.
    expect(ms).toBeGreaterThanOrEqual(step / 2 - 1)
    expect(ms).toBeLessThanOrEqual(step + 1)
    await makeDue(db, id)
  }
  expect(await jobOf(db, id)).toMatchObject({
    ...{ state: 'ready', attempt: 0, environmentAttempt: 0 },
    error: { code: 'site-seal-broken', class: 'environment' },
  })
  await end(db, await mustClaim(db, id), done())
  expect(await stateOf(db, id)).toBe('succeeded')
})

test('a job that waits for a password ends at its deadline', async () => {
  const id = await addOne(db, { deadline: new Date(Date.now() + 3_600_000) })
  await end(db, await mustClaim(db, id), unopened)
  await db`update job set deadline = now() - interval '1 second' where id = ${id}::uuid`
  expect(await sweepDeadlines(db, 0)).toBe(1)
  expect(await jobOf(db, id)).toMatchObject({ state: 'failed', error: { code: 'deadline-passed' } })
})

test('a job that waits for a password ends when it is cancelled', async () => {
  const id = await addOne(db)
  await end(db, await mustClaim(db, id), unopened)
  await requestCancel(db, id, { by: 'test', reason: 'no more' })
  const job = await claim(db, id)
  if (job) await end(db, job, unopened)
  expect(await stateOf(db, id)).toBe('canceled')
})

test.each([syncSource, syncTarget, settleDebt])(
  'a job of the kind $kind does not wait for a password: the next one is due anyway',
  async ({ retry }) => {
    const id = await addOne(db)
    const handler = handlerOf(async () => done(), new Map(), { ...selfTest, retry })
    for (let turn = 1; turn <= retry.environmentMax; turn += 1) {
      const ctx = contextOf(db, await mustClaim(db, id))
      await endTurn(ctx, unopened, { db, undoers: new Map(), handler, actor: 'worker/test' })
      await makeDue(db, id)
    }
    expect(await jobOf(db, id)).toMatchObject({ state: 'failed', error: { code: 'site-seal-broken' } })
  },
)
