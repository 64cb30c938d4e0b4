import type { Call } from '../call.ts'
import type { Connection } from '../connection.ts'
import type { MachinesPort } from '../ports/machines.ts'
import type { TemplateFacts, TemplatesPort } from '../ports/templates.ts'
import { plainName } from './inventory-tree.ts'
import { findFolder, folderPath } from './machines-folder.ts'
import { findMadeBy, markPaths, marksOf } from './machines-ownership.ts'
import { poolOfHost } from './machines-placement.ts'
import {
  absent,
  machineRef,
  readPresent,
  readWhole,
  refuseGaps,
  textAt,
  wrongState,
} from './machines-reading.ts'
import { type ObjectRead, retrieveSome } from './property-read.ts'
import type { Session } from './session.ts'
import { refElement } from './soap-request.ts'
import { findTask } from './tasks.ts'
import { importImage } from './templates-import.ts'
import { isTrue, refOf, refsIn } from './xml-node.ts'

const kinds = new Set(
  ['VirtualMachine', 'ManagedEntity'].flatMap((type) => [`${type}.rename`, `${type}.destroy`]),
)
const templatePaths = ['name', 'parent', 'config.template', ...markPaths]

export const openTemplates = (
  session: Session,
  connection: Connection,
  machines: Pick<MachinesPort, 'rename' | 'destroy'>,
): TemplatesPort => ({
  templates: async (call, folder) => {
    const ref = await findFolder(session, call, folder)
    const path = await folderPath(session, call, ref)
    const children = refsIn(
      (await readPresent(session, call, ref, ['childEntity'])).properties.get('childEntity'),
    )
    const inside = children.filter((one) => one.type === 'VirtualMachine')
    const reads = await retrieveSome(session, call, inside, { type: 'VirtualMachine', paths: templatePaths })
    return reads.flatMap((read) => factsOf(session, read, path) ?? [])
  },
  template: async (call, ref) => {
    const read = await readWhole(session, call, machineRef(ref), templatePaths)
    if (!read.found) return read
    const parent = refOf(read.value.properties.get('parent'))
    const path = parent ? await folderPath(session, call, parent) : ''
    const value = factsOf(session, read.value, path)
    return value ? { found: true, value } : { found: false }
  },
  importImage: (call, image, onProgress) => importImage({ session, connection, image, onProgress }, call),
  markTemplate: (call, machine) => markTemplate(session, call, machine),
  markMachine: (call, template) => markMachine(session, call, template),
  renameTemplate: (call, ref, newName) => machines.rename(call, ref, newName),
  destroyTemplate: (call, ref) => machines.destroy(call, ref),
  findTask: (call, trace) =>
    findTask(session, call, trace, { kinds, madeBy: (name) => findMadeBy(session, call, name) }),
})

/** A machine that is neither a template nor an import of ours is none of this port's business. */
const factsOf = (session: Session, read: ObjectRead, folder: string): TemplateFacts | undefined => {
  refuseGaps(session, read, templatePaths)
  const isTemplate = isTrue(textAt(read, 'config.template'))
  const marks = marksOf(read)
  if (!isTemplate && marks.import === '') return undefined
  return {
    ref: read.ref.value,
    name: plainName(textAt(read, 'name')),
    folder,
    owner: marks.owner,
    complete: isTemplate && marks.import !== 'pending',
  }
}

/** Asked for again, it does nothing: there is no task whose answer could be lost. */
const markTemplate = async (session: Session, call: Call, machine: string): Promise<void> => {
  const read = await readPresent(session, call, machineRef(machine), templatePaths)
  if (isTrue(textAt(read, 'config.template'))) return
  if (marksOf(read).import === 'pending')
    throw wrongState(`The import of ${machine} was cut short, so it becomes no template.`, { machine })
  await session.call(call, { on: machineRef(machine), method: 'MarkAsTemplate' })
}

const markMachine = async (session: Session, call: Call, template: string): Promise<void> => {
  const read = await readPresent(session, call, machineRef(template), ['config.template', 'runtime.host'])
  if (!isTrue(textAt(read, 'config.template'))) return
  const host = refOf(read.properties.get('runtime.host'))
  const pool = host ? await poolOfHost(session, call, host) : undefined
  if (!pool) throw absent(session, `resource pool for ${template}`)
  const body = refElement('pool', pool)
  await session.call(call, { on: machineRef(template), method: 'MarkAsVirtualMachine', body })
}
