import type { Queryable } from '../../client.ts'

/** The bell store lost everything: every bell that was out has to be rung again. Returns how many. */
export const unringAll = async (db: Queryable): Promise<number> => {
  const result = await db`
    update job set bell = 'due', publish = publish + 1, published_at = null where state = 'ready' and bell = 'rung'`
  return result.count
}
