import { isTrue, refOf, refsIn } from '../../../xml/xml-node.ts'
import type { Connection } from '../../ports/connection.ts'
import type { MachinesPort } from '../../ports/machines.ts'
import type { TaskVerb } from '../../ports/task.ts'
import type { TemplateFacts, TemplatesPort } from '../../ports/templates.ts'
import { plainName } from '../inventory/inventory-tree.ts'
import { findFolder, folderPath } from '../machines/machines-folder.ts'
import { findMadeBy, marksOf } from '../machines/machines-ownership.ts'
import { machineRef, readPresent, readWhole, refuseGaps, textAt } from '../soap/machines-reading.ts'
import { type ObjectRead, retrieveSome } from '../soap/property-read.ts'
import type { Session } from '../soap/session.ts'
import { findTask } from '../soap/tasks.ts'
import { importImage } from './templates-import.ts'
import { markMachine, markTemplate, templatePaths } from './templates-mark.ts'

const kinds: Readonly<Record<string, TaskVerb>> = {
  'VirtualMachine.rename': 'rename',
  'ManagedEntity.rename': 'rename',
  'VirtualMachine.destroy': 'destroy',
  'ManagedEntity.destroy': 'destroy',
}

export const openTemplates = (
  session: Session,
  connection: Connection,
  machines: Pick<MachinesPort, 'rename' | 'destroy'>,
): TemplatesPort => ({
  imageFormats: ['vmdk-stream'],
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

/**
 * A machine that is neither a template nor an import of ours is none of this port's business. An import that has
 * everything but the switch to a template (a crash in between) is whole: nobody may take it for a rest.
 */
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
    complete: marks.import !== 'pending',
  }
}
