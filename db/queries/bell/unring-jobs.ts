import type { Queryable } from '../../client.ts'

/**
 * Takes bells back that no worker could follow: the job is due again, after `delayMs` if ringing at once would only be
 * refused again. `publish` grows, so that the relay's late mark of the old bell does not apply.
 */
export const unringJobs = async (db: Queryable, ids: readonly string[], delayMs: number): Promise<void> => {
  await db`
    with mine as (
      -- In the order of everybody: claims and marks lock rows by id as well.
      select id from job where id = any(${ids as string[]}::uuid[]) and state = 'ready' order by id for no key update
    )
    update job set publish = publish + 1, published_at = null,
      run_after = greatest(run_after, now() + ${delayMs}::float8 * interval '1 millisecond'),
      bell = case when greatest(run_after, now() + ${delayMs}::float8 * interval '1 millisecond') > now()
                  then 'held' else 'due' end
    where id in (select id from mine)`
}
