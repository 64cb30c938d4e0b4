import { child, childrenOf, type Ref, textOf } from '../../../xml/xml-node.ts'
import type { Call } from '../../ports/call.ts'
import type { Extent } from '../../ports/disks.ts'
import { PlatformError } from '../../ports/platform-error.ts'
import { hostOf, machineRef, refused } from '../soap/machines-reading.ts'
import type { Session } from '../soap/session.ts'
import { element, refElement } from '../soap/soap-request.ts'

/** Which disk, and since when. */
export interface ChangeQuery {
  readonly machine: string
  readonly snapshot: Ref | undefined
  readonly deviceKey: number
  readonly capacity: number
  /** `*`: everything in use. */
  readonly changeId: string
}

/** More in one list is no list of changes any more. */
const mostExtents = 2_000_000

/**
 * What changed, page by page, each in order. The server says how far each of its answers reaches; it is asked on
 * until the whole disk is covered, so nothing that it held back is taken for unchanged.
 */
export async function* changedAreas(
  session: Session,
  call: Call,
  query: ChangeQuery,
): AsyncGenerator<readonly Extent[], void> {
  let covered = 0
  let count = 0
  while (covered < query.capacity) {
    const page = await askAreas(session, call, query, covered)
    count += page.extents.length
    if (count > mostExtents) throw invalid(session, `more than ${mostExtents} areas`)
    if (page.extents.length > 0) yield page.extents
    covered = page.coveredTo
  }
}

const askAreas = async (
  session: Session,
  call: Call,
  query: ChangeQuery,
  startOffset: number,
): Promise<{ readonly extents: readonly Extent[]; readonly coveredTo: number }> => {
  const body =
    (query.snapshot ? refElement('snapshot', query.snapshot) : '') +
    element('deviceKey', query.deviceKey) +
    element('startOffset', startOffset) +
    element('changeId', query.changeId)
  const on = machineRef(query.machine)
  const answer = await session
    .call(call, { on, method: 'QueryChangedDiskAreas', body, repeatable: true })
    .catch((error: unknown) => {
      throw asCursorLost(error, query)
    })
  const info = child(answer, 'returnval')
  const start = exact(session, textOf(info, 'startOffset'))
  const coveredTo = start + exact(session, textOf(info, 'length'))
  if (start !== startOffset || coveredTo <= startOffset || coveredTo > query.capacity)
    throw invalid(session, `an answer for ${start} to ${coveredTo} to a question from ${startOffset} on`)
  const extents: Extent[] = []
  let end = startOffset
  for (const area of childrenOf(info, 'changedArea')) {
    const offset = exact(session, textOf(area, 'start'))
    const length = exact(session, textOf(area, 'length'))
    if (offset < end || length === 0 || offset + length > coveredTo)
      throw invalid(session, 'areas that are not in order or not on the disk')
    end = offset + length
    const last = extents.at(-1)
    if (last && last.offset + last.length === offset)
      extents[extents.length - 1] = { offset: last.offset, length: last.length + length }
    else extents.push({ offset, length })
  }
  return { extents, coveredTo }
}

const exact = (session: Session, text: string): number => {
  const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN
  if (Number.isSafeInteger(value)) return value
  throw invalid(session, `"${text.slice(0, 40)}" where a number of bytes belongs`)
}

/**
 * vSphere words a change id that it cannot go on from as a fault about a file or an argument. With `*` there is
 * no such id: then tracking itself is not there.
 */
const asCursorLost = (error: unknown, { changeId, machine }: ChangeQuery): unknown => {
  if (!(error instanceof PlatformError)) return error
  const fault = error.detail?.fault
  const isAboutId = fault === 'FileFault' || fault === 'InvalidArgument' || fault === 'FileNotFound'
  if (!isAboutId) return error
  return changeId === '*' ? notTracked(machine, error) : cursorLost(machine, error)
}

export const cursorLost = (machine: string, cause?: unknown): PlatformError =>
  new PlatformError(
    {
      code: 'platform-cursor-lost',
      failure: 'refused',
      message: `The changes of a disk of ${machine} cannot be told from that point on.`,
      remedy: 'Nothing to do: the disk is copied in full once more.',
      detail: { machine },
    },
    { cause },
  )

export const notTracked = (machine: string, cause?: unknown): PlatformError => {
  const { message, remedy, detail } = refused(
    `The changed blocks of ${machine} are not tracked.`,
    'Switch tracking on, and make and remove a snapshot (or restart the machine), so that it begins.',
    { detail: { machine } },
  )
  return new PlatformError(
    { code: 'platform-refused', failure: 'refused', message, remedy, detail: detail ?? {} },
    { cause },
  )
}

const invalid = (session: Session, what: string): PlatformError =>
  new PlatformError({
    code: 'platform-answer-invalid',
    failure: 'unknown',
    message: `${hostOf(session)} answered a question for changed blocks with ${what}.`,
    remedy: 'It is tried again. When it stays so, copy the disk in full.',
  })
