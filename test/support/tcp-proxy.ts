import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
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
  /** The connections open now stay open and silent for ever; new ones work. As after a firewall forgot them. */
  strand(): void
  /** What we send on the connections open now arrives; the first byte that comes back resets its connection. */
  loseAnswers(): void
  /** Everything passes again; bytes held back by `blackhole` too, like packets sent again. */
  heal(): void
  /** Every chunk takes this much longer, in each direction. */
  delay(ms: number): void
  close(): Promise<void>
}

interface Pair {
  readonly client: Socket
  upstream: Socket | undefined
  stranded?: boolean
  losesAnswers?: boolean
}

/** Starts a proxy on a free loopback port in front of `targetPort`; it is closed at the end of the test or file. */
export const startProxy = async (options: { targetPort: number }): Promise<TcpProxy> => {
  const proxy = new LoopbackProxy(options.targetPort)
  await proxy.listen()
  atEnd(() => proxy.close())
  return proxy
}

class LoopbackProxy implements TcpProxy {
  readonly #targetPort: number
  readonly #pairs = new Set<Pair>()
  readonly #server: Server
  #mode: 'open' | 'cut' | 'blackhole' = 'open'
  #delayMs = 0

  constructor(targetPort: number) {
    this.#targetPort = targetPort
    this.#server = createServer({ noDelay: true, pauseOnConnect: true, allowHalfOpen: true }, (client) =>
      this.#accept(client),
    )
  }

  async listen(): Promise<void> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  get connections(): number {
    return this.#pairs.size
  }

  cut(): void {
    this.#mode = 'cut'
    this.drop()
  }

  drop(): void {
    for (const pair of this.#pairs) this.#reset(pair)
  }

  blackhole(): void {
    this.#mode = 'blackhole'
    for (const pair of this.#pairs) {
      pair.client.pause()
      pair.upstream?.pause()
    }
  }

  strand(): void {
    for (const pair of this.#pairs) {
      pair.stranded = true
      pair.client.pause()
      pair.upstream?.pause()
    }
  }

  loseAnswers(): void {
    for (const pair of this.#pairs) pair.losesAnswers = true
  }

  heal(): void {
    this.#mode = 'open'
    for (const pair of this.#pairs) {
      if (pair.stranded) continue
      if (!pair.upstream) this.#join(pair)
      pair.client.resume()
      pair.upstream?.resume()
    }
  }

  delay(ms: number): void {
    this.#delayMs = ms
  }

  async close(): Promise<void> {
    if (!this.#server.listening) return
    const closed = once(this.#server, 'close')
    this.#server.close()
    this.drop()
    await closed
  }

  #accept(client: Socket): void {
    const pair: Pair = { client, upstream: undefined }
    client.on('error', () => this.#reset(pair))
    this.#pairs.add(pair)
    if (this.#mode === 'cut') this.#reset(pair)
    else if (this.#mode === 'open') this.#join(pair)
  }

  #reset(pair: Pair): void {
    this.#pairs.delete(pair)
    pair.client.resetAndDestroy()
    pair.upstream?.resetAndDestroy()
  }

  #join(pair: Pair): void {
    const upstream = connect({ port: this.#targetPort, host: '127.0.0.1', allowHalfOpen: true })
    pair.upstream = upstream
    upstream.setNoDelay(true)
    this.#forward(pair.client, upstream, pair)
    this.#forward(upstream, pair.client, pair)
    pair.client.resume()
  }

  #forward(from: Socket, to: Socket, pair: Pair): void {
    from.on('data', (chunk) =>
      this.#later(() => {
        if (pair.losesAnswers && from === pair.upstream) return this.#reset(pair)
        if (!to.writable || to.write(chunk)) return
        from.pause()
        to.once('drain', () => this.#mode === 'open' && !pair.stranded && from.resume())
      }),
    )
    from.once('end', () => this.#later(() => to.end()))
    from.once('error', () => this.#reset(pair))
    from.once('close', () => {
      if (to.destroyed) this.#pairs.delete(pair)
    })
  }

  /** Timers of one length fire in the order they were set, so bytes keep their order. */
  #later(act: () => void): void {
    if (this.#delayMs > 0) setTimeout(act, this.#delayMs)
    else act()
  }
}
