import type { Tx } from '../../client.ts'

/**
 * Drops a token of a job that has not begun. Undefined: it did not need the token, or it runs or has ended. The row
 * stays locked until the transaction ends.
 */
export const dropJobToken = async (
  tx: Tx,
  job: { readonly id: string; readonly token: string },
  waitsFor: (tokens: readonly string[]) => string,
): Promise<{ readonly tokens: string[]; readonly inLine: boolean } | undefined> => {
  const [row] = await tx<{ tokens: string[]; named: boolean; inLine: boolean }[]>`
    select array_remove(tokens, ${job.token}) as tokens, coalesce(wait_signal = 'token', false) as named,
      state = 'waiting' and coalesce(wait_signal = 'token', false) as in_line
    from job where id = ${job.id}::uuid and state in ('ready', 'waiting') and ${job.token} = any(tokens) for update`
  if (!row) return undefined
  const { tokens, named, inLine } = row
  await tx`
    update job set tokens = ${tokens}::text[], wait_detail = ${named ? tx`${waitsFor(tokens)}::text` : tx`wait_detail`}
    where id = ${job.id}::uuid`
  return { tokens, inLine }
}
