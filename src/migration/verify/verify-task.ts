import type { InstanceOverrides } from '../../domain/inventory/overrides.ts'
import type { Sealer } from '../../seal/seal.ts'
import type { ByteBudget } from '../copy/byte-budget.ts'
import type { CopyTask } from '../copy/copy-task.ts'
import type { PlaceAgain } from './place-again.ts'

export interface VerifyParts {
  readonly budget: ByteBudget
  readonly sealer: Sealer
  readonly placeAgain: PlaceAgain
}

/** A final verification under way. */
export interface VerifyTask extends CopyTask {
  readonly parts: VerifyParts
  /** `force_conflict_resolution`, of the batch, the entry or this very run. */
  readonly force: boolean
  readonly overrides: InstanceOverrides
}
