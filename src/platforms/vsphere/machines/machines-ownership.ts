import { textOf, type XmlNode } from '../../../xml/xml-node.ts'
import type { Call } from '../../ports/call.ts'
import type { Found } from '../../ports/task.ts'
import { machineRef, readWhole, refuseGaps } from '../soap/machines-reading.ts'
import { createView, destroyView, type ObjectRead, retrieve } from '../soap/property-read.ts'
import type { Session } from '../soap/session.ts'
import { wrap } from '../soap/soap-request.ts'
import { startTask } from '../soap/tasks.ts'
import { configSpec } from './machines-spec.ts'

export type Owner = Readonly<Record<string, string>>

/**
 * What we write into a machine's own configuration, so that it is there from the first instant and moves with it.
 * One key holds the whole owner: a clone that inherits its original's is overwritten as a whole.
 */
const keys = { owner: 'drover.owner', call: 'drover.call', import: 'drover.import' } as const

export interface Marks {
  readonly owner: Owner
  /** The idempotency name of the call that made the machine. */
  readonly madeBy: string
  /** Empty: not imported by us. */
  readonly import: '' | 'pending' | 'complete'
  /** False while vSphere has no configuration to show: the machine is being made, or cannot be reached. */
  readonly readable: boolean
}

/** As entries of `extraConfig`. An empty value takes an inherited one away. */
export const markEntries = (marks: Partial<Marks>): Readonly<Record<string, string>> => ({
  ...(marks.owner === undefined ? {} : { [keys.owner]: ownerText(marks.owner) }),
  ...(marks.madeBy === undefined ? {} : { [keys.call]: marks.madeBy }),
  ...(marks.import === undefined ? {} : { [keys.import]: marks.import }),
})

const ownerText = (owner: Owner): string =>
  JSON.stringify(Object.fromEntries(Object.entries(owner).sort(([left], [right]) => (left < right ? -1 : 1))))

const extraConfigPath = 'config.extraConfig'
export const markPaths = [extraConfigPath] as const

export const marksOf = (read: ObjectRead): Marks => {
  const found = new Map<string, string>()
  // The last wins: the simulator adds where vSphere replaces.
  for (const option of read.properties.get(extraConfigPath)?.children ?? [])
    found.set(textOf(option, 'key'), valueText(option))
  const state = found.get(keys.import) ?? ''
  return {
    owner: parseOwner(found.get(keys.owner) ?? ''),
    madeBy: found.get(keys.call) ?? '',
    import: state === 'pending' || state === 'complete' ? state : '',
    readable: read.properties.has(extraConfigPath),
  }
}

const valueText = (option: XmlNode): string => textOf(option, 'value')

/** Anybody may write there: what is not ours in form is no owner. */
const parseOwner = (text: string): Owner => {
  try {
    const parsed: unknown = JSON.parse(text)
    if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) return {}
    const entries = Object.entries(parsed).filter(([, value]) => typeof value === 'string')
    return Object.fromEntries(entries) as Owner
  } catch {
    return {}
  }
}

export const readMarks = async (session: Session, call: Call, machine: string): Promise<Found<Marks>> => {
  const read = await readWhole(session, call, machineRef(machine), markPaths)
  return read.found ? { found: true, value: marksOf(read.value) } : { found: false }
}

/** Machines whose owner says all of this, and perhaps more. */
export const findOwned = async (session: Session, call: Call, owner: Owner): Promise<readonly string[]> =>
  findMarked(session, call, (marks) => isOwnedBy(marks.owner, owner))

const isOwnedBy = (owner: Owner, wanted: Owner): boolean =>
  Object.keys(owner).length > 0 && Object.entries(wanted).every(([key, value]) => owner[key] === value)

/** What a call of that name made. Reads every machine: for the time after a crash only. */
export const findMadeBy = async (session: Session, call: Call, name: string): Promise<string | undefined> => {
  const [first] = await findMarked(session, call, (marks) => marks.madeBy === name)
  return first
}

const findMarked = async (
  session: Session,
  call: Call,
  accepts: (marks: Marks) => boolean,
): Promise<readonly string[]> => {
  const root = await session.manager(call, 'rootFolder')
  const view = await createView(session, call, root, ['VirtualMachine'])
  const found: string[] = []
  try {
    const pages = retrieve(session, call, {
      objects: { view },
      properties: [{ type: 'VirtualMachine', paths: markPaths }],
      pageSize: 100,
    })
    for await (const page of pages)
      for (const read of page) {
        if (isHidden(read)) continue
        refuseGaps(session, read, markPaths)
        if (accepts(marksOf(read))) found.push(read.ref.value)
      }
  } finally {
    await destroyView(session, view)
  }
  return found
}

/** What we may not look into, or what went meanwhile, is none of ours; any other gap ends the search. */
const isHidden = (read: ObjectRead): boolean =>
  ['NoPermission', 'ManagedObjectNotFound'].includes(read.missing.get(extraConfigPath)?.type ?? '')

export const writeMarks = async (
  session: Session,
  call: Call,
  machine: string,
  marks: Partial<Marks>,
): Promise<void> => {
  const body = wrap('spec', configSpec({ extraConfig: markEntries(marks) }))
  const task = await startTask(session, call, { on: machineRef(machine), method: 'ReconfigVM_Task', body })
  await task.wait(call)
}
