import { expect, test } from 'vitest'
import { randomSeed } from '../support/seed.ts'
import { swapUnderDeaths } from '../support/watched-swaps.ts'

const swaps = 200
const seed = randomSeed()

// promise: template-swap
test(`the name of a template resolves over 200 swaps with deaths, but in recorded gaps (SEED=${seed})`, async () => {
  const { looks, away, gaps } = await swapUnderDeaths({ swaps, seed })
  const sorted = [...gaps].sort((a, b) => a - b)
  const at = (part: number) => sorted[Math.floor((sorted.length - 1) * part)]
  console.info(
    `${swaps} swaps: ${looks} looks, ${away} found no name; gap p50 ${at(0.5)} ms, p90 ${at(0.9)} ms, longest ${at(1)} ms`,
  )
  expect(gaps).toHaveLength(swaps)
})
