import { EventSourceParserStream } from 'eventsource-parser/stream'
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
      if (!response.ok || !response.body) throw await ApiRefusal.of(response, client.connection)
      heard = true
      for await (const { id, data } of eventsOf(response.body, signal)) {
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

/** Ends by itself when `signal` does: a request holds its signal weakly, so an abort may no longer reach a body. */
async function* eventsOf(body: ReadableStream<Uint8Array>, signal: AbortSignal) {
  const text = body.pipeThrough(new TextDecoderStream())
  const reader = text.pipeThrough(new EventSourceParserStream()).getReader()
  const cancel = () => void reader.cancel().catch(() => {})
  signal.addEventListener('abort', cancel, { once: true })
  if (signal.aborted) cancel()
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value
  } finally {
    signal.removeEventListener('abort', cancel)
    cancel()
  }
}
