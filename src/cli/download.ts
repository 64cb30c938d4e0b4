import { ApiRefusal, type Ask, type Json } from './client.ts'
import type { Call } from './command.ts'

/** Writes an answer to standard output as it comes, at the pace of whoever reads it. */
export const download = async (call: Call, path: string, query: Ask['query']): Promise<void> => {
  const response = await call.client.fetch('GET', path, {
    ...(query === undefined ? {} : { query }),
    endless: true,
  })
  if (!response.ok || !response.body)
    throw new ApiRefusal(response.status, (await response.json().catch(() => ({}))) as Json)
  const { stdout } = call.io
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>)
    if (!stdout.write(chunk)) await new Promise((resolve) => stdout.once('drain', resolve))
}
