import type { Db, Tx } from '../../../db/client.ts'
import { type EntryInsert, insertEntries } from '../../../db/queries/batches/batch-instances.ts'
import { readEntriesOf } from '../../../db/queries/batches/read-plan-facts.ts'
import { findNetworksByRef } from '../../../db/queries/sites/list-site-things.ts'
import { loadSiteById } from '../../../db/queries/sites/load-site.ts'
import type { SiteRow } from '../../../db/schema/inventory.ts'
import type { EntryRow } from '../../../db/schema/migration.ts'
import type { EffectiveFacts } from '../../domain/inventory/overrides.ts'
import type { MappedNetwork } from '../../domain/migration/batch/merge-placement.ts'
import { instanceBlocks } from '../../domain/migration/batch/start-batch.ts'
import { isBeforePlacement } from '../../domain/migration/entry/entry.ts'
import type { Reason } from '../../domain/migration/entry/entry-facts.ts'
import { getsEntry, instanceStanding, type Judged, newEntry } from '../batch/make-entries.ts'
import { placeOf } from '../entry/apply-entry.ts'
import type { BatchView } from '../entry/batch-view.ts'
import { decideWhere, type KeptPlacement } from '../place/place.ts'
import { type Considered, decidePlace, mapLines } from '../place/place-entry.ts'
import { SupposedHosts } from '../place/plan-hosts.ts'
import { runScript, type ScriptThreads } from '../place/script-runner.ts'
import type { ScriptAnswer } from '../place/script-types.ts'
import { askAbout, batchText } from '../place/script-view.ts'
import type { PlanTargets } from './plan-target.ts'

/** One instance of a plan, with its entry or the entry that it would get. */
export interface Subject {
  readonly judged: Judged
  readonly facts: EffectiveFacts
  readonly entryId: string
  /** Undefined: the entry would be made. */
  readonly existing: EntryRow | undefined
  readonly fresh: EntryInsert | undefined
  /** The other batch that already has the instance. */
  readonly elsewhere: string | null
}

/** What would become of the instance. */
export interface Decided {
  readonly subject: Subject
  readonly source: SiteRow | undefined
  /** Where it is or would be placed; null: nowhere. */
  readonly placement: KeptPlacement | null
  readonly reasons: readonly Reason[]
}

export interface PagePlannerOptions {
  readonly db: Db
  readonly batch: BatchView
  readonly threads: ScriptThreads
  readonly targets: PlanTargets
  readonly signal: AbortSignal
}

/** Carries the decisions out of a transaction that is rolled back. */
class TakenBack extends Error {
  readonly decided: readonly Decided[]

  constructor(decided: readonly Decided[]) {
    super('A plan is taken back.')
    this.decided = decided
  }
}

/** Plans a batch page by page: carries out a start and rolls it back. */
export class PagePlanner {
  readonly #options: PagePlannerOptions
  readonly #sources = new Map<string, SiteRow | undefined>()
  readonly #supposed = new SupposedHosts()

  constructor(options: PagePlannerOptions) {
    this.#options = options
  }

  async plan(judged: readonly Judged[]): Promise<readonly Decided[]> {
    const subjects = await this.#subjectsOf(judged)
    if (subjects.length === 0) return []
    const open = subjects.filter(isOpen)
    const considered = await this.#consider(open)
    try {
      await this.#options.db.begin(async (tx) => {
        throw new TakenBack(await this.#decide(tx, subjects, considered))
      })
    } catch (error) {
      if (!(error instanceof TakenBack)) throw error
      return error.decided
    }
    throw new Error('A plan was not taken back.')
  }

  async #subjectsOf(judged: readonly Judged[]): Promise<Subject[]> {
    const { db, batch } = this.#options
    const mine = judged.filter(({ line }) => line.entryBatch === batch.row.name)
    const entries = await readEntriesOf(
      db,
      batch.row.id,
      mine.map(({ line }) => line.id),
    )
    return judged.flatMap((one): Subject[] => {
      const existing = entries.get(one.line.id)
      const whole = {
        judged: one,
        facts: one.facts,
        entryId: '',
        existing: undefined,
        fresh: undefined,
        elsewhere: null,
      }
      if (existing) {
        // A blocked entry is placed by the facts at that time.
        const facts = existing.state === 'blocked' ? one.facts : (existing.facts as unknown as EffectiveFacts)
        return [{ ...whole, facts, entryId: existing.id, existing }]
      }
      if (isElsewhere(one, batch.row.name)) return [{ ...whole, elsewhere: one.line.entryBatch }]
      if (!getsEntry(one)) return []
      const fresh = newEntry(batch, one)
      return [{ ...whole, entryId: fresh.id, fresh }]
    })
  }

  async #sourceOf(id: string): Promise<SiteRow | undefined> {
    if (!this.#sources.has(id)) this.#sources.set(id, await loadSiteById(this.#options.db, id))
    return this.#sources.get(id)
  }

  /** Looks up everything before any decision: networks, the script's answers, the live targets. */
  async #consider(
    subjects: readonly Subject[],
  ): Promise<Map<Subject, Considered & { troubles: readonly Reason[] }>> {
    const { batch, targets } = this.#options
    const networks = await this.#networksOf(subjects)
    const answers = await this.#askScript(subjects)
    const found = new Map<Subject, Considered & { troubles: readonly Reason[] }>()
    for (const [at, subject] of subjects.entries()) {
      const { facts, judged, existing } = subject
      const where = {
        defaults: batch.defaults.placement,
        facts,
        networks: networks.get(judged.line.siteId) ?? new Map<string, MappedNetwork>(),
        script: answers[at] ?? null,
      }
      const { target, project } = decideWhere(where).placement
      const { site, troubles } = await targets.find(target)
      const machine = { name: facts.target_name, project, mine: existing?.machineRef ?? null }
      const view = await targets.viewFor(target, machine)
      found.set(subject, { where, site, view, troubles })
    }
    return found
  }

  async #networksOf(subjects: readonly Subject[]): Promise<Map<string, Map<string, MappedNetwork>>> {
    const refs = new Map<string, Set<string>>()
    for (const { judged, facts } of subjects) {
      const known = refs.get(judged.line.siteId) ?? new Set()
      for (const nic of facts.nics) known.add(nic.network_ref)
      refs.set(judged.line.siteId, known)
    }
    const found = new Map<string, Map<string, MappedNetwork>>()
    for (const [siteId, wanted] of refs)
      found.set(siteId, mapLines(await findNetworksByRef(this.#options.db, siteId, [...wanted])))
    return found
  }

  async #askScript(subjects: readonly Subject[]): Promise<readonly ScriptAnswer[]> {
    const { batch, threads, signal } = this.#options
    const script = batch.config.placement_scriptlet
    if (script === '') return []
    const asks = subjects.map(({ facts, judged: { line } }) =>
      askAbout(
        facts,
        { id: line.id, overrides: line.overrides },
        { name: line.source, kind: line.sourceKind },
      ),
    )
    return runScript(threads, { script, batch: batchText(batch), asks, signal })
  }

  async #decide(
    tx: Tx,
    subjects: readonly Subject[],
    considered: ReadonlyMap<Subject, Considered & { troubles: readonly Reason[] }>,
  ): Promise<Decided[]> {
    const { batch } = this.#options
    const fresh = subjects.flatMap((one) => one.fresh ?? [])
    const by = { id: batch.row.id, name: batch.row.name, by: `batch/${batch.row.name}` }
    const made = new Set((await insertEntries(tx, by, fresh)).map(({ instanceId }) => instanceId))
    const decided: Decided[] = []
    for (const subject of subjects) {
      // Another batch has just taken the instance.
      if (subject.fresh && !made.has(subject.fresh.instanceId)) continue
      const source = await this.#sourceOf(subject.judged.line.siteId)
      const found = considered.get(subject)
      decided.push(
        found
          ? await this.#place(tx, { subject, source, found })
          : { subject, source, placement: keptOf(subject.existing), reasons: reasonsOf(subject, batch) },
      )
    }
    return decided
  }

  async #place(
    tx: Tx,
    asked: {
      readonly subject: Subject
      readonly source: SiteRow | undefined
      readonly found: Considered & { readonly troubles: readonly Reason[] }
    },
  ): Promise<Decided> {
    const { subject, source, found } = asked
    const { batch } = this.#options
    const { facts, entryId: id, existing } = subject
    const whose = { batch, facts, entry: { id } }
    const { placement, reasons } = await decidePlace(tx, whose, found, this.#supposed)
    // Nothing else is known of a target that could not be looked at.
    const problems = found.troubles.length > 0 ? found.troubles : reasons
    if (problems.length === 0) this.#supposed.move(facts, { before: keptOf(existing), now: placement })
    const away: Reason[] =
      source?.connectivity === 'ok'
        ? []
        : [
            {
              code: 'source-not-connected',
              message: `The source ${subject.judged.line.source} is not connected.`,
            },
          ]
    return {
      subject,
      source,
      placement: problems.length === 0 ? placement : null,
      reasons: [...reasonsOf(subject, batch), ...away, ...problems],
    }
  }
}

/** Whether its placement is not decided yet. */
export const isOpen = ({ existing, elsewhere }: Subject): boolean =>
  elsewhere === null && (existing === undefined || isBeforePlacement(placeOf(existing)))

/** The instance matches this batch, but another batch already has it. */
const isElsewhere = ({ line, matches }: Judged, batch: string): boolean =>
  line.entryBatch !== null && line.entryBatch !== batch && (matches === true || line.assigned)

const keptOf = (entry: EntryRow | undefined): KeptPlacement | null =>
  (entry?.placement as unknown as KeptPlacement | null | undefined) ?? null

/**
 * The reasons that its start gives or gave. Restrictions come and go until the placement, so they are checked again.
 */
const reasonsOf = ({ existing, fresh, judged, elsewhere }: Subject, { config }: BatchView): Reason[] => {
  if (elsewhere !== null)
    return [{ code: 'in-other-batch', message: `It is in the queue of the batch ${elsewhere}.` }]
  if (fresh) return fresh.reasons.map((one) => one as unknown as Reason)
  if (!existing) return []
  if (existing.state === 'conflict') return [{ code: existing.reason, message: existing.message }]
  return isBeforePlacement(placeOf(existing))
    ? instanceBlocks(instanceStanding(judged.line), config.instance_restriction_overrides)
    : []
}
