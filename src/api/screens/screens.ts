import { chooseForVerb, type VerbChoice } from '../../../db/queries/entries/entries-for-verb.ts'
import { findEntries } from '../../../db/queries/entries/list-entries.ts'
import { readLatestEvents } from '../../../db/queries/events/read-latest-events.ts'
import type { ApiDeps } from '../http/env.ts'
import { readDown } from '../resources/fleet/down-view.ts'
import { viewJobEvent } from '../resources/jobs/event-view.ts'
import { viewEntrySummary } from '../resources/migration/queue-view.ts'
import { readOverview } from './overview.ts'

/**
 * What pages show and programs do not need, so that no route has it: summaries over everything. The console reads
 * the rest by the routes of the API.
 */
export const createScreens = (deps: ApiDeps) => ({
  overview: () => readOverview(deps),
  /** The newest events, the newest first: a window for eyes, where programs follow a feed. */
  latestEvents: async (options: { readonly limit: number; readonly prefix: string }) =>
    (await readLatestEvents(deps.db, options)).map(viewJobEvent),
  /** Which entries a verb would be about: how many, the first of them, and whose sources are off. */
  chosenEntries: async (choice: VerbChoice, limit: number) => {
    const { matched, ids } = await chooseForVerb(deps.db, choice, { after: undefined, limit })
    const down = await readDown(deps.db, { choice })
    return { matched, down, items: (await findEntries(deps.db, ids)).map(viewEntrySummary) }
  },
})

export type Screens = ReturnType<typeof createScreens>
