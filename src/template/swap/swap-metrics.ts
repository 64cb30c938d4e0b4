import { histogram } from '../../process/telemetry.ts'

const swapSeconds = histogram(
  'template_swap_seconds',
  'How long swaps of templates took, from the first step to the last.',
)
const gapSeconds = histogram(
  'template_gap_seconds',
  'For how long the name of a template pointed at nothing in a swap.',
)

/** Observes a swap whose version became live. */
export const observeSwap = ({ swapMs, gapMs }: { readonly swapMs: number; readonly gapMs: number }): void => {
  swapSeconds.observe(swapMs / 1_000)
  gapSeconds.observe(gapMs / 1_000)
}
