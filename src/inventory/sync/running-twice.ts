import { findRunningTwice, type RunningTwice } from '../../../db/queries/instances/find-running-twice.ts'
import { loadSiteById } from '../../../db/queries/sites/load-site.ts'
import { findWarningOf } from '../../../db/queries/sites/merge-warnings.ts'
import type { SiteRow } from '../../../db/schema/inventory.ts'
import { actorOf, type JobContext } from '../../ledger/job.ts'
import { portOf } from '../../platforms/ports/ports.ts'
import { boundedTexts, mergeWarnings } from '../connection/warnings.ts'

/** The most pairs that a person can look at; the last line says that there are more. */
const pairsMost = 50
const callMs = 10_000
const alarm = 'running-twice'

/**
 * After each reading of a site: a machine that runs here while its twin runs on another site raises an alarm. The
 * reading is minutes old, so both are looked at again; a site that does not answer clears nothing.
 */
export const watchForTwins = async (ctx: JobContext, site: SiteRow): Promise<void> => {
  const found = await findRunningTwice(ctx.db, site, pairsMost + 1)
  const place = { entityType: site.role, entityId: site.name, entityName: site.name }
  if (found.length === 0 && !(await findWarningOf(ctx.db, place, alarm))) return
  const pairs = found.slice(0, pairsMost)
  const running: RunningTwice[] = []
  const mayRun = looker(ctx)
  for (const pair of pairs) if (await bothRun(ctx, mayRun, site, pair)) running.push(pair)
  const texts = running.map((pair) => sentence(site, pair))
  const said = boundedTexts(texts, texts.length + Math.max(0, found.length - pairsMost))
  await ctx.transaction((tx) =>
    mergeWarnings(tx, place, { types: [alarm], said: { [alarm]: said }, actor: actorOf(ctx) }),
  )
}

type MayRun = (site: SiteRow, ref: string) => Promise<boolean>

const bothRun = async (
  ctx: JobContext,
  mayRun: MayRun,
  site: SiteRow,
  { ref, otherSiteId, otherRef }: RunningTwice,
): Promise<boolean> => {
  const other = await loadSiteById(ctx.db, otherSiteId)
  if (!other) return false
  return (await mayRun(site, ref)) && (await mayRun(other, otherRef))
}

/** A site that did not answer once is not asked again: each of its pairs would delay the sync as long. */
const looker = (ctx: JobContext): MayRun => {
  const silent = new Set<string>()
  return async (site, ref) => {
    if (site.connectivity !== 'ok' || silent.has(site.id)) return true
    try {
      return await ctx.usePlatform(site, async (platform) => {
        const call = { signal: ctx.signal, timeoutMs: callMs, name: `twin-${ctx.job.id}` }
        const seen = await portOf(platform, 'power').power(call, ref)
        return seen.found && seen.value.state === 'on'
      })
    } catch {
      ctx.signal.throwIfAborted()
      silent.add(site.id)
      return true
    }
  }
}

const sentence = (site: SiteRow, pair: RunningTwice): string => {
  const both = `${pair.name} (${pair.ref}) of ${site.name}, and ${pair.otherName} (${pair.otherRef}) of ${pair.otherSite}`
  return pair.mac === null
    ? `One VM runs twice (UUID ${pair.uuid}): ${both}. Stop the one that is not meant, at once.`
    : `Two machines run with the MAC address ${pair.mac}: ${both}. If one is a copy of the other, stop the one that is not meant, at once; otherwise give one of them a new address.`
}
