import type { Queryable } from '../../client.ts'

/**
 * Removes one batch of jobs that ended long ago, with their effects, oldest first. A job with an intended effect or a
 * debt stays at any age: it is the only record of something that may still exist outside. A job that is being redriven
 * is locked and skipped.
 */
export const pruneJobs = async (
  db: Queryable,
  options: { readonly days: number; readonly failedDays: number; readonly limit: number },
): Promise<number> => {
  const [pruned] = await db<{ jobs: number }[]>`
    with doomed as (
      select id, kind from job
      where finished_at < now() - least(${options.days}::int, ${options.failedDays}::int) * interval '1 day'
        and finished_at < now() - interval '1 day'
          * (case when state = 'failed' then ${options.failedDays}::int else ${options.days}::int end)
        and not exists (
          select 1 from effect where effect.job_id = job.id and effect.state in ('intended', 'debt'))
      order by finished_at limit ${options.limit}
      for update skip locked
    ), effects as (
      delete from effect using doomed where effect.job_id = doomed.id
    ), found_by as (
      delete from job_search s using doomed where s.kind = doomed.kind and s.job_id = doomed.id
    ), jobs as (
      delete from job using doomed where job.id = doomed.id returning 1
    )
    select count(*)::int as jobs from jobs`
  return pruned?.jobs ?? 0
}
