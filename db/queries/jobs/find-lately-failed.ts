import { timeBounds } from '../../../src/domain/operation/kinds/times.ts'
import type { Queryable } from '../../client.ts'
import { idAt } from './list-jobs.ts'

/** The longest wait and run of an operation: earlier requests have ended before. */
const longestMs = (timeBounds.waitSeconds.most + timeBounds.deadlineSeconds.most) * 2 * 1_000

/** Operations that failed since then, the latest first. */
export const findLatelyFailed = async (
  db: Queryable,
  { since, limit }: { readonly since: Date; readonly limit: number },
): Promise<string[]> => {
  const rows = await db<{ id: string }[]>`
    select o.id from operation o
    where o.state = 'failed' and o.state in ('failed', 'canceled', 'superseded')
      and o.id >= ${idAt(since, -longestMs)}::uuid and o.finished_at >= ${since}
    order by o.finished_at desc, o.id limit ${limit}`
  return rows.map(({ id }) => id)
}
