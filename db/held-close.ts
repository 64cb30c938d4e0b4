import type { Socket } from 'node:net'

/** ReadyForQuery: `Z`, its length (5), and whether a transaction is open: `I`dle, `T` or `E` (failed). */
const readyForQuery = Buffer.from([0x5a, 0, 0, 0, 5])
const idle = 0x49

/**
 * Tells postgres.js of a lost connection only when it can bear it. The moment it hears `close` it forgets its
 * socket, yet a transaction goes on to send its next statement or its ROLLBACK over it: a TypeError outside
 * every promise, which ends the process. A small write that waits for its turn at that moment leaves the
 * connection unable to send anything ever again. Both are defects of its version 3.4.9.
 *
 * So: what is under way fails at once by an error, what a transaction still writes fails as well, and `close`
 * comes when nothing is written any more.
 */
export const holdClose = (socket: Socket, onGone: () => void): void => {
  const emit = socket.emit.bind(socket) as (event: string, ...args: unknown[]) => boolean
  const write = socket.write.bind(socket) as (...args: unknown[]) => boolean
  const server = followServer(socket)
  let gone = false
  let released = false
  let writes = 0

  const release = () => {
    if (released) return
    released = true
    emit('close', false)
  }
  /** Two turns: in the first, postgres.js sends what it had collected; in the second we see whether it did. */
  const releaseWhenQuiet = () => {
    const before = writes
    afterImmediates(2, () => (writes === before ? release() : releaseWhenQuiet()))
  }
  const failWrites = () => {
    if (released) return
    emit('error', connectionClosed())
    releaseWhenQuiet()
  }

  const heldWrite = (...args: unknown[]): boolean => {
    if (!gone) {
      server.asked()
      return write(...args)
    }
    writes += 1
    setImmediate(failWrites)
    return true
  }
  // Node puts another `write` in place when the other side ends, and that one only fails in silence.
  Object.defineProperty(socket, 'write', { get: () => heldWrite, set: () => {} })

  socket.emit = ((event: string, ...args: unknown[]) => {
    if (event !== 'close' || gone) return emit(event, ...args)
    gone = true
    onGone()
    if (!server.inTransaction()) releaseWhenQuiet()
    else if (server.owesAnswer()) failWrites()
    // Between two statements: the transaction's next one, or its end, is a write, and gets the error.
    else emit('error', connectionClosed())
    return true
  }) as Socket['emit']
}

/** Follows the state that the server reports after each statement. */
const followServer = (socket: Socket) => {
  const { length } = readyForQuery
  let status: number | undefined
  let owes = false
  let tail: Buffer = Buffer.alloc(0)
  socket.on('data', (chunk: Buffer) => {
    // The message may be cut in two anywhere, so the seam is looked at as well.
    const reported = statusIn(chunk) ?? statusIn(Buffer.concat([tail, chunk.subarray(0, length)]))
    tail = (chunk.length < length ? Buffer.concat([tail, chunk]) : chunk).subarray(-length)
    if (reported === undefined) return
    status = reported
    owes = false
  })
  return {
    asked: () => {
      owes = true
    },
    /** Something was sent since the last report. */
    owesAnswer: () => owes,
    inTransaction: () => status !== undefined && status !== idle,
  }
}

const statusIn = (bytes: Buffer): number | undefined => {
  const at = bytes.lastIndexOf(readyForQuery)
  return at < 0 ? undefined : bytes[at + readyForQuery.length]
}

const afterImmediates = (turns: number, act: () => void): void => {
  setImmediate(() => (turns > 1 ? afterImmediates(turns - 1, act) : act()))
}

const connectionClosed = (): Error =>
  Object.assign(new Error('Postgres closed the connection.'), { code: 'CONNECTION_CLOSED' })
