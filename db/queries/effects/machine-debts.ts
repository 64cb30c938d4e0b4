import { nonBlockingEffects } from '../../../src/domain/operation/admission/non-blocking-effects.ts'
import type { Queryable } from '../../client.ts'

/** Whether an effect `e` is a debt that keeps its machine from other operations. */
export const isMachineDebt = (db: Queryable) =>
  db`e.state = 'debt' and e.kind <> all(${nonBlockingEffects as string[]}::text[])`
