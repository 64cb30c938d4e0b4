import fc from 'fast-check'
import { expect, test } from 'vitest'
import { operationKinds } from '../../../src/domain/operation/kinds.ts'
import { checkInvariants } from '../../support/invariants.ts'
import { makeSite } from '../../support/inventory.ts'
import { checkMachines } from '../../support/operated-machines.ts'
import { checkOperations, watchOperations } from '../../support/operation-invariants.ts'
import { createDatabase } from '../../support/postgres.ts'
import { OperationWorld, type Setting, type Step } from './operation-world.ts'

const { db } = await createDatabase()
await watchOperations(db)
const target = await makeSite(db, { role: 'target', name: 'cloud', connectivity: 'ok', quiet: true })
const runs = Number(process.env.RUNS ?? 100)
/** Enough for a push; who asks for so many runs has the time for them. */
const limitMs = process.env.RUNS === undefined ? 25_000 : 400_000
const seed = process.env.SEED === undefined ? Date.now() % 2 ** 31 : Number(process.env.SEED)

const at = fc.nat(1)
const pick = fc.nat(5)
const lines = fc.option(fc.nat(60), { nil: null, freq: 2 })
const fate = fc.oneof(
  { weight: 3, arbitrary: fc.constant({ diesAfter: null, freezesAfter: null }) },
  { weight: 2, arbitrary: fc.record({ diesAfter: lines, freezesAfter: fc.constant(null) }) },
  { weight: 2, arbitrary: fc.record({ diesAfter: fc.constant(null), freezesAfter: lines }) },
)
/** Those that are about one machine's power more often: they meet each other. */
const kind = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom('start', 'stop', 'restart') },
  { weight: 1, arbitrary: fc.constantFrom(...operationKinds) },
)
const ask = fc.record({
  kind,
  force: fc.boolean(),
  onConflict: fc.constantFrom('supersede', 'supersede', 'supersede', 'queue', 'reject'),
})

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({ do: fc.constant('ask'), at, asks: fc.array(ask, { minLength: 1, maxLength: 3 }) }),
  },
  { weight: 14, arbitrary: fc.record({ do: fc.constant('work'), pick, fate, patience: fc.nat(1_000) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('cancel', 'expire', 'overrun'), pick }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('thaw'), pick, heard: fc.boolean() }) },
  {
    weight: 9,
    arbitrary: fc.record({ do: fc.constantFrom('lose', 'tick', 'tick', 'debts', 'wake', 'wake', 'wake') }),
  },
  { weight: 5, arbitrary: fc.record({ do: fc.constantFrom('come', 'come', 'come', 'fill'), at }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constantFrom('cut', 'mend', 'mend', 'garble') }) },
) as fc.Arbitrary<Step>

const machine: fc.Arbitrary<Setting> = fc.record({
  power: fc.constantFrom('on', 'off'),
  guest: fc.constantFrom('obeys', 'obeys', 'hangs', 'deaf'),
  policy: fc.constantFrom('manual', 'manual', 'manual', 'always-on-unless-stopped', 'always-on'),
})

let done = 0
const ends = new Map<string, number>()

const run = async (machines: readonly Setting[], steps: readonly Step[]): Promise<void> => {
  const world = new OperationWorld(db, target)
  await world.begin(machines)
  for (const taken of steps) await world.take(taken)
  expect(await checkOperations(db)).toEqual([])
  await world.settle()
  expect(await checkOperations(db, { atRest: true })).toEqual([])
  expect(world.broken).toEqual([])
  expect(await checkMachines(db, world.cloud.log())).toEqual([])
  expect(await checkInvariants(db)).toEqual([])
  done += 1
  for (const { what } of await db<{ what: string }[]>`select state || ' ' || reason as what from operation`)
    ends.set(what, (ends.get(what) ?? 0) + 1)
}

test(`whatever meets at a machine, the last to survive has its way, once (SEED=${seed} RUNS=${runs})`, async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(machine, { minLength: 1, maxLength: 2 }),
      fc.array(step, { minLength: 10, maxLength: 40, size: 'max' }),
      run,
    ),
    {
      seed,
      numRuns: runs,
      interruptAfterTimeLimit: limitMs,
      markInterruptAsFailure: false,
      endOnFailure: false,
    },
  )
  console.info(`${done} runs: `, JSON.stringify(Object.fromEntries([...ends].sort())))
})
