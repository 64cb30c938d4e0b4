import type { Context } from 'hono'
import { type SSEStreamingApi, streamSSE } from 'hono/streaming'
import type { EventCursor, EventFilter, FeedEvent } from '../../../../db/queries/events/read-events-after.ts'
import { formatCursor } from '../../../ledger/events/event-cursor.ts'
import type { ApiDeps, ApiEnv } from '../../http/env.ts'
import { viewEvent } from './event-view.ts'

interface StreamOptions extends EventFilter {
  readonly after: EventCursor | 'start' | 'now'
}

/** What a stream's body gets: a way to send, and when to stop. */
export interface OpenStream {
  /** Resolves when the reader has taken it; a reader that is too slow ends the stream. */
  readonly send: (text: string) => Promise<void>
  readonly end: () => void
  readonly ended: AbortSignal
}

/**
 * A stream of server-sent events, open until its reader goes, is too slow, or the process stops; with comments
 * in between, so that nobody on the way takes silence for death. `begin` starts it and gives what undoes that.
 */
export const openStream = (
  c: Context<ApiEnv>,
  deps: Pick<ApiDeps, 'streams' | 'limits'>,
  begin: (stream: OpenStream) => () => void,
): Response => {
  const ended = deps.streams.enter(c.get('actor'))
  const log = c.get('log')
  // Proxies that buffer would hold events back.
  c.header('X-Accel-Buffering', 'no')
  return streamSSE(
    c,
    async (stream) => {
      stream.onAbort(() => ended.abort())
      try {
        await run(stream, deps, begin, ended)
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
  deps: Pick<ApiDeps, 'limits'>,
  begin: (stream: OpenStream) => () => void,
  ended: AbortController,
): Promise<void> => {
  const send = async (text: string) => {
    if (ended.signal.aborted) return
    if (!(await withinMs(stream.write(text), deps.limits.slowReaderMs))) ended.abort()
  }
  await send('retry: 1000\n: connected\n\n')
  const undo = begin({ send, end: () => ended.abort(), ended: ended.signal })
  const heartbeat = setInterval(() => void send(': still here\n\n'), deps.limits.heartbeatMs)
  await aborted(ended.signal)
  clearInterval(heartbeat)
  undo()
}

/** Sends events as they come. */
export const streamEvents = (c: Context<ApiEnv>, deps: ApiDeps, options: StreamOptions): Response =>
  openStream(c, deps, ({ send, end }) =>
    deps.events.subscribe(
      { types: options.types, subject: options.subject, after: options.after, onEnd: end },
      async (events) => {
        for (const piece of pieces(events)) await send(piece)
      },
    ),
  )

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
