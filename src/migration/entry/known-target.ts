import type { BatchView } from './batch-view.ts'

/** The target of an entry before its placement; null: the script of the batch may choose any target. */
export const targetBeforePlacement = ({
  defaults,
  config,
}: Pick<BatchView, 'defaults' | 'config'>): string | null =>
  config.placement_scriptlet === '' ? defaults.placement.target : null

/** The tokens of the job that places an entry. If the target is not known yet, the job asks for them later. */
export const tokensToPlace = (target: string | null): string[] =>
  target === null ? [] : [`target-creates/${target}`]
