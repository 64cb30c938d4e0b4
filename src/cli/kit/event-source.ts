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
        throw new ApiRefusal(
          response.status,
          (await response.json().catch(() => ({}))) as Json,
          client.connection,
        )
      heard = true
      for await (const { id, data } of framesOf(response.body, signal)) {
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

/**
 * The frames of a stream of server-sent events that carry data; comments keep the line open and say nothing.
 * Ends by itself when `signal` does: `fetch` holds its signal weakly, so an abort may no longer reach a body.
 */
async function* framesOf(
  body: ReadableStream<Uint8Array>,
  signal: AbortSignal,
): AsyncGenerator<{ id: string | undefined; data: string }> {
  const reader = body.getReader()
  const cancel = () => void reader.cancel().catch(() => {})
  signal.addEventListener('abort', cancel, { once: true })
  if (signal.aborted) cancel()
  const decoder = new TextDecoder()
  let rest = ''
  try {
    for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
      const frames = (rest + decoder.decode(chunk.value, { stream: true })).split('\n\n')
      rest = frames.pop() ?? ''
      for (const text of frames) {
        const frame = readFrame(text)
        if (frame.data !== '') yield frame
      }
    }
  } finally {
    signal.removeEventListener('abort', cancel)
    cancel()
  }
}

const readFrame = (frame: string): { id: string | undefined; data: string } => {
  const lines = frame.split('\n')
  const fieldOf = (name: string) =>
    lines.filter((line) => line.startsWith(`${name}:`)).map((line) => line.slice(name.length + 1).trimStart())
  return { id: fieldOf('id')[0], data: fieldOf('data').join('\n') }
}
