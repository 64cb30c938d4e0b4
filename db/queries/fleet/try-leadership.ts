import type { Queryable } from '../../client.ts'

/** The ASCII codes of `LEAD`. */
const leaderLock = 0x4c454144

/**
 * Whether this session holds the leadership: takes it when free, keeps it when held. A session that reconnected
 * unnoticed has lost its lock with the old connection and asks again here.
 */
export const tryLeadership = async (session: Queryable): Promise<boolean> => {
  const [row] = await session<{ leads: boolean }[]>`
    select exists (
      select from pg_locks where locktype = 'advisory' and pid = pg_backend_pid() and granted
        and classid = 0 and objid = ${leaderLock}::oid and objsubid = 1
        and database = (select oid from pg_database where datname = current_database())
    ) or pg_try_advisory_lock(${leaderLock}) as leads`
  return row?.leads ?? false
}
