import type { PouredAs } from '../../terminal.ts'
import { ApiRefusal, type Ask, type Json } from './client.ts'
import type { Call } from './command.ts'

/** Writes an answer to standard output as it comes, at the pace of whoever reads it. */
export const download = async (
  call: Call,
  asked: { readonly path: string; readonly as: PouredAs; readonly query?: Ask['query'] },
): Promise<void> => {
  const { path, as, query } = asked
  const response = await call.client.fetch('GET', path, {
    ...(query === undefined ? {} : { query }),
    endless: true,
  })
  if (!response.ok || !response.body)
    throw new ApiRefusal(
      response.status,
      (await response.json().catch(() => ({}))) as Json,
      call.client.connection,
    )
  await call.output.pour(response.body as unknown as AsyncIterable<Uint8Array>, as)
}
