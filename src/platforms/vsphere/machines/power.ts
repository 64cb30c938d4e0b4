import type { PowerState } from '../../../domain/inventory/facts.ts'
import { isTrue } from '../../../xml/xml-node.ts'
import type { Call } from '../../ports/call.ts'
import type { PowerPort } from '../../ports/power.ts'
import type { TaskHandle, TaskVerb } from '../../ports/task.ts'
import {
  machineRef,
  powerStateOf,
  readPresent,
  readWhole,
  refused,
  textAt,
  wrongState,
} from '../soap/machines-reading.ts'
import type { Session } from '../soap/session.ts'
import type { SoapRequest } from '../soap/soap-request.ts'
import { findTask, madeHandle, startTask } from '../soap/tasks.ts'

/** A guest is asked to shut down without a task. */
const kinds: Readonly<Record<string, TaskVerb>> = {
  'VirtualMachine.powerOn': 'start',
  'VirtualMachine.powerOff': 'stop',
  'VirtualMachine.reset': 'restart',
  'VirtualMachine.suspend': 'suspend',
}

export const openPower = (session: Session): PowerPort => {
  const verb =
    (method: string, from: readonly PowerState[], what: string) =>
    async (call: Call, machine: string): Promise<TaskHandle> => {
      await requireState(session, call, machine, { from, what })
      return startTask(session, call, { on: machineRef(machine), method })
    }
  return {
    power: async (call, machine) => {
      const paths = ['runtime.powerState', 'runtime.host', 'runtime.bootTime', 'summary.runtime.bootTime']
      const read = await readWhole(session, call, machineRef(machine), paths)
      if (!read.found) return read
      const state = powerStateOf(session, read.value)
      const bootId = textAt(read.value, 'runtime.bootTime') || textAt(read.value, 'summary.runtime.bootTime')
      const host = textAt(read.value, 'runtime.host')
      return { found: true, value: { state, host, boot_id: state === 'off' ? '' : bootId } }
    },
    start: verb('PowerOnVM_Task', ['off', 'suspended'], 'started'),
    stop: verb('PowerOffVM_Task', ['on', 'suspended'], 'switched off'),
    restart: verb('ResetVM_Task', ['on'], 'restarted'),
    suspend: verb('SuspendVM_Task', ['on'], 'suspended'),
    shutdownGuest: async (call, machine) => {
      await requireState(session, call, machine, { from: ['on'], what: 'shut down' })
      await requireTools(session, call, machine)
      const request: SoapRequest = { on: machineRef(machine), method: 'ShutdownGuest' }
      await session.call(call, request)
      return madeHandle(machine)
    },
    findTask: (call, trace) => findTask(session, call, trace, { kinds }),
  }
}

const requireState = async (
  session: Session,
  call: Call,
  machine: string,
  { from, what }: { readonly from: readonly PowerState[]; readonly what: string },
): Promise<void> => {
  const paths = ['runtime.powerState', 'config.template']
  const read = await readPresent(session, call, machineRef(machine), paths)
  if (isTrue(textAt(read, 'config.template')))
    throw wrongState(`${machine} is a template, so it cannot be ${what}.`, { machine })
  const state = powerStateOf(session, read)
  if (!from.includes(state))
    throw wrongState(`${machine} is ${state}, so it cannot be ${what}.`, { machine, state })
}

/** Without tools in the guest nobody hears; vSphere would say so with ToolsUnavailable, the simulator would not. */
const requireTools = async (session: Session, call: Call, machine: string): Promise<void> => {
  const read = await readPresent(session, call, machineRef(machine), ['guest.toolsRunningStatus'])
  if (textAt(read, 'guest.toolsRunningStatus') === 'guestToolsRunning') return
  throw refused(
    `No tools run in the guest of ${machine}, so nothing in it hears a request to shut down.`,
    'Install or start VMware Tools in the guest, or switch the machine off hard.',
    { detail: { machine } },
  )
}
