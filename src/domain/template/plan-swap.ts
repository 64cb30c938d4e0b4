import { decideSwap, type SwapSeen, type SwapStep } from './swap-step.ts'

/** The sights after a successful step. */
export const afterStep = (seen: SwapSeen, step: SwapStep): SwapSeen => {
  switch (step) {
    case 'validate':
      return { ...seen, inputs: 'good' }
    case 'stage':
    case 'import':
      return { ...seen, temp: 'wanted', shelf: step === 'stage' ? 'absent' : seen.shelf }
    case 'retire':
      return { ...seen, production: 'absent', old: seen.production }
    case 'promote':
      return { ...seen, production: 'wanted', temp: 'absent' }
    case 'restore':
      return { ...seen, production: seen.old, old: 'absent' }
    case 'shelve-temp':
      return { ...seen, temp: 'absent', shelf: seen.temp === 'wanted' ? 'there' : seen.shelf }
    case 'shelve-old':
      return { ...seen, old: 'absent', shelf: seen.old === 'wanted' ? 'there' : seen.shelf }
    case 'discard-production':
      return { ...seen, production: 'absent' }
    case 'discard-temp':
      return { ...seen, temp: 'absent' }
    case 'discard-old':
      return { ...seen, old: 'absent' }
    case 'wait-for-image':
    case 'done':
    case 'refuse':
    case 'conflict':
    case 'give-up':
      return seen
  }
}

const ends = [
  'done',
  'refuse',
  'conflict',
  'give-up',
  'wait-for-image',
] as const satisfies readonly SwapStep[]
/** A step that ends the turn. */
export type SwapEnd = (typeof ends)[number]

export const endsTurn = (step: SwapStep): step is SwapEnd => (ends as readonly string[]).includes(step)

/** More steps than any plan has. */
const longest = 20

/** The steps of a swap in which every step succeeds, including the end. */
export const planSwap = (seen: SwapSeen): readonly SwapStep[] => {
  const steps: SwapStep[] = []
  for (let now = seen; steps.length < longest; now = afterStep(now, steps.at(-1) ?? 'done')) {
    const step = decideSwap(now)
    steps.push(step)
    if (endsTurn(step)) return steps
  }
  throw new Error('The table of swaps goes in a circle.')
}
