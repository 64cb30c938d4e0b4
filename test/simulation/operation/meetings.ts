import fc from 'fast-check'
import { expect } from 'vitest'
import type { Db } from '../../../db/client.ts'
import { operationKinds } from '../../../src/domain/operation/kinds.ts'
import { checkInvariants } from '../../support/invariants.ts'
import { makeSite } from '../../support/inventory.ts'
import { checkMachines } from '../../support/operated-machines.ts'
import { checkOperations, watchOperations } from '../../support/operation-invariants.ts'
import { OperationWorld, type Setting, type Step } from './operation-world.ts'

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

export interface Meetings {
  readonly seed: number
  readonly runs: number
  /** No more of them begin after this. */
  readonly limitMs: number
}

/**
 * So many stories of one or two machines at which operations meet, each held against every law when all is over. Gives
 * how often operations ended in each way.
 */
export const simulateMeetings = async (db: Db, meetings: Meetings): Promise<Map<string, number>> => {
  await watchOperations(db)
  const target = await makeSite(db, { role: 'target', name: 'cloud', connectivity: 'ok', quiet: true })
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
    for (const { state } of await db<{ state: string }[]>`select state from operation`)
      ends.set(state, (ends.get(state) ?? 0) + 1)
  }
  await fc.assert(
    fc.asyncProperty(
      fc.array(machine, { minLength: 1, maxLength: 2 }),
      fc.array(step, { minLength: 10, maxLength: 40, size: 'max' }),
      run,
    ),
    {
      ...{ seed: meetings.seed, numRuns: meetings.runs, endOnFailure: false },
      ...{ interruptAfterTimeLimit: meetings.limitMs, markInterruptAsFailure: false },
    },
  )
  return ends
}
