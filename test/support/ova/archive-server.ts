import type { IncomingMessage, ServerResponse } from 'node:http'
import { serve } from '../hostile-server.ts'

/** What the server does with its next answers. */
export interface ArchiveState {
  bytes: Buffer
  etag: string | null
  /** How many bytes of the archive go out before the connection is cut, for each answer in turn. */
  cuts: number[]
  /** Resolves before the bytes behind that place go out. */
  halt: { readonly at: number; readonly until: Promise<void> } | null
  /** Requests for a range are answered as this says. */
  ranges: 'kept' | 'ignored' | 'refused'
}

export interface ArchiveServer {
  readonly url: string
  readonly state: ArchiveState
  /** What was asked for, by its range; empty: the whole. */
  readonly asked: readonly string[]
}

/** Serves one archive as well or as badly as the test wants. `/to/<n>` leads on n times. */
export const serveArchive = async (
  bytes: Buffer,
  over: Partial<ArchiveState> = {},
): Promise<ArchiveServer> => {
  const state: ArchiveState = { bytes, etag: '"1"', cuts: [], halt: null, ranges: 'kept', ...over }
  const asked: string[] = []
  const server = await serve((incoming, answer) => {
    const [, hops] = /^\/to\/(\d+)$/.exec(incoming.url ?? '') ?? []
    if (hops !== undefined) {
      const location = hops === '0' ? '/image.ova' : `/to/${Number(hops) - 1}`
      return void answer.writeHead(302, { location }).end()
    }
    asked.push(incoming.headers.range ?? '')
    void send(state, incoming, answer)
  })
  return { url: `${server.url}/image.ova`, state, asked }
}

const send = async (
  state: ArchiveState,
  incoming: IncomingMessage,
  answer: ServerResponse,
): Promise<void> => {
  const { bytes, etag, halt } = state
  const [, start] = /^bytes=(\d+)-$/.exec(incoming.headers.range ?? '') ?? []
  const from = start === undefined || state.ranges === 'ignored' ? 0 : Number(start)
  if (start !== undefined && state.ranges === 'refused') return void answer.writeHead(416).end()
  const isSame = incoming.headers['if-range'] === undefined || incoming.headers['if-range'] === etag
  const isPart = start !== undefined && state.ranges === 'kept' && isSame
  const rest = bytes.subarray(isPart ? from : 0)
  answer.writeHead(isPart ? 206 : 200, {
    'content-length': String(rest.length),
    ...(etag === null ? {} : { etag }),
    ...(isPart ? { 'content-range': `bytes ${from}-${bytes.length - 1}/${bytes.length}` } : {}),
  })
  const cut = state.cuts.shift()
  const pieces = cut === undefined ? rest : rest.subarray(0, cut)
  if (halt) {
    answer.write(pieces.subarray(0, halt.at))
    await halt.until
    answer.write(pieces.subarray(halt.at))
  } else if (cut === undefined) answer.write(pieces)
  if (cut === undefined) answer.end()
  else answer.write(pieces, () => answer.destroy())
}
