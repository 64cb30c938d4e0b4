import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { atEnd } from './cleanup.ts'

/** A network path that can be broken on purpose. */
export interface TcpProxy {
  readonly port: number
  /** Connections open through it now. */
  readonly connections: number
  /** Resets every connection and every new one, until `heal`. */
  cut(): void
  /** Resets the connections open now; new ones work. */
  drop(): void
  /** Half-open: everything stays connected, new connections too, and not a byte passes, until `heal`. */
  blackhole(): void
  /** Everything passes again; bytes held back by `blackhole` too, like packets sent again. */
  heal(): void
  /** Every chunk takes this much longer, in each direction. */
  delay(ms: number): void
  close(): Promise<void>
}

interface Pair {
  readonly client: Socket
  upstream: Socket | undefined
}

/** Starts a proxy on a free loopback port in front of `targetPort`; it is closed at the end of the test or file. */
export const startProxy = async (options: { targetPort: number }): Promise<TcpProxy> => {
  const pairs = new Set<Pair>()
  let mode: 'open' | 'cut' | 'blackhole' = 'open'
  let delayMs = 0

  const close = (pair: Pair) => {
    pairs.delete(pair)
    pair.client.resetAndDestroy()
    pair.upstream?.resetAndDestroy()
  }
  const forward = (from: Socket, to: Socket, pair: Pair) => {
    // Timers of one length fire in the order they were set, so bytes keep their order.
    const later = (act: () => void) => (delayMs > 0 ? void setTimeout(act, delayMs) : act())
    from.on('data', (chunk) =>
      later(() => {
        if (!to.writable || to.write(chunk)) return
        from.pause()
        to.once('drain', () => mode === 'open' && from.resume())
      }),
    )
    from.once('end', () => later(() => to.end()))
    from.once('error', () => close(pair))
    from.once('close', () => {
      if (to.destroyed) pairs.delete(pair)
    })
  }
  const join = (pair: Pair) => {
    const upstream = connect({ port: options.targetPort, host: '127.0.0.1', allowHalfOpen: true })
    pair.upstream = upstream
    upstream.setNoDelay(true)
    forward(pair.client, upstream, pair)
    forward(upstream, pair.client, pair)
    pair.client.resume()
  }
  const server = createServer({ noDelay: true, pauseOnConnect: true, allowHalfOpen: true }, (client) => {
    const pair: Pair = { client, upstream: undefined }
    client.on('error', () => close(pair))
    pairs.add(pair)
    if (mode === 'cut') close(pair)
    else if (mode === 'open') join(pair)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))

  const drop = () => {
    for (const pair of pairs) close(pair)
  }
  const proxy: TcpProxy = {
    port: (server.address() as AddressInfo).port,
    get connections() {
      return pairs.size
    },
    cut: () => {
      mode = 'cut'
      drop()
    },
    drop,
    blackhole: () => {
      mode = 'blackhole'
      for (const pair of pairs) {
        pair.client.pause()
        pair.upstream?.pause()
      }
    },
    heal: () => {
      mode = 'open'
      for (const pair of pairs) {
        if (!pair.upstream) join(pair)
        pair.client.resume()
        pair.upstream?.resume()
      }
    },
    delay: (ms) => {
      delayMs = ms
    },
    close: async () => {
      if (!server.listening) return
      const closed = new Promise((resolve) => server.close(resolve))
      drop()
      await closed
    },
  }
  atEnd(() => proxy.close())
  return proxy
}
