import type { BatchView } from './batch-view.ts'

/** Where an entry lands that nobody has placed yet; null: the batch's script may send it anywhere. */
export const targetBeforePlacement = ({
  defaults,
  config,
}: Pick<BatchView, 'defaults' | 'config'>): string | null =>
  config.placement_scriptlet === '' ? defaults.placement.target : null

/** What the job that places an entry must hold. Where its target is not known yet, it asks when it is. */
export const tokensToPlace = (target: string | null): string[] =>
  target === null ? [] : [`target-creates/${target}`]
