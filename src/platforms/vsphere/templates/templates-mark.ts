import { isTrue, refOf } from '../../../xml/xml-node.ts'
import type { Call } from '../../ports/call.ts'
import { computeOf } from '../machines/machines-compute.ts'
import { markPaths, marksOf, writeMarks } from '../machines/machines-ownership.ts'
import { absent, machineRef, readPresent, textAt, wrongState } from '../soap/machines-reading.ts'
import { requireVcenter } from '../soap/service-content.ts'
import type { Session } from '../soap/session.ts'
import { refElement } from '../soap/soap-request.ts'

export const templatePaths: readonly string[] = ['name', 'parent', 'config.template', ...markPaths]

/** Asked for again, it does nothing: there is no task whose answer could be lost. */
export const markTemplate = async (session: Session, call: Call, machine: string): Promise<void> => {
  const read = await readPresent(session, call, machineRef(machine), templatePaths)
  if (isTrue(textAt(read, 'config.template'))) return
  if (marksOf(read).import === 'pending')
    throw wrongState(`The import of ${machine} was cut short, so it becomes no template.`, { machine })
  requireVcenter(await session.content(call), 'keep templates')
  await session.call(call, { on: machineRef(machine), method: 'MarkAsTemplate' })
}

export const markMachine = async (session: Session, call: Call, template: string): Promise<void> => {
  const read = await readPresent(session, call, machineRef(template), [...templatePaths, 'runtime.host'])
  if (!isTrue(textAt(read, 'config.template'))) return
  const host = refOf(read.properties.get('runtime.host'))
  const compute = host && (await computeOf(session, call, host))
  if (!compute) throw absent(session, `resource pool for ${template}`)
  const body = refElement('pool', compute.pool) + (compute.host ? refElement('host', compute.host) : '')
  await session.call(call, { on: machineRef(template), method: 'MarkAsVirtualMachine', body })
  if (marksOf(read).import !== '') await writeMarks(session, call, template, { import: '' })
}
