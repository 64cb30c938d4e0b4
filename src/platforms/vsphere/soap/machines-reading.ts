import type { PowerState } from '../../../domain/inventory/facts.ts'
import { meaningOf, type Ref } from '../../../xml/xml-node.ts'
import type { Call } from '../../ports/call.ts'
import { PlatformError, type PlatformErrorFacts } from '../../ports/platform-error.ts'
import type { Found } from '../../ports/task.ts'
import { type ObjectRead, retrieveOne } from './property-read.ts'
import type { Session } from './session.ts'
import { faultError } from './soap-fault.ts'

export const machineRef = (value: string): Ref => ({ type: 'VirtualMachine', value })

/** One object with all that was asked for. What could not be read is an error, not "unset". */
export const readWhole = async (
  session: Session,
  call: Call,
  ref: Ref,
  paths: readonly string[],
): Promise<Found<ObjectRead>> => {
  const read = await retrieveOne(session, call, ref, paths)
  if (read.found) refuseGaps(session, read.value, paths)
  return read
}

/** The same for what has to be there: throws `platform-absent`. */
export const readPresent = async (
  session: Session,
  call: Call,
  ref: Ref,
  paths: readonly string[],
): Promise<ObjectRead> => {
  const read = await readWhole(session, call, ref, paths)
  if (read.found) return read.value
  throw absent(session, nameOf(ref))
}

/** What lives in a session alone (a lease) has the key of the session in its name. */
const nameOf = ({ type, value }: Ref): string => (value.startsWith('session[') ? type : `${type} ${value}`)

export const refuseGaps = (session: Session, read: ObjectRead, paths: readonly string[]): void => {
  for (const path of paths) {
    const fault = read.missing.get(path)
    if (fault) throw faultError(fault, { host: hostOf(session), method: `the reading of ${path}` })
  }
}

export const hostOf = (session: Session): string => new URL(session.http.origin).host

export const textAt = (read: ObjectRead, path: string): string => read.properties.get(path)?.text ?? ''

const powerStates: Readonly<Record<string, PowerState>> = {
  poweredOn: 'on',
  poweredOff: 'off',
  suspended: 'suspended',
}

/** Read with `runtime.powerState`. A state that we do not know is no state. */
export const powerStateOf = (session: Session, read: ObjectRead): PowerState => {
  const said = textAt(read, 'runtime.powerState')
  const state = meaningOf(powerStates, said)
  if (state) return state
  throw new PlatformError({
    code: 'platform-answer-invalid',
    failure: 'unknown',
    message: `${hostOf(session)} does not say whether ${read.ref.value} runs.`,
    remedy: 'Its host may be disconnected. Look at the machine in vSphere; it is tried again.',
    detail: { machine: read.ref.value },
  })
}

export const absent = (session: Session, what: string): PlatformError =>
  new PlatformError({
    code: 'platform-absent',
    failure: 'absent',
    message: `${hostOf(session)} has no ${what}.`,
    remedy: 'It was removed from the platform. Sync the inventory to see what is there now.',
    detail: { host: hostOf(session), what },
  })

export const wrongState = (message: string, detail: Record<string, unknown>): PlatformError =>
  new PlatformError({
    code: 'platform-wrong-state',
    failure: 'refused',
    message,
    remedy: 'Look at the state that it is in; what was asked for does not fit that state.',
    detail,
  })

export const refused = (
  message: string,
  remedy: string,
  more?: { readonly field?: string; readonly detail?: Record<string, unknown> },
): PlatformError =>
  new PlatformError({ code: 'platform-refused', failure: 'refused', message, remedy, ...more })

/** The same error with something of it said otherwise. */
export const retold = (
  error: PlatformError,
  over: Partial<Pick<PlatformErrorFacts, 'failure' | 'detail'>>,
): PlatformError => {
  const { code, failure, message, remedy, field, detail } = error
  const facts: PlatformErrorFacts = {
    code: code as PlatformErrorFacts['code'],
    failure,
    message,
    remedy,
    ...(field === undefined ? {} : { field }),
    ...(detail === undefined ? {} : { detail }),
    ...over,
  }
  return new PlatformError(facts, { cause: error.cause })
}
