import { entryStages, entryStates, isCommitted } from '../../../src/domain/migration/entry/entry.ts'
import type { Queryable } from '../../client.ts'

/** Every pair that counts as committed, as the domain says. */
const committedPlaces = entryStates.flatMap((state) =>
  entryStages.filter((stage) => isCommitted({ state, stage })).map((stage) => `${state}/${stage}`),
)

/** A condition: the source's power-off of this entry (`e`) was asked for. */
export const entryIsCommitted = (db: Queryable) =>
  db`(e.state || '/' || e.stage) = any(${committedPlaces}::text[])`
