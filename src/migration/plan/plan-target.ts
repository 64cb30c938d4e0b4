import { readHistory } from '../../../db/queries/batches/read-plan-facts.ts'
import { loadSite } from '../../../db/queries/sites/load-site.ts'
import type { SiteRow } from '../../../db/schema/inventory.ts'
import type { Reason } from '../../domain/migration/entry/entry-facts.ts'
import type { TargetView } from '../../domain/migration/place/place-check.ts'
import { learnPace, type Pace } from '../../domain/migration/schedule/plan-forecast.ts'
import { asDroverError } from '../../errors.ts'
import { requireTrusted } from '../../inventory/connection/connectivity.ts'
import type { JobContext } from '../../ledger/job.ts'
import { type TargetLooks, type TargetThings, viewTarget } from '../place/target-view.ts'

/** The most history records that a forecast uses. */
const samples = 2_000

interface KnownTarget {
  readonly site: SiteRow | undefined
  /** Undefined: the target could not be looked at. */
  readonly things: TargetThings | undefined
  readonly troubles: readonly Reason[]
}

/** The targets of one plan: each target is looked at once, and each pair's history is read once. */
export class PlanTargets {
  readonly #ctx: JobContext
  readonly #looks: TargetLooks
  readonly #targets = new Map<string, Promise<KnownTarget>>()
  readonly #paces = new Map<string, Promise<Pace>>()

  constructor(ctx: JobContext, looks: TargetLooks) {
    this.#ctx = ctx
    this.#looks = looks
  }

  find(name: string): Promise<KnownTarget> {
    const known = this.#targets.get(name) ?? this.#look(name)
    this.#targets.set(name, known)
    return known
  }

  /** The target as seen by a machine of this name. `mine`: the machine that its entry already has there. */
  async viewFor(
    name: string,
    machine: { readonly name: string; readonly project: string; readonly mine: string | null },
  ): Promise<TargetView | undefined> {
    const { site, things } = await this.find(name)
    if (!site || !things) return undefined
    return viewTarget(site, things, { ...machine, mine: machine.mine === null ? [] : [machine.mine] })
  }

  pace(sourceId: string, targetId: string): Promise<Pace> {
    const key = `${sourceId}/${targetId}`
    const known =
      this.#paces.get(key) ?? readHistory(this.#ctx.db, { sourceId, targetId }, samples).then(learnPace)
    this.#paces.set(key, known)
    return known
  }

  async #look(name: string): Promise<KnownTarget> {
    const site = await loadSite(this.#ctx.db, { role: 'target', name })
    if (!site) return { site, things: undefined, troubles: [] }
    try {
      requireTrusted(site)
      return { site, things: await this.#looks.look(this.#ctx, site), troubles: [] }
    } catch (error) {
      this.#ctx.signal.throwIfAborted()
      const { message } = asDroverError(error)
      const trouble = { code: 'target-not-connected', message: `The target ${name} was not seen: ${message}` }
      return { site, things: undefined, troubles: [trouble] }
    }
  }
}
