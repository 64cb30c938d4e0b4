import type { Tx } from '../../../db/client.ts'
import { lockRoom } from '../../../db/queries/batches/batch-rows.ts'
import { holdSites } from '../../../db/queries/entries/entries-using-site.ts'
import { type EntryAtWork, lockEntryOfJob } from '../../../db/queries/entries/entry-rows.ts'
import { readEntrySurroundings } from '../../../db/queries/entries/entry-surroundings.ts'
import { countHostsOfGroup } from '../../../db/queries/entries/placing-entries.ts'
import { findInstanceById } from '../../../db/queries/instances/find-instance.ts'
import { findNetworksByRef, type NetworkLine } from '../../../db/queries/sites/list-site-things.ts'
import { loadSite, loadSiteById } from '../../../db/queries/sites/load-site.ts'
import { setJobTokens } from '../../../db/queries/tokens/set-job-tokens.ts'
import type { SiteRow } from '../../../db/schema/inventory.ts'
import { placeNetwork } from '../../domain/inventory/overrides.ts'
import type { MappedNetwork } from '../../domain/migration/batch/merge-placement.ts'
import type { Reason } from '../../domain/migration/entry/entry-facts.ts'
import type { TargetView } from '../../domain/migration/place/place-check.ts'
import { requireTrusted } from '../../inventory/connection/connectivity.ts'
import { actorOf } from '../../ledger/job.ts'
import { portOf } from '../../platforms/ports/ports.ts'
import { moveEntry } from '../entry/apply-entry.ts'
import { type EntryWork, enterEntryWork, movedOn } from '../entry/entry-work.ts'
import { tokensToPlace } from '../entry/known-target.ts'
import { blocksOf } from '../entry/observe-entry.ts'
import { ownerOfEntry } from '../target/ownership.ts'
import { removeOwned } from '../target/target-machine.ts'
import { chooseHost, hintOf } from './choose-host.ts'
import { decideWhere, findObstacles, type KeptPlacement, type WhereAsk } from './place.ts'
import type { SupposedHosts } from './plan-hosts.ts'
import { runScript, type ScriptThreads } from './script-runner.ts'
import type { ScriptAnswer } from './script-types.ts'
import { askAbout, batchText } from './script-view.ts'
import { holdRecord, takeRecord } from './take-record.ts'
import { type TargetLooks, viewTarget } from './target-view.ts'

export interface PlaceParts {
  readonly threads: ScriptThreads
  readonly looks: TargetLooks
}

/** What is known of a possible placement before the decision. */
export interface Considered {
  readonly where: Omit<WhereAsk, 'host'>
  readonly site: SiteRow | undefined
  readonly view: TargetView | undefined
}

export type Placed =
  | {
      readonly placed: true
      /** Includes the record that the placement was decided with. */
      readonly entryWork: EntryWork
      readonly placement: KeptPlacement
      readonly target: SiteRow
      /** The job holds the tokens for making a machine on that target. */
      readonly admitted: boolean
    }
  | { readonly placed: false; readonly reasons: readonly Reason[]; readonly log: readonly string[] }

/** Decides the placement of an entry and moves the entry to `creating`, or returns every reason against it. */
export const placeEntry = async (entered: EntryWork, parts: PlaceParts): Promise<Placed> => {
  for (
    let entryWork = entered;
    ;
    entryWork = await enterEntryWork(entered.ctx, entered.entry.id, takeRecord)
  ) {
    const placed = await placeNow(entryWork, parts)
    if (placed) return placed
  }
}

/** Undefined: the facts of the instance changed during the decision. */
const placeNow = async (entryWork: EntryWork, parts: PlaceParts): Promise<Placed | undefined> => {
  const considered = await consider(entryWork, parts)
  if ('blocks' in considered) return { placed: false, reasons: considered.blocks, log: considered.log }
  return entryWork.ctx.transaction(async (tx) => {
    const { entry: mine, ctx } = entryWork
    const entry = await lockEntryOfJob(tx, { entryId: mine.id, jobId: ctx.job.id })
    if (!entry) throw movedOn(mine.id)
    const { placement, reasons } = await decidePlace(tx, entryWork, considered)
    const { site } = considered
    if (!site || reasons.length > 0) return { placed: false, reasons, log: placement.log }
    if (!(await holdRecord(tx, entryWork, entry))) return undefined
    // The site may have been removed since the look.
    if (!(await holdSites(tx, [site.id])).has(site.id)) return undefined
    await create(tx, entryWork, entry, { placement, site })
    const admitted = !(await setJobTokens(tx, ctx.job.id, tokensToPlace(site.name)))
    return { placed: true, entryWork, placement, target: site, admitted }
  })
}

interface Hindered {
  readonly blocks: readonly Reason[]
  readonly log: readonly string[]
}

const consider = async (entryWork: EntryWork, parts: PlaceParts): Promise<Considered | Hindered> => {
  const { ctx, batch, facts, entry } = entryWork
  const networks = await mapNetworks(entryWork)
  const script = await askScript(entryWork, parts.threads)
  const where = { defaults: batch.defaults.placement, facts, networks, script }
  const { target, project } = decideWhere(where).placement
  const around = await readEntrySurroundings(ctx.db, { instanceId: entry.instanceId, targetName: target })
  if (!around) throw movedOn(entry.id)
  // The last check, and the first for a target that the script names.
  const blocks = blocksOf(batch, around, target)
  if (blocks.length > 0) return { blocks, log: script?.log ?? [] }
  const site = await loadSite(ctx.db, { role: 'target', name: target })
  if (!site) return { where, site, view: undefined }
  requireTrusted(site)
  await removeElsewhere(entryWork, site)
  return { where, site, view: await viewOf(entryWork, site, { project, late: false }, parts) }
}

/** Removes the machine of an earlier placement on another target. */
const removeElsewhere = async (entryWork: EntryWork, site: SiteRow): Promise<void> => {
  const { ctx, entry } = entryWork
  const { machineRef: ref, targetId } = entry
  if (ref === null || targetId === null || targetId === site.id) return
  const old = await loadSiteById(ctx.db, targetId)
  if (!old) return
  const owner = await ownerOfEntry(ctx.db, entry.id)
  const name = `${ctx.job.id}/${ctx.job.leaseEpoch}/elsewhere`
  await ctx.usePlatform(old, (platform) =>
    removeOwned(
      platform,
      { signal: ctx.signal, timeoutMs: 120_000, name },
      { ref, owner, confirm: () => ctx.confirm() },
    ),
  )
}

export const mapNetworks = async ({ ctx, source, facts }: EntryWork): Promise<Map<string, MappedNetwork>> => {
  const refs = [...new Set(facts.nics.map((nic) => nic.network_ref))]
  return mapLines(await findNetworksByRef(ctx.db, source.id, refs))
}

/** The target networks of these source networks, by the ref of the source network. */
export const mapLines = (lines: readonly NetworkLine[]): Map<string, MappedNetwork> =>
  new Map(
    lines.map((line) => [
      line.ref,
      { ...placeNetwork(line.facts, line.overrides), overridden: Object.keys(line.overrides).length > 0 },
    ]),
  )

export const askScript = async (
  entryWork: EntryWork,
  threads: ScriptThreads,
): Promise<ScriptAnswer | null> => {
  const { ctx, batch, facts, source, entry } = entryWork
  const script = batch.config.placement_scriptlet
  const instance = script === '' ? undefined : await findInstanceById(ctx.db, entry.instanceId)
  if (!instance) return null
  const ask = askAbout(facts, instance, source)
  const [answer] = await runScript(threads, {
    script,
    batch: batchText(batch),
    asks: [ask],
    signal: ctx.signal,
  })
  return answer ?? null
}

/** The target as it is now, and the machine that has the name there, if any. */
export const viewOf = async (
  entryWork: EntryWork,
  site: SiteRow,
  where: { readonly project: string; readonly late: boolean },
  { looks }: PlaceParts,
): Promise<TargetView> => {
  const { ctx, entry, facts } = entryWork
  const owner = await ownerOfEntry(ctx.db, entry.id)
  const look = async () => {
    const things = await looks.look(ctx, site)
    const call = { signal: ctx.signal, timeoutMs: 60_000, name: `${ctx.job.id}/owned` }
    const mine = await ctx.usePlatform(site, (platform) =>
      portOf(platform, 'machines').findOwned(call, owner),
    )
    return viewTarget(site, things, { name: facts.target_name, mine, ...where })
  }
  const view = await look()
  if (view.nameHeldBy !== 'somebody') return view
  // The machine that had the name may be gone by now, for example after a reset.
  looks.forgetOld(site, ctx.clock)
  return look()
}

/** The placement and every problem with it. Plans call this too, in a transaction that is rolled back. */
export const decidePlace = async (
  tx: Tx,
  { batch, entry, facts }: Pick<EntryWork, 'batch' | 'facts'> & { readonly entry: Pick<EntryAtWork, 'id'> },
  { where, view }: Considered,
  supposed?: SupposedHosts,
): Promise<{ placement: KeptPlacement; reasons: readonly Reason[] }> => {
  const hint = hintOf(facts)
  let host: WhereAsk['host']
  if (hint && view) {
    // Without the lock, two concurrent placements would both see the same empty host.
    await lockRoom(tx, batch.row.id)
    const { attribute, group } = hint
    const asked = { batchId: batch.row.id, but: entry.id, target: view.name, attribute, group }
    const taken = await countHostsOfGroup(tx, asked)
    host = chooseHost(hint, view.hosts, supposed?.over(view.name, hint, taken) ?? taken, facts)
  }
  const { placement, problems } = decideWhere({ ...where, ...(host ? { host } : {}) })
  const obstacles = findObstacles(placement, facts, view, batch.defaults.migration_network)
  // Both checks report a NIC without a network; one report is enough.
  const codes = new Set(problems.map(({ code }) => code))
  return { placement, reasons: [...problems, ...obstacles.filter(({ code }) => !codes.has(code))] }
}

const create = async (
  tx: Tx,
  { batch, ctx }: EntryWork,
  entry: EntryAtWork,
  { placement, site }: { readonly placement: KeptPlacement; readonly site: SiteRow },
): Promise<void> => {
  const by = actorOf(ctx)
  const stays = { by, jobId: ctx.job.id, tries: entry.tries }
  if (entry.state === 'blocked')
    await moveEntry(tx, batch.row, entry, {
      ...stays,
      event: 'unblock',
      reason: { code: 'placed', message: 'Nothing keeps it from starting any more.' },
    })
  const waiting = await lockEntryOfJob(tx, { entryId: entry.id, jobId: ctx.job.id })
  if (!waiting) throw movedOn(entry.id)
  await moveEntry(tx, batch.row, waiting, {
    ...stays,
    event: 'create',
    reason: { code: 'creating', message: `Its machine is made on ${site.name}.` },
    change: {
      placement: { ...placement },
      targetId: site.id,
      // A retry does not extend the deadline of the retries.
      reasons: waiting.reasons.filter(({ until }) => until !== undefined),
      error: null,
    },
  })
}

/** The target of an entry that an earlier turn of this job has placed. */
export const targetOf = async ({ ctx, entry }: EntryWork): Promise<SiteRow> => {
  const site = entry.targetId === null ? undefined : await loadSiteById(ctx.db, entry.targetId)
  if (!site) throw movedOn(entry.id)
  requireTrusted(site)
  return site
}
