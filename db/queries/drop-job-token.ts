import type { Tx } from '../client.ts'

/**
 * A job that has not begun needs a token no more. Undefined: it did not need it, or it runs or has ended. The row stays
 * locked until the transaction ends.
 */
export const dropJobToken = async (
  tx: Tx,
  job: { readonly id: string; readonly token: string },
): Promise<{ readonly tokens: string[]; readonly inLine: boolean } | undefined> => {
  const [row] = await tx<{ tokens: string[]; inLine: boolean }[]>`
    update job set tokens = array_remove(tokens, ${job.token}),
      wait_detail = case when wait_signal = 'token'
        then 'waits for ' || array_to_string(array_remove(tokens, ${job.token}), ', ') else wait_detail end
    where id = ${job.id}::uuid and state in ('ready', 'waiting') and ${job.token} = any(tokens)
    returning tokens, state = 'waiting' and wait_signal = 'token' as in_line`
  return row
}
