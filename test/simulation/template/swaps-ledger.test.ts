import { expect, test } from 'vitest'
import { storySeed } from '../../support/seed.ts'
import { createSwapLab, expectSwapped } from '../../support/swapped-templates.ts'

const world = await createSwapLab()
const swaps = Number(process.env.RUNS ?? 20)
const seed = storySeed()

/** The same for every run of a commit. */
const dice = (() => {
  let state = seed
  return (below: number): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff
    return (state >> 8) % below
  }
})()

// promise: template-swap
test(`over the real ledger and the lab, workers that die at any statement lose no template (SEED=${seed} RUNS=${swaps})`, async () => {
  const golden = await world.golden(await world.image('1'), { keepVersions: 1 })
  await golden.finish()
  for (let swap = 2; swap < swaps + 2; swap += 1) {
    const image = await world.image(String(swap))
    await golden.want(image)
    for (let deaths = dice(4); deaths > 0; deaths -= 1) {
      await golden.turn({ diesAfter: dice(120), freezesAfter: null })
      await world.takeBack()
      const { production, temp, old } = await golden.seen()
      expect(production ?? (temp && old), 'the name, or both that it may have').toBeDefined()
    }
    expect(await golden.finish()).toMatchObject({ state: 'succeeded' })
    await expectSwapped(world.db, golden, image)
  }
  await world.settleDebts()
  // What is live, and the version before it.
  expect((await world.objects()).filter(({ owner }) => 'drover.image' in owner)).toHaveLength(2)
})
