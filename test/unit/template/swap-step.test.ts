import { describe, expect, test } from 'vitest'
import { afterStep, endsTurn, planSwap } from '../../../src/domain/template/plan-swap.ts'
import {
  decideSwap,
  inputSights,
  isTaskStep,
  productionSights,
  promotions,
  type SwapSeen,
  shelfSights,
  swapRowFits,
  swapSteps,
  swapTable,
  swapTarget,
  tempSights,
} from '../../../src/domain/template/swap-step.ts'

/** All that can be seen under the names. */
const everything: readonly SwapSeen[] = productionSights.flatMap((production) =>
  tempSights.flatMap((temp) =>
    productionSights.flatMap((old) =>
      shelfSights.flatMap((shelf) =>
        inputSights.flatMap((inputs) =>
          promotions.map((promotion) => ({ production, temp, old, shelf, inputs, promotion })),
        ),
      ),
    ),
  ),
)

const isWhole = (sight: string): boolean => sight === 'wanted' || sight === 'other'
const resolves = ({ production }: SwapSeen): boolean => isWhole(production)
/** Whole objects of ours, wherever they are; the shelf beside the three names may have any number. */
const wholeOnes = ({ production, temp, old }: SwapSeen): number =>
  [production, temp, old].filter(isWhole).length
const says = (seen: SwapSeen): string => Object.values(seen).join(' ')
/** Those that break a law, as text. */
const breaking = (breaks: (seen: SwapSeen) => boolean): string[] => everything.filter(breaks).map(says)
const actedOn = (seen: SwapSeen): string | undefined => {
  const step = decideSwap(seen)
  return isTaskStep(step) ? seen[swapTarget[step]] : undefined
}

describe('the table of swaps', () => {
  test('decides whatever is seen, and every row of it is needed', () => {
    expect(everything).toHaveLength(5 * 6 * 5 * 2 * 4 * 2)
    const decided = everything.map((seen) => swapTable.findIndex((row) => swapRowFits(row, seen)))
    expect(new Set(decided).size).toBe(swapTable.length)
    expect(new Set(everything.map(decideSwap))).toEqual(new Set(Object.keys(swapSteps)))
  })

  // promise: template-swap
  test('never acts on what is not ours, on what is absent, or on what is not there to be acted on', () => {
    expect(breaking((seen) => ['stranger', 'absent'].includes(actedOn(seen) ?? ''))).toEqual([])
  })

  test('destroys nothing that is whole', () => {
    expect(
      breaking((seen) => decideSwap(seen).startsWith('discard') && isWhole(actedOn(seen) ?? '')),
    ).toEqual([])
  })

  test('takes the name away only when a whole object of the wanted image is ready to take it, with a way back', () => {
    expect(
      breaking(
        (seen) =>
          resolves(seen) &&
          !resolves(afterStep(seen, decideSwap(seen))) &&
          !(
            seen.temp === 'wanted' &&
            seen.old === 'absent' &&
            seen.inputs === 'good' &&
            seen.promotion === 'open'
          ),
      ),
    ).toEqual([])
  })

  test('brings the name back at once where a whole object may have it, whatever was asked for', () => {
    expect(
      breaking(
        (seen) =>
          seen.production === 'absent' &&
          ((seen.temp === 'wanted' && seen.promotion === 'open') || isWhole(seen.old)) &&
          !resolves(afterStep(seen, decideSwap(seen))),
      ),
    ).toEqual([])
  })

  test('rolls forward where the new object is whole, and uploads no second one', () => {
    const forward = (seen: SwapSeen) =>
      seen.production === 'absent' && seen.temp === 'wanted' && seen.promotion === 'open'
    expect(breaking((seen) => forward(seen) && decideSwap(seen) !== 'promote')).toEqual([])
    const atHand = (seen: SwapSeen) => seen.temp === 'wanted' || seen.shelf === 'there'
    const uploads = (seen: SwapSeen) => decideSwap(seen) === 'import' && seen.temp !== 'begun'
    expect(breaking((seen) => uploads(seen) && atHand(seen))).toEqual([])
  })

  test('changes nothing for what was asked before that was checked', () => {
    const forTheAsked = ['stage', 'import', 'retire']
    expect(breaking((seen) => seen.inputs !== 'good' && forTheAsked.includes(decideSwap(seen)))).toEqual([])
  })

  test('loses no whole object', () => {
    const shelved = (seen: SwapSeen) => decideSwap(seen).startsWith('shelve')
    expect(
      breaking((seen) => {
        const after = afterStep(seen, decideSwap(seen))
        return wholeOnes(after) + (shelved(seen) ? 1 : 0) < wholeOnes(seen)
      }),
    ).toEqual([])
  })

  test('comes to an end from everywhere: one production and nothing left over, or a reason why not', () => {
    const ended = everything.map((seen) => {
      const steps = planSwap(seen)
      const after = steps.reduce(afterStep, seen)
      return { seen, after, end: steps.at(-1) ?? 'done' }
    })
    const clear = ['absent', 'stranger']
    const unclear = ended.filter(({ after, end }) =>
      end === 'done'
        ? after.production !== 'wanted' || !clear.includes(after.temp) || !clear.includes(after.old)
        : end === 'refuse' && !(clear.includes(after.temp) && clear.includes(after.old)),
    )
    expect(unclear.map(({ seen }) => says(seen))).toEqual([])
    expect(ended.filter(({ end }) => !endsTurn(end))).toEqual([])
    // Where nobody is in the way, the only way not to get there is what was asked for.
    const free = (seen: SwapSeen) =>
      ![seen.production, seen.temp, seen.old].some((sight) => sight === 'stranger') &&
      ['unseen', 'good'].includes(seen.inputs) &&
      seen.promotion === 'open'
    expect(
      ended.filter(({ seen, end }) => free(seen) && end !== 'done').map(({ seen }) => says(seen)),
    ).toEqual([])
  })

  test('gets the name back by steps that go wrong, too: it never goes without while a whole object is under a name', () => {
    const lost = everything.filter((seen) => {
      const end = planSwap(seen).reduce(afterStep, seen)
      return (resolves(seen) || isWhole(seen.old)) && !resolves(end) && end.production !== 'stranger'
    })
    expect(lost.map(says)).toEqual([])
  })
})

test('a plan lists its steps in order, its end last', () => {
  const seen: SwapSeen = {
    ...{ production: 'other', temp: 'absent', old: 'absent' },
    ...{ shelf: 'absent', inputs: 'good', promotion: 'open' },
  }
  expect(planSwap(seen)).toEqual(['import', 'retire', 'promote', 'shelve-old', 'done'])
  expect(planSwap({ ...seen, shelf: 'there' })).toEqual(['stage', 'retire', 'promote', 'shelve-old', 'done'])
})
