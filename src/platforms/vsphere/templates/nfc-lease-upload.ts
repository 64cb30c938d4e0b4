import { type Readable, Transform } from 'node:stream'
import type { Call } from '../../ports/call.ts'
import type { Connection } from '../../ports/connection.ts'
import { PlatformError } from '../../ports/platform-error.ts'
import { refused, retold } from '../soap/machines-reading.ts'
import type { Session } from '../soap/session.ts'
import type { DeviceUrl } from './nfc-lease.ts'
import { reachDevice } from './nfc-lease-host.ts'

/** A host that flushes a large disk thinks long; a network that stands still is no thinking. */
const stallMs = 60_000

interface Upload {
  readonly device: DeviceUrl
  readonly connection: Connection
  readonly content: Readable
  readonly bytes: number
  readonly isNew: boolean
}

/** Streams one file to its place; the server takes it at its own speed. */
export const uploadFile = async (
  session: Session,
  call: Call,
  upload: Upload & { readonly onBytes: (bytes: number) => void },
): Promise<void> => {
  const { content } = upload
  const counted = countedStream(content, upload.onBytes)
  // Why the source broke says more than what the network made of it.
  let broken: unknown
  counted.on('error', (error) => {
    broken ??= error
  })
  try {
    await send(session, call, { ...upload, content: counted })
  } catch (error) {
    call.signal.throwIfAborted()
    const cause = broken ?? error
    if (cause instanceof RangeError)
      throw refused(`A disk of the image is not as long as announced. ${cause.message}`, 'Make it anew.')
    throw withoutTicket(cause)
  } finally {
    content.destroy()
    counted.destroy()
  }
}

const send = async (session: Session, call: Call, upload: Upload): Promise<void> => {
  const { device, bytes, isNew, content } = upload
  const { http, path, close } = await reachDevice(session, call, upload.connection, device)
  try {
    const answer = await http.request(call, {
      method: isNew ? 'PUT' : 'POST',
      path,
      headers: { 'Content-Type': isNew ? 'application/octet-stream' : 'application/x-vnd.vmware-streamVmdk' },
      body: content,
      bodyBytes: bytes,
      answerMs: call.timeoutMs,
      stallMs,
    })
    if (answer.status >= 200 && answer.status < 300) return
    throw new PlatformError({
      code: 'platform-fault',
      failure: 'unknown',
      message: `${new URL(http.origin).host} did not take a disk (HTTP ${answer.status}).`,
      remedy: 'Look at the space and the state of the datastore and of its host; it is tried again.',
      detail: { status: answer.status },
    })
  } finally {
    close()
  }
}

/** Whoever knows the path of an address may write there while the lease lives. */
const withoutTicket = (error: unknown): unknown =>
  error instanceof PlatformError && error.detail?.path !== undefined
    ? retold(error, { detail: { ...error.detail, path: '/nfc/…' } })
    : error

const countedStream = (content: Readable, onBytes: (bytes: number) => void): Readable => {
  const counted = new Transform({
    transform: (chunk: Buffer, _encoding, done) => {
      onBytes(chunk.length)
      done(null, chunk)
    },
  })
  content.once('error', (error) => counted.destroy(error))
  content.once('close', () => {
    if (!content.readableEnded && !counted.destroyed)
      counted.destroy(refused('A disk of the image broke off while it was read.', 'Try it again.'))
  })
  counted.once('close', () => content.destroy())
  return content.pipe(counted)
}
