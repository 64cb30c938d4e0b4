import type { Context } from 'hono'
import { type SSEStreamingApi, streamSSE } from 'hono/streaming'
import type { EventCursor, EventFilter, FeedEvent } from '../../db/queries/read-events-after.ts'
import { formatCursor } from '../ledger/event-cursor.ts'
import type { ApiDeps, ApiEnv } from './env.ts'
import { viewEvent } from './resources/event-view.ts'

interface StreamOptions extends EventFilter {
  readonly after: EventCursor | 'start' | 'now'
}

/** Sends events as they come, with comments in between so that nobody on the way takes silence for death. */
export const streamEvents = (c: Context<ApiEnv>, deps: ApiDeps, options: StreamOptions): Response => {
  const ended = deps.streams.enter(c.get('actor').name)
  const log = c.get('log')
  // Proxies that buffer would hold events back.
  c.header('X-Accel-Buffering', 'no')
  return streamSSE(
    c,
    async (stream) => {
      stream.onAbort(() => ended.abort())
      try {
        await run(stream, deps, options, ended)
      } finally {
        deps.streams.leave(ended)
        ended.abort()
      }
    },
    async (error) => log.warn({ err: error }, 'an event stream ended with an error'),
  )
}

const run = async (
  stream: SSEStreamingApi,
  deps: ApiDeps,
  options: StreamOptions,
  ended: AbortController,
): Promise<void> => {
  const send = async (text: string) => {
    if (ended.signal.aborted) return
    if (!(await withinMs(stream.write(text), deps.limits.slowReaderMs))) ended.abort()
  }
  await send('retry: 1000\n: connected\n\n')
  const unsubscribe = deps.events.subscribe(
    { types: options.types, subject: options.subject, after: options.after, onEnd: () => ended.abort() },
    async (events) => {
      for (const piece of pieces(events)) await send(piece)
    },
  )
  const heartbeat = setInterval(() => void send(': still here\n\n'), deps.limits.heartbeatMs)
  await aborted(ended.signal)
  clearInterval(heartbeat)
  unsubscribe()
}

/** The web's streams count chunks, not bytes: only small chunks keep what is buffered for one reader small. */
const pieceLength = 64 * 1024

function* pieces(events: readonly FeedEvent[]): Generator<string> {
  let piece = ''
  for (const event of events) {
    piece += frame(event)
    if (piece.length < pieceLength) continue
    yield piece
    piece = ''
  }
  if (piece !== '') yield piece
}

/** One event as it goes over the wire. Its JSON has no line breaks, so it is one data line. */
const frame = (event: FeedEvent): string =>
  `id: ${formatCursor(event.cursor)}\nevent: ${event.type}\ndata: ${JSON.stringify(viewEvent(event))}\n\n`

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })

/** Whether the reader took it in time. A write to a stream that is gone counts as not. */
const withinMs = async (write: Promise<unknown>, ms: number): Promise<boolean> => {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), ms)
  })
  try {
    return await Promise.race([
      write.then(
        () => true,
        () => false,
      ),
      late,
    ])
  } finally {
    clearTimeout(timer)
  }
}
