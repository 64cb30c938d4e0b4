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

/** A final verification in progress. */
export interface VerifyTask extends CopyTask {
  readonly parts: VerifyParts
  /** `force_conflict_resolution` of the batch, of the entry or of this request. */
  readonly force: boolean
  readonly overrides: InstanceOverrides
}
