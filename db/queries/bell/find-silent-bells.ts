import type { Queryable } from '../../client.ts'

export interface SilentBell {
  readonly id: string
  readonly kind: string
  readonly generation: number
  readonly publish: number
}

/** Bells that are out for longer than `olderMs` and were not followed. */
export const findSilentBells = async (
  db: Queryable,
  olderMs: number,
  limit: number,
): Promise<SilentBell[]> => db<SilentBell[]>`select id, kind, generation, publish from job
  where state = 'ready' and bell = 'rung' and published_at < now() - ${olderMs}::float8 * interval '1 millisecond'
  limit ${limit}`
