import { expect, test } from 'vitest'
import { storySeed } from '../../support/seed.ts'
import { tellSwaps } from './stories.ts'

/** As many for every push, whatever the machine has to do. */
const runs = Number(process.env.RUNS ?? 2_000)
const limitMs = 390_000
const seed = storySeed()

// promise: template-swap
test(`whatever happens to a swap, the name resolves in the end and nothing is left over (SEED=${seed} RUNS=${runs})`, async () => {
  const told = await tellSwaps({ seed, runs, limitMs })
  console.info(
    `${told.stories} stories, ${told.uploads} uploads, ${told.renames} tasks, ${told.live} versions live`,
  )
  expect(told.stories).toBe(runs)
})
