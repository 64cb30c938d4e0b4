import type { Queryable, Tx } from '../../client.ts'

/**
 * Counts what a large sync has staged. Nothing else would tell the planner in time: the stage fills and empties
 * within seconds, and with yesterday's numbers it joins ten thousand rows by looking at each with each.
 */
export const analyzeStage = async (db: Queryable): Promise<void> => {
  await db`analyze inventory_stage (job_id, epoch, kind, ref, action, record_id)`
}

/**
 * The same for instances, when a sync has brought so many that the numbers of before are worth nothing. The lock that
 * it takes keeps out only others that count.
 */
export const analyzeInstances = async (tx: Tx, added: number): Promise<void> => {
  const [row] = await tx<{ known: number }[]>`
    select greatest(reltuples, 0)::float8 as known from pg_class where oid = 'instance'::regclass`
  if (added > 1_000 && added > (row?.known ?? 0) * 0.2)
    await tx`analyze instance (site_id, ref, uuid, gone_at, revision, ignored, problem, rules_version)`
}

/** The same for the machines of targets. */
export const analyzeMachines = async (tx: Tx, added: number): Promise<void> => {
  const [row] = await tx<{ known: number }[]>`
    select greatest(reltuples, 0)::float8 as known from pg_class where oid = 'machine'::regclass`
  if (added > 1_000 && added > (row?.known ?? 0) * 0.2)
    await tx`analyze machine (target_id, ref, name, host, gone_at)`
}
