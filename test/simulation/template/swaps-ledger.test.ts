import { expect, test } from 'vitest'
import { storySeed } from '../../support/seed.ts'
import { swapUnderDeaths } from '../../support/watched-swaps.ts'

const swaps = Number(process.env.RUNS ?? 20)
const seed = storySeed()

// promise: template-swap
test(`over the real ledger and the lab, workers that die at any statement lose no template, and its name is away in a recorded gap alone (SEED=${seed} RUNS=${swaps})`, async () => {
  const { looks, gaps } = await swapUnderDeaths({ swaps, seed })
  expect(looks).toBeGreaterThan(swaps)
  expect(gaps).toHaveLength(swaps)
})
