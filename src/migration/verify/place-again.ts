import { loadSite } from '../../../db/queries/sites/load-site.ts'
import type { EffectiveFacts } from '../../domain/inventory/overrides.ts'
import type { Reason } from '../../domain/migration/entry/entry-facts.ts'
import { checkPlace } from '../../domain/migration/place/place-check.ts'
import { requireTrusted } from '../../inventory/connection/connectivity.ts'
import type { EntryWork } from '../entry/entry-work.ts'
import { decideWhere, type KeptPlacement } from '../place/place.ts'
import { askScript, mapNetworks, type PlaceParts, viewOf } from '../place/place-entry.ts'

export interface PlacedAgain {
  /** Null: the placement cannot be decided, and `problems` says why. */
  readonly placement: KeptPlacement | null
  /** Problems of the new placement, including those on the target as it is now. */
  readonly problems: readonly Reason[]
}

/**
 * The placement of an instance if it were placed now, script included, and its problems on the target. Unknown throws.
 */
export type PlaceAgain = (entryWork: EntryWork, facts: EffectiveFacts) => Promise<PlacedAgain>

export const placeAgain =
  (parts: PlaceParts): PlaceAgain =>
  async (entryWork, facts) => {
    const asked = { ...entryWork, facts }
    const script = await askScript(asked, parts.threads)
    const { placement, problems } = decideWhere({
      defaults: entryWork.batch.defaults.placement,
      facts,
      networks: await mapNetworks(asked),
      script,
    })
    if (script && !script.ok) return { placement: null, problems }
    const site = await loadSite(entryWork.ctx.db, { role: 'target', name: placement.target })
    if (site) {
      requireTrusted(site)
      // The last check must not use an earlier look.
      parts.looks.forget(site)
    }
    const target =
      site && site.id === entryWork.target?.id
        ? await viewOf(asked, site, { project: placement.project, late: true }, parts)
        : undefined
    // Nothing of ours is on another target: the person is told of the other placement.
    const obstacles = site && !target ? [] : checkPlace({ placement, facts, target, late: true })
    const codes = new Set<string>(problems.map(({ code }) => code))
    const live = obstacles
      .filter(({ code }) => !codes.has(code))
      .map(({ code, message }) => ({ code, message }))
    return { placement, problems: [...problems, ...live] }
  }
