import { connect, createServer, type Server, type Socket } from 'node:net'
import { onClose } from '../resources.ts'

/** Passes a connection on and counts what comes back. */
export interface ByteCounter {
  readonly port: number
  /** Bytes that the server has sent, since the last call of `reset`. */
  received(): number
  reset(): void
}

export const startByteCounter = async (targetPort: number): Promise<ByteCounter> => {
  let received = 0
  const sockets = new Set<Socket>()
  const server: Server = createServer((client) => {
    const upstream = connect(targetPort, '127.0.0.1')
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.once('close', () => {
        sockets.delete(socket)
        client.destroy()
        upstream.destroy()
      })
    }
    upstream.on('data', (chunk) => {
      received += chunk.length
    })
    client.pipe(upstream)
    upstream.pipe(client)
  })
  const port = await new Promise<number>((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      resolve(typeof address === 'object' && address ? address.port : 0)
    })
  })
  onClose(async () => {
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => server.close(resolve))
  })
  return {
    port,
    received: () => received,
    reset: () => {
      received = 0
    },
  }
}
