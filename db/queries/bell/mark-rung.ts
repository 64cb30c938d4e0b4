import type { Queryable } from '../../client.ts'
import { inOrder } from '../../in-order.ts'

/**
 * Records that bells are out. A bell that was followed or taken back meanwhile has another `publish`.
 *
 * The guard on `bell` is hidden from the partial index `job_due` on purpose: with it the plan reads every due job to
 * find these few (see finish-jobs.ts).
 */
export const markRung = async (
  db: Queryable,
  rung: readonly { id: string; publish: number }[],
): Promise<void> => {
  const ordered = inOrder(rung)
  await db`
    update job j set bell = 'rung', publish = j.publish + 1, published_at = now()
    from unnest(${ordered.map((r) => r.id)}::uuid[], ${ordered.map((r) => r.publish)}::int[]) as r(id, publish)
    where j.id = r.id and j.publish = r.publish and j.state = 'ready'
      and j.bell || '' = 'due'`
}
