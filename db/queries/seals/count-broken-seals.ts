import { sealBrokenCode } from '../../../src/domain/inventory/connectivity.ts'
import type { Queryable } from '../../client.ts'

/** Sites whose stored password could not be opened when last needed. */
export const countBrokenSeals = async (db: Queryable): Promise<number> => {
  const [row] = await db<{ sites: number }[]>`
    select count(*)::int as sites from site where connectivity_error ->> 'code' = ${sealBrokenCode}`
  return row?.sites ?? 0
}
