import type { Db, Tx } from '../../../db/client.ts'
import {
  findStaleJudgements,
  findStorageAccess,
  type InstanceToJudge,
  lockToJudge,
} from '../../../db/queries/instances/find-to-judge.ts'
import { findWaivers } from '../../../db/queries/instances/waivers-in-force.ts'
import { writeFindings } from '../../../db/queries/instances/write-findings.ts'
import { findSharedValues, replaceIdentities } from '../../../db/queries/sync/replace-identities.ts'
import { rulesVersion } from '../../domain/inventory/rules/catalogue.ts'
import { countsInFleet, fleetOf, identitiesOf, judge } from './judge.ts'

const pageSize = 500

/**
 * Judges these instances again, in the caller's transaction: unique identities, rules and readiness. Instances that
 * they clash with, or clashed with until now, are judged too.
 */
export const reassess = async (
  tx: Tx,
  asked: { readonly instanceIds: readonly string[] },
): Promise<{ readonly judged: number }> => {
  const ids = [...new Set(asked.instanceIds)].sort()
  const clashing = new Set<string>()
  for (const page of pages(ids)) for (const id of await identify(tx, page)) clashing.add(id)
  for (const id of ids) clashing.delete(id)
  const all = [...ids, ...[...clashing].sort()]
  for (const page of pages(all)) await judgePage(tx, page)
  return { judged: all.length }
}

/** The same for instances whose identities are up to date. */
export const judgeOnly = async (tx: Tx, ids: readonly string[]): Promise<void> => {
  for (const page of pages([...new Set(ids)].sort())) await judgePage(tx, page)
}

/** One page of instances judged by older rules or by a waiver that has ended. True: there may be more. */
export const reassessStale = async (db: Db, limit = pageSize): Promise<boolean> => {
  const ids = await findStaleJudgements(db, { rulesVersion, limit })
  if (ids.length === 0) return false
  await db.begin((tx) => reassess(tx, { instanceIds: ids }))
  return ids.length >= limit
}

const pages = function* (ids: readonly string[]): Generator<readonly string[]> {
  for (let at = 0; at < ids.length; at += pageSize) yield ids.slice(at, at + pageSize)
}

const identify = async (tx: Tx, ids: readonly string[]): Promise<string[]> => {
  const instances = await lockToJudge(tx, ids)
  const identities = instances
    .filter(countsInFleet)
    .flatMap(({ id, facts, overrides }) =>
      identitiesOf(facts, overrides).map((identity) => ({ id, ...identity })),
    )
  return replaceIdentities(tx, ids, identities)
}

const judgePage = async (tx: Tx, ids: readonly string[]): Promise<void> => {
  const instances = (await lockToJudge(tx, ids)).filter(({ gone }) => !gone)
  if (instances.length === 0) return
  const found = instances.map(({ id }) => id)
  const waivers = await findWaivers(tx, found)
  const fleet = fleetOf(await findSharedValues(tx, found))
  const accessible = await accessOf(tx, instances)
  const judgements = instances.map((instance) =>
    judge(instance, { fleet, waivers, datastoreAccessible: (name) => accessible(instance.siteId, name) }),
  )
  await writeFindings(tx, judgements)
}

const accessOf = async (tx: Tx, instances: readonly InstanceToJudge[]) => {
  const sites = [...new Set(instances.map(({ siteId }) => siteId))]
  const rows = await findStorageAccess(tx, sites)
  const known = new Map(rows.map(({ siteId, name, accessible }) => [`${siteId}/${name}`, accessible]))
  return (siteId: string, name: string): boolean | undefined => known.get(`${siteId}/${name}`)
}
