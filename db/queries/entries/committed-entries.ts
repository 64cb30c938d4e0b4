import { entryStages, entryStates, isCommitted } from '../../../src/domain/migration/entry/entry.ts'
import type { Queryable } from '../../client.ts'

/** Every committed pair of state and stage, as the domain says. */
const committedPlaces = entryStates.flatMap((state) =>
  entryStages.filter((stage) => isCommitted({ state, stage })).map((stage) => `${state}/${stage}`),
)

/** A condition: the power-off of this entry's (`e`) source was requested. */
export const entryIsCommitted = (db: Queryable) =>
  db`(e.state || '/' || e.stage) = any(${committedPlaces}::text[])`
