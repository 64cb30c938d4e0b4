import { removalKind } from '../../../src/domain/template/version.ts'
import type { Queryable } from '../../client.ts'

/**
 * Effects that must still be undone, and when the oldest was made. Removals that wait for the grace of their template
 * are planned and do not count. Reads only the index of debts.
 */
export const countDebts = async (db: Queryable): Promise<{ debts: number; oldestAt: Date | null }> => {
  const [row] = await db<{ debts: number; oldestAt: Date | null }[]>`
    select count(*)::int as debts, min(created_at) as oldest_at from effect
    where state = 'debt' and not (kind = ${removalKind} and attempts = 0)`
  return row ?? { debts: 0, oldestAt: null }
}
