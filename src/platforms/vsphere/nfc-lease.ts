import { type Readable, Transform } from 'node:stream'
import { systemClock } from '../../clock.ts'
import type { Call } from '../call.ts'
import type { Connection } from '../connection.ts'
import { openHttp, type PlatformHttp } from '../http/platform-http.ts'
import { PlatformError } from '../platform-error.ts'
import { hostOf, readPresent, refused, textAt } from './machines-reading.ts'
import { cleanUp } from './property-read.ts'
import type { Session } from './session.ts'
import { faultError, localizedFault } from './soap-fault.ts'
import { element } from './soap-request.ts'
import { child, childrenOf, type Ref, textOf } from './xml-node.ts'

/** vSphere ends a lease that hears nothing for some minutes; some versions are said to lose patience sooner. */
const progressEveryMs = 1_500
const longestPauseMs = 1_000
/** A host that flushes a large disk thinks long; a network that stands still is no thinking. */
const stallMs = 60_000

export interface DeviceUrl {
  /** The `deviceId` of the file that goes there. */
  readonly importKey: string
  readonly url: string
  /** SHA-1 of the certificate of the host behind it; empty: the same server. */
  readonly thumbprint: string
}

export interface LeaseInfo {
  readonly machine: string
  readonly devices: readonly DeviceUrl[]
}

/** Waits until the lease is ready, and reads where the disks go. */
export const leaseReady = async (session: Session, call: Call, lease: Ref): Promise<LeaseInfo> => {
  let pauseMs = 50
  for (;;) {
    const read = await readPresent(session, call, lease, ['state', 'info', 'error'])
    const state = textAt(read, 'state')
    if (state === 'ready') {
      const info = read.properties.get('info')
      const devices = childrenOf(info, 'deviceUrl').map((device) => ({
        importKey: textOf(device, 'importKey'),
        url: textOf(device, 'url'),
        thumbprint: textOf(device, 'sslThumbprint'),
      }))
      return { machine: textOf(info, 'entity'), devices }
    }
    if (state !== 'initializing') {
      const error = read.properties.get('error')
      throw faultError(error ? localizedFault(error) : { type: '', message: `The lease is ${state}.` }, {
        host: hostOf(session),
        method: 'the opening of the import',
      })
    }
    await systemClock.sleep(pauseMs, call.signal)
    call.signal.throwIfAborted()
    pauseMs = Math.min(longestPauseMs, pauseMs * 2)
  }
}

/**
 * Tells the server how far we are while `work` runs, changed or not: a lease that hears nothing is ended. When the
 * lease is gone, `work` is told by its signal.
 */
export const keepingLease = async <Result>(
  session: Session,
  call: Call,
  { lease, percent }: { readonly lease: Ref; readonly percent: () => number },
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> => {
  const working = new AbortController()
  const onAbort = () => working.abort(call.signal.reason)
  call.signal.addEventListener('abort', onAbort, { once: true })
  const ended = new AbortController()
  const telling = tellProgress(session, { lease, percent }, ended.signal).catch((error: unknown) =>
    working.abort(error),
  )
  try {
    call.signal.throwIfAborted()
    return await work(working.signal)
  } finally {
    ended.abort()
    call.signal.removeEventListener('abort', onAbort)
    await telling
  }
}

const tellProgress = async (
  session: Session,
  { lease, percent }: { readonly lease: Ref; readonly percent: () => number },
  ended: AbortSignal,
): Promise<void> => {
  while (!ended.aborted) {
    try {
      await sendProgress(session, { ...cleanUp(), signal: ended }, lease, percent())
    } catch (error) {
      if (ended.aborted) return
      // Anything but its end may pass: the next tick tells again, and the lease lives for minutes.
      if (error instanceof PlatformError && error.failure === 'absent') throw leaseLost(session, error)
    }
    await systemClock.sleep(progressEveryMs, ended)
  }
}

const sendProgress = async (session: Session, call: Call, on: Ref, percent: number): Promise<void> => {
  const body = element('percent', Math.min(100, Math.max(0, Math.floor(percent))))
  await session.call(call, { on, method: 'HttpNfcLeaseProgress', body, repeatable: true })
}

const leaseLost = (session: Session, cause: unknown): PlatformError =>
  new PlatformError(
    {
      code: 'platform-fault',
      failure: 'unknown',
      message: `${hostOf(session)} ended the import before it was complete.`,
      remedy: 'Look at the recent tasks in vSphere for the reason; it is tried again.',
    },
    { cause },
  )

/** Streams one file to its place; the server takes it at its own speed. */
export const uploadFile = async (
  session: Session,
  call: Call,
  upload: {
    readonly device: DeviceUrl
    readonly connection: Connection
    readonly content: Readable
    readonly bytes: number
    readonly isNew: boolean
    readonly onBytes: (bytes: number) => void
  },
): Promise<void> => {
  const { device, content, bytes, isNew } = upload
  const { http, path, close } = reach(session, upload.connection, device)
  const counted = countedStream(content, upload.onBytes)
  // Why the source broke says more than what the network made of it.
  let broken: unknown
  counted.once('error', (error) => {
    broken = error
  })
  try {
    const answer = await http.request(call, {
      method: isNew ? 'PUT' : 'POST',
      path,
      headers: { 'Content-Type': isNew ? 'application/octet-stream' : 'application/x-vnd.vmware-streamVmdk' },
      body: counted,
      bodyBytes: bytes,
      answerMs: call.timeoutMs,
      stallMs,
    })
    if (answer.status < 200 || answer.status >= 300)
      throw new PlatformError({
        code: 'platform-fault',
        failure: 'unknown',
        message: `${new URL(http.origin).host} did not take a disk (HTTP ${answer.status}).`,
        remedy: 'Look at the space and the state of the datastore and of its host; it is tried again.',
        detail: { status: answer.status },
      })
  } catch (error) {
    call.signal.throwIfAborted()
    const cause = broken ?? error
    if (cause instanceof RangeError)
      throw refused(`A disk of the image is not as long as announced. ${cause.message}`, 'Make it anew.')
    throw cause
  } finally {
    content.destroy()
    close()
  }
}

/** `*` stands for the server that was asked; a host that stands by itself is known by its certificate's digest. */
const reach = (
  session: Session,
  connection: Connection,
  device: DeviceUrl,
): { readonly http: PlatformHttp; readonly path: string; readonly close: () => void } => {
  const own = new URL(session.http.origin)
  const text = device.url.replace(/^(https?:\/\/)\*/, (_all, scheme: string) => `${scheme}${own.host}`)
  if (!URL.canParse(text)) throw refused(`${own.host} gave no usable address for a disk.`, 'Try it again.')
  const url = new URL(text)
  const path = `${url.pathname}${url.search}`
  if (url.hostname === own.hostname && url.port === own.port)
    return { http: session.http, path, close: () => {} }
  const http = openHttp({
    endpoint: url.origin,
    ca: connection.ca,
    fingerprint: device.thumbprint,
    connectTimeoutMs: connection.connectTimeoutMs,
  })
  return { http, path, close: () => http.close() }
}

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

/** Makes the machine a whole one. An answer that was lost is looked into. */
export const completeLease = async (session: Session, call: Call, lease: Ref): Promise<void> => {
  try {
    await session.call(call, { on: lease, method: 'HttpNfcLeaseComplete' })
  } catch (error) {
    if (!(error instanceof PlatformError) || error.failure !== 'unknown') throw error
    const read = await readPresent(session, call, lease, ['state'])
    if (textAt(read, 'state') !== 'done') throw error
  }
}

/** Never throws: what remains is looked for by its name and its owner. */
export const abortLease = async (session: Session, lease: Ref): Promise<void> => {
  try {
    await session.call(cleanUp(), { on: lease, method: 'HttpNfcLeaseAbort' })
  } catch {
    // It is gone, or it ends by itself.
  }
}

export const leaseOf = (answer: Parameters<typeof child>[0]): Ref | undefined => {
  const node = child(answer, 'returnval')
  return node && node.text !== '' ? { type: 'HttpNfcLease', value: node.text } : undefined
}
