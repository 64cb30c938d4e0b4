import type { Context } from 'hono'
import type { ApiDeps, ApiEnv } from '../http/env.ts'

/**
 * Sends text piece by piece, at the pace of its reader: a piece is made when the one before was taken, so memory
 * does not grow with the answer. One that fails midway is cut off, which a reader can tell from its end.
 */
export const streamText = (
  c: Context<ApiEnv>,
  deps: Pick<ApiDeps, 'streams'>,
  options: {
    readonly type: string
    readonly fileName: string
    readonly pieces: (signal: AbortSignal) => AsyncGenerator<string>
  },
): Response => {
  const ended = deps.streams.enter(c.get('actor'))
  const log = c.get('log')
  const pieces = options.pieces(ended.signal)
  const encoder = new TextEncoder()
  const leave = () => {
    deps.streams.leave(ended)
    ended.abort()
  }
  const body = new ReadableStream<Uint8Array>(
    {
      start: (controller) => {
        const cutOff = () => {
          deps.streams.leave(ended)
          // Also while its reader takes nothing: nobody would pull, and the connection would stay.
          controller.error(ended.signal.reason)
          pieces.return(undefined).catch(() => {})
        }
        ended.signal.addEventListener('abort', cutOff, { once: true })
      },
      pull: async (controller) => {
        try {
          ended.signal.throwIfAborted()
          const { done, value } = await pieces.next()
          if (!done) return controller.enqueue(encoder.encode(value))
          controller.close()
          leave()
        } catch (error) {
          log.warn({ err: error }, 'a streamed answer was cut off')
          controller.error(error)
          leave()
        }
      },
      cancel: async () => {
        leave()
        await pieces.return(undefined)
      },
    },
    { highWaterMark: 0 },
  )
  return new Response(body, {
    headers: {
      'Content-Type': options.type,
      'Content-Disposition': `attachment; filename="${options.fileName}"`,
      'X-Accel-Buffering': 'no',
    },
  })
}
