import fc from 'fast-check'
import { expect, test } from 'vitest'
import { checkInvariants } from '../support/invariants.ts'
import { createDatabase } from '../support/postgres.ts'
import { storySeed } from '../support/seed.ts'
import { LedgerDriver } from './ledger-driver.ts'
import { type Ending, LedgerModel, type ModelJob, type Step } from './ledger-model.ts'

const { db } = await createDatabase()
const runs = Number(process.env.RUNS ?? 150)
const seed = storySeed()

const pick = fc.nat(11)
const lane = fc.constantFrom('one', 'two')
const tokens = fc.constantFrom<string[][]>([], [], ['link/a'], ['link/b'], ['link/a', 'link/b'])
const how = fc.constantFrom<Ending[]>(
  'succeed',
  'fail',
  'failInDebt',
  'retry',
  'waitA',
  'waitB',
  'release',
  'cancel',
)
const onJob = fc.constantFrom(
  'cancel',
  'redrive',
  'expire',
  'deadline',
  'timeOut',
  'makeDue',
  'ring',
  'waive',
)
const asHolder = fc.constantFrom('effect', 'heartbeat', 'checkpoint')

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ verb: fc.constant('enqueue'), tokens, lane, priority: fc.constantFrom(0, 0, 5) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      verb: fc.constant('enqueueKey'),
      key: fc.constantFrom('k', 'l'),
      steps: fc.nat(1),
    }),
  },
  { weight: 10, arbitrary: fc.record({ verb: fc.constant('claim'), pick }) },
  { weight: 8, arbitrary: fc.record({ verb: fc.constant('finish'), pick, how }) },
  { weight: 5, arbitrary: fc.record({ verb: asHolder, pick }) },
  { weight: 10, arbitrary: fc.record({ verb: onJob, pick }) },
  { weight: 1, arbitrary: fc.record({ verb: fc.constantFrom('pause', 'resume'), lane }) },
  { weight: 2, arbitrary: fc.record({ verb: fc.constant('signal'), name: fc.constantFrom('a', 'b') }) },
  {
    weight: 2,
    arbitrary: fc.record({
      verb: fc.constant('limit'),
      token: fc.constantFrom('link/a', 'link/b'),
      capacity: fc.nat(2),
    }),
  },
  { weight: 1, arbitrary: fc.record({ verb: fc.constantFrom('lapse', 'flush') }) },
) as fc.Arbitrary<Step>

/** Where chance alone seldom comes: a line before full tokens, and a job that has lost workers before. */
const begin = fc.constantFrom<Step[][]>(
  [],
  [
    ...['link/a', 'link/b'].map((token): Step => ({ verb: 'limit', token, capacity: 1 })),
    ...[0, 0, 5, 0, 5].map((priority, at): Step => {
      const tokens =
        [['link/a', 'link/b'], ['link/a'], ['link/a', 'link/b'], ['link/b'], ['link/a']][at] ?? []
      return { verb: 'enqueue', tokens, lane: at % 2 ? 'one' : 'two', priority }
    }),
    ...[0, 1, 2, 3, 4].map((at): Step => ({ verb: 'claim', pick: at })),
    { verb: 'timeOut', pick: 1 },
    { verb: 'claim', pick: 1 },
  ],
  [
    { verb: 'enqueue', tokens: ['link/a'], lane: 'one', priority: 0 },
    ...[1, 2, 3, 4].flatMap((): Step[] => [
      { verb: 'claim', pick: 0 },
      { verb: 'expire', pick: 0 },
    ]),
    { verb: 'claim', pick: 0 },
    { verb: 'effect', pick: 4 },
  ],
)

const shown = ({
  state,
  bell,
  generation,
  epoch,
  environmentAttempt,
  lost,
  cancelRequested,
  effect,
  held,
  story,
  waitReason,
}: ModelJob) => ({
  ...{ state, bell, generation, epoch, environmentAttempt, lost, cancelRequested, effect, held, story },
  waitReason: state === 'waiting' ? waitReason : null,
})

const run = async (first: readonly Step[], more: readonly Step[]): Promise<void> => {
  await db`truncate job, job_search, event, effect, token_hold, pause, signal, admission_limit`
  const model = new LedgerModel()
  const driver = new LedgerDriver(db, model)
  for (const taken of [...first, ...more]) {
    const answers = await driver.take(taken)
    expect(answers.real, `the answer to ${JSON.stringify(taken)}`).toBe(answers.model)
    expect(await driver.read(), `the ledger after ${JSON.stringify(taken)}`).toEqual(model.jobs.map(shown))
  }
  const capacity = await db`select 1 from admission_limit`
  // A limit that was lowered takes nothing away, so only without one is "too many" a violation.
  const violations = await checkInvariants(db)
  expect(violations.filter((what) => capacity.length === 0 || !/is held \d+ times/.test(what))).toEqual([])
}

// promise: ledger-model
test(`whatever is done to the ledger, in any order, it is what the model says (SEED=${seed} RUNS=${runs})`, async () => {
  await fc.assert(
    fc.asyncProperty(begin, fc.array(step, { minLength: 10, maxLength: 25, size: 'max' }), run),
    {
      seed,
      numRuns: runs,
      interruptAfterTimeLimit: 360_000,
      markInterruptAsFailure: true,
      endOnFailure: false,
    },
  )
})
