import type { Server } from 'node:net'
import type { Clock } from '../../clock.ts'
import type { Logger } from '../../process/log.ts'
import { counter } from '../../process/telemetry.ts'

const refused = counter('api_connections_refused_total', 'Connections over the limit, by door.', ['door'])

/** Refusals of this long are one line of the log: a flood must not fill it. */
const tellMs = 30_000

/** Bounds the connections that a server holds at once. A connection beyond is closed before a byte of it is read. */
export const boundConnections = (
  server: Server,
  max: number,
  { door, clock, log }: { readonly door: 'network' | 'socket'; readonly clock: Clock; readonly log: Logger },
): void => {
  server.maxConnections = max
  let toldMs: number | undefined
  server.on('drop', () => {
    refused.inc({ door })
    const nowMs = clock.monotonicMs()
    if (toldMs !== undefined && nowMs - toldMs < tellMs) return
    toldMs = nowMs
    log.warn({ door, max }, 'connections are refused: as many as there may be are open')
  })
}
