import type { Tx } from '../../client.ts'

/**
 * Sets the tokens that a running job must hold from its next turn on. The caller holds its lease. False: it has just
 * these already.
 */
export const setJobTokens = async (tx: Tx, jobId: string, tokens: readonly string[]): Promise<boolean> => {
  const changed = await tx`
    update job set tokens = ${tokens as string[]}::text[]
    where id = ${jobId}::uuid and tokens <> ${tokens as string[]}::text[] returning id`
  return changed.length > 0
}
