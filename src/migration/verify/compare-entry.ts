import type { InstanceRow } from '../../../db/schema/inventory.ts'
import type { InstanceFacts } from '../../domain/inventory/facts.ts'
import { mergeInstance } from '../../domain/inventory/merge.ts'
import { applyOverrides, type EffectiveFacts } from '../../domain/inventory/overrides.ts'
import type { Placement } from '../../domain/migration/place/placement.ts'
import { type CompareAnswer, compareFinal } from '../../domain/migration/verify/verify-compare.ts'
import { placementOf } from '../entry/entry-work.ts'
import type { KeptPlacement } from '../place/place.ts'
import type { VerifyTask } from './verify-task.ts'

export interface Compared {
  readonly answer: CompareAnswer
  /** Includes the reasons for it, which are shown and not compared. */
  readonly placement: KeptPlacement | null
}

/** Compares the record with the source as it was just read, and with its placement if it were placed now. */
export const compareEntry = async (
  task: VerifyTask,
  instance: InstanceRow,
  seen: InstanceFacts,
): Promise<Compared> => {
  const { entryWork } = task
  // As in a sync, an empty value keeps the known one.
  const now: EffectiveFacts = applyOverrides(mergeInstance(instance.facts, seen), instance.overrides)
  const again = await task.parts.placeAgain(entryWork, now)
  const answer = compareFinal({
    committed: { facts: entryWork.facts, placement: bare(placementOf(entryWork)) },
    now,
    placement: again.placement && bare(again.placement),
    problems: again.problems,
    force: task.force,
  })
  return { answer, placement: again.placement }
}

const bare = ({ target, project, host, pools, networks }: Placement): Placement => ({
  target,
  project,
  host,
  pools,
  networks,
})
