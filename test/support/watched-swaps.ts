import { expect } from 'vitest'
import { createSwapLab, expectSwapped, type Golden, type SwapLab } from './swapped-templates.ts'

interface GapRecord {
  readonly round: number
  readonly gap_from: number | null
}

export interface Watched {
  /** Looks at the name, and those that found nothing. */
  readonly looks: number
  readonly away: number
  /** As the versions record them, in milliseconds. */
  readonly gaps: readonly number[]
}

/**
 * Swaps a template again and again, with workers that die at any statement, while a poller reads the name all the time.
 * The name may be away only in a rename gap that the job has recorded before.
 */
export const swapUnderDeaths = async (asked: { swaps: number; seed: number }): Promise<Watched> => {
  const world = await createSwapLab()
  const dice = diceOf(asked.seed)
  const golden = await world.golden(await world.image('1'), { keepVersions: 1 })
  await golden.finish()
  const poller = startPoller(world, golden)
  try {
    for (let swap = 2; swap < asked.swaps + 2; swap += 1)
      await swapOnce(world, golden, { version: swap, dice })
  } finally {
    poller.stop()
  }
  const { looks, away } = await poller.ended
  await world.settleDebts()
  // The live version, and the version before it.
  expect((await world.objects()).filter(({ owner }) => 'drover.image' in owner)).toHaveLength(2)
  const rows = await world.db<{ gap: number }[]>`
    select gap_ms as gap from template_version where gap_ms is not null and number > 1`
  return { looks, away, gaps: rows.map(({ gap }) => Number(gap)) }
}

const swapOnce = async (
  world: SwapLab,
  golden: Golden,
  { version, dice }: { version: number; dice: (below: number) => number },
): Promise<void> => {
  const image = await world.image(String(version))
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

const startPoller = (world: SwapLab, golden: Golden) => {
  let stopped = false
  let looks = 0
  let away = 0
  const gap = async (): Promise<GapRecord> => {
    const [row] = await world.db<{ swap: GapRecord | null }[]>`
      select j.checkpoint -> 'swap' as swap from template t join job j on j.id = t.job_id where t.name = ${golden.name}`
    return row?.swap ?? { round: 0, gap_from: null }
  }
  const poll = async () => {
    while (!stopped) {
      const before = await gap()
      const { production } = await golden.seen()
      looks += 1
      if (production) continue
      away += 1
      const after = await gap()
      // A gap that opened and closed between the two reads of the record shows in the round.
      const isTold = before.gap_from !== null || after.gap_from !== null || before.round !== after.round
      expect(isTold, 'the name is away, and no rename gap is recorded').toBe(true)
    }
    return { looks, away }
  }
  const ended = poll()
  // Its error is thrown where its end is awaited.
  ended.catch(() => {})
  const stop = () => {
    stopped = true
  }
  return { stop, ended }
}

/** The same for every run of a commit. */
const diceOf = (seed: number) => {
  let state = seed
  return (below: number): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff
    return (state >> 8) % below
  }
}
