import { childrenOf, textOf, type XmlNode } from '../../../xml/xml-node.ts'
import type { Call } from '../../ports/call.ts'
import type { MachinesPort, SnapshotRef } from '../../ports/machines.ts'
import type { Found, TaskHandle } from '../../ports/task.ts'
import { absent, machineRef, readWhole } from '../soap/machines-reading.ts'
import type { Session } from '../soap/session.ts'
import { element } from '../soap/soap-request.ts'
import { madeHandle, startTask } from '../soap/tasks.ts'

export interface Snapshots {
  readonly port: Pick<MachinesPort, 'snapshots' | 'createSnapshot' | 'revertToSnapshot' | 'removeSnapshot'>
  /** The snapshot that a call of that name made. */
  madeBy(call: Call, machine: string, name: string): Promise<string | undefined>
}

interface KnownSnapshot extends SnapshotRef {
  readonly description: string
}

/** The name of the call goes into the description: so an answer that was lost makes no second snapshot. */
const mark = (callName: string): string => `drover: ${callName}`

export const openSnapshots = (session: Session): Snapshots => {
  const madeBy = async (call: Call, machine: string, name: string): Promise<string | undefined> => {
    const tree = await readTree(session, call, machine)
    return tree.found ? tree.value.find((one) => one.description === mark(name))?.ref : undefined
  }
  const onSnapshot =
    (method: string, body: string) =>
    async (call: Call, machine: string, snapshot: string): Promise<TaskHandle> => {
      const tree = await readTree(session, call, machine)
      if (!tree.found) throw absent(session, `machine ${machine}`)
      // A ref of another machine's snapshot would be obeyed too.
      if (!tree.value.some((one) => one.ref === snapshot))
        throw absent(session, `snapshot ${snapshot} of machine ${machine}`)
      return startTask(session, call, { on: snapshotRef(snapshot), method, body })
    }
  return {
    madeBy,
    port: {
      snapshots: async (call, machine) => {
        const tree = await readTree(session, call, machine)
        if (!tree.found) return tree
        return { found: true, value: tree.value.map(({ ref, name, parent }) => ({ ref, name, parent })) }
      },
      createSnapshot: async (call, machine, { snapshotName, memory, quiesce }) => {
        const known = await madeBy(call, machine, call.name)
        if (known !== undefined) return madeHandle(known)
        const body =
          element('name', snapshotName) +
          element('description', mark(call.name)) +
          element('memory', memory) +
          element('quiesce', quiesce)
        return startTask(session, call, { on: machineRef(machine), method: 'CreateSnapshot_Task', body })
      },
      revertToSnapshot: onSnapshot('RevertToSnapshot_Task', ''),
      removeSnapshot: onSnapshot(
        'RemoveSnapshot_Task',
        element('removeChildren', false) + element('consolidate', true),
      ),
    },
  }
}

const snapshotRef = (value: string) => ({ type: 'VirtualMachineSnapshot', value })

const readTree = async (
  session: Session,
  call: Call,
  machine: string,
): Promise<Found<readonly KnownSnapshot[]>> => {
  const read = await readWhole(session, call, machineRef(machine), ['snapshot'])
  if (!read.found) return read
  const roots = childrenOf(read.value.properties.get('snapshot'), 'rootSnapshotList')
  return { found: true, value: flatten(roots) }
}

/** Parents before their children. */
const flatten = (roots: readonly XmlNode[]): readonly KnownSnapshot[] => {
  const flat: KnownSnapshot[] = []
  const open: { readonly node: XmlNode; readonly parent: string | null }[] = roots.map((node) => ({
    node,
    parent: null,
  }))
  // Neither by `shift` nor by spreading: there may be as many as an answer holds.
  for (let place = 0; place < open.length; place += 1) {
    const { node, parent } = open[place] as (typeof open)[number]
    const ref = textOf(node, 'snapshot')
    flat.push({ ref, name: textOf(node, 'name'), parent, description: textOf(node, 'description') })
    for (const one of childrenOf(node, 'childSnapshotList')) open.push({ node: one, parent: ref })
  }
  return flat
}
