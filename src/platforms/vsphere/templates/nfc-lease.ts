import { systemClock } from '../../../clock.ts'
import { child, childrenOf, type Ref, textOf } from '../../../xml/xml-node.ts'
import type { Call } from '../../ports/call.ts'
import { PlatformError } from '../../ports/platform-error.ts'
import { hostOf, machineRef, readPresent, readWhole, textAt } from '../soap/machines-reading.ts'
import { cleanUp } from '../soap/property-read.ts'
import type { Session } from '../soap/session.ts'
import { faultError, localizedFault } from '../soap/soap-fault.ts'
import { element } from '../soap/soap-request.ts'

/** vSphere ends a lease that hears nothing for some minutes; some versions are said to lose patience sooner. */
const progressEveryMs = 1_500
const longestPauseMs = 1_000

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

/**
 * Makes the machine a whole one. When the answer is lost, lease and machine are looked at: a lease that is over
 * without having been completed takes its machine along.
 */
export const completeLease = async (
  session: Session,
  call: Call,
  { lease, machine }: { readonly lease: Ref; readonly machine: string },
): Promise<void> => {
  const complete = () => session.call(call, { on: lease, method: 'HttpNfcLeaseComplete' })
  try {
    await complete()
  } catch (error) {
    if (!(error instanceof PlatformError) || error.failure !== 'unknown') throw error
    const seen = await readWhole(session, call, lease, ['state'])
    const state = seen.found ? textAt(seen.value, 'state') : 'gone'
    if (state === 'ready') await complete()
    else if (state === 'gone') await readPresent(session, call, machineRef(machine), ['name'])
    else if (state !== 'done') throw error
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
