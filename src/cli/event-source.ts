import { ApiRefusal, type Client, type Json, Unreachable } from './client.ts'

const againMs = 1_000

/**
 * Events as they happen, without a gap: a connection that ends is made again behind the last event that came.
 * Ends when `signal` does. A refusal is thrown; an API that is away after we once heard it is waited for.
 */
export async function* followEvents(
  client: Client,
  query: Readonly<Record<string, string | undefined>>,
  signal: AbortSignal,
): AsyncGenerator<Json> {
  let last: string | undefined
  let heard = false
  while (!signal.aborted) {
    try {
      const headers = {
        accept: 'text/event-stream',
        ...(last === undefined ? {} : { 'last-event-id': last }),
      }
      const response = await client.fetch('GET', '/v1/events/stream', { query, headers, endless: true })
      if (!response.ok || !response.body)
        throw new ApiRefusal(response.status, (await response.json().catch(() => ({}))) as Json)
      heard = true
      for await (const { id, data } of framesOf(response.body)) {
        last = id ?? last
        yield JSON.parse(data) as Json
      }
    } catch (error) {
      if (signal.aborted) return
      const passing = !(error instanceof ApiRefusal) || error.status === 503 || error.status === 429
      if (!passing || (!heard && error instanceof Unreachable)) throw error
    }
    await client.sleep(againMs).catch(() => {})
  }
}

/** The frames of a stream of server-sent events that carry data; comments keep the line open and say nothing. */
async function* framesOf(
  body: ReadableStream<Uint8Array>,
): AsyncGenerator<{ id: string | undefined; data: string }> {
  let rest = ''
  for await (const text of body.pipeThrough(
    new TextDecoderStream() as unknown as TransformStream<Uint8Array, string>,
  )) {
    const frames = (rest + text).split('\n\n')
    rest = frames.pop() ?? ''
    for (const frame of frames) {
      const lines = frame.split('\n')
      const fieldOf = (name: string) =>
        lines
          .filter((line) => line.startsWith(`${name}:`))
          .map((line) => line.slice(name.length + 1).trimStart())
      const data = fieldOf('data').join('\n')
      if (data !== '') yield { id: fieldOf('id')[0], data }
    }
  }
}
