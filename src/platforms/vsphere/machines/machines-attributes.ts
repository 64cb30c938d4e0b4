import { child, numberOf, type Ref, textOf } from '../../../xml/xml-node.ts'
import type { Call } from '../../ports/call.ts'
import { PlatformError } from '../../ports/platform-error.ts'
import { machineRef, readPresent, refused } from '../soap/machines-reading.ts'
import type { Session } from '../soap/session.ts'
import { element, refElement } from '../soap/soap-request.ts'

/** Sets custom attributes of a machine, as people see them in vSphere; makes those that are not there yet. */
export const setAttributes = async (
  session: Session,
  call: Call,
  machine: string,
  attributes: Readonly<Record<string, string>>,
): Promise<void> => {
  const on = await session.manager(call, 'customFieldsManager')
  let known = await readFields(session, call, on)
  for (const [name, value] of Object.entries(attributes)) {
    let key = known.get(name)
    if (key === undefined) {
      await addField(session, call, on, name)
      known = await readFields(session, call, on)
      key = known.get(name)
    }
    if (key === undefined)
      throw refused(`The custom attribute ${name} is not for machines.`, 'Choose another name for it.')
    const body = refElement('entity', machineRef(machine)) + element('key', key) + element('value', value)
    await session.call(call, { on, method: 'SetField', body, repeatable: true })
  }
}

/** Keys by name of those that machines may have. */
const readFields = async (session: Session, call: Call, on: Ref): Promise<ReadonlyMap<string, number>> => {
  const read = await readPresent(session, call, on, ['field'])
  const fields = new Map<string, number>()
  for (const field of read.properties.get('field')?.children ?? []) {
    const type = textOf(field, 'managedObjectType')
    const isOurs = type === '' || type === 'VirtualMachine'
    if (isOurs && child(field, 'key')) fields.set(textOf(field, 'name'), numberOf(field, 'key'))
  }
  return fields
}

const addField = async (session: Session, call: Call, on: Ref, name: string): Promise<void> => {
  const body = element('name', name) + element('moType', 'VirtualMachine')
  try {
    await session.call(call, { on, method: 'AddCustomFieldDef', body })
  } catch (error) {
    // Somebody else was faster.
    if (!(error instanceof PlatformError) || error.code !== 'platform-name-taken') throw error
  }
}
