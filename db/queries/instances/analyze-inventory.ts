import type { Queryable, Tx } from '../../client.ts'

/**
 * Updates the planner's statistics of a large stage. Nothing else would do so in time: the stage fills and empties
 * within seconds, and with old statistics the planner joins ten thousand rows by nested loops.
 */
export const analyzeStage = async (db: Queryable): Promise<void> => {
  await db`analyze inventory_stage (job_id, epoch, kind, ref, action, record_id)`
}

/**
 * The same for instances, after a sync that added so many that the old statistics are useless. Its lock excludes only
 * other analyzes.
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
