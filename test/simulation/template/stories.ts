import fc from 'fast-check'
import { expect } from 'vitest'
import { type Setting, type Step, SwapWorld } from './swap-world.ts'

const at = fc.nat(5)
const lines = fc.option(fc.nat(90), { nil: null, freq: 3 })
const fate = fc.oneof(
  { weight: 3, arbitrary: fc.constant({ diesAfter: null, freezesAfter: null }) },
  { weight: 3, arbitrary: fc.record({ diesAfter: lines, freezesAfter: fc.constant(null) }) },
  { weight: 2, arbitrary: fc.record({ diesAfter: fc.constant(null), freezesAfter: lines }) },
)
const mortal = fc.record({ diesAfter: lines, freezesAfter: fc.constant(null) })

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ do: fc.constant('ask'), at, image: fc.nat(2) }) },
  { weight: 16, arbitrary: fc.record({ do: fc.constant('work'), at, fate, patience: fc.nat(1_000) }) },
  {
    weight: 9,
    arbitrary: fc.record({ do: fc.constantFrom('thaw', 'lose', 'lose', 'come', 'garble', 'mend') }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('cancel'), at }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('debts'), fate: mortal }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('stranger'), at, role: fc.nat(5), elsewhere: fc.boolean() }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('leave', 'vanish'), at }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('trouble'),
      what: fc.constantFrom('away', 'busy', 'keeps', 'refuses-production', 'breaks-renames'),
    }),
  },
) as fc.Arbitrary<Step>

const setting: fc.Arbitrary<Setting> = fc.record({
  remembersNames: fc.boolean(),
  keepVersions: fc.nat(2),
  templates: fc.integer({ min: 1, max: 2 }),
})

export interface Told {
  readonly stories: number
  readonly uploads: number
  readonly renames: number
  readonly live: number
}

/** So many swaps that meet whatever can happen to them, each held against every law when all is over. */
export const tellSwaps = async (asked: { seed: number; runs: number; limitMs: number }): Promise<Told> => {
  const told = { stories: 0, uploads: 0, renames: 0, live: 0 }
  const outcome = await fc.check(
    fc.asyncProperty(
      setting,
      fc.array(step, { minLength: 6, maxLength: 40, size: 'max' }),
      async (of, steps) => {
        const world = new SwapWorld(of)
        for (const taken of steps) await world.take(taken)
        await world.settle()
        await world.rescue()
        expect([...world.broken, ...world.folder.broken]).toEqual([])
        told.stories += 1
        told.uploads += world.folder.uploads
        told.renames += world.folder.tasks.length
        told.live += world.memory.tables.versions.filter((v) => v.state !== 'withdrawn').length
      },
    ),
    {
      ...{ seed: asked.seed, numRuns: asked.runs },
      ...{ interruptAfterTimeLimit: asked.limitMs, markInterruptAsFailure: true },
      ...(process.env.STORY === undefined ? {} : { path: process.env.STORY }),
    },
  )
  if (outcome.failed) throw new Error(fc.defaultReportMessage(outcome), { cause: outcome.errorInstance })
  return told
}
