import { absent, refuse } from '../model/refusal.ts'
import type { Machine } from '../store/machines.ts'
import { addTask } from '../store/tasks.ts'
import { chooseHost, needsState, powerDown, powerOn } from './power.ts'
import { checkReachable, type TaskKind } from './tasks.ts'

/** The machine, where the kind works on one. */
export const present = (machine: Machine | undefined): Machine => {
  if (!machine) throw absent('machine: it was removed meanwhile')
  return machine
}

const start: TaskKind = {
  takesMs: 800,
  begin: async (change, found, args) => {
    const machine = present(found)
    needsState(machine, ['off', 'suspended'], 'start')
    const load = await chooseHost(change, machine, String(args.host ?? ''))
    return { args: { host: load.host.ref } }
  },
  apply: async (change, found, task) => {
    const machine = present(found)
    needsState(machine, ['off', 'suspended'], 'start')
    const host = String(task.args.host)
    await checkReachable(change, { ...machine, host })
    const wake =
      machine.power === 'suspended'
        ? { bootId: machine.bootId, counter: machine.counterBase, guest: machine.guest }
        : undefined
    await powerOn(change, machine, { host, ...(wake ? { wake } : {}) })
    return null
  },
}

const stop: TaskKind = {
  takesMs: 400,
  begin: async (_change, machine) => {
    needsState(present(machine), ['on', 'suspended'], 'stop')
    return {}
  },
  apply: async (change, found) => {
    const machine = present(found)
    needsState(machine, ['on', 'suspended'], 'stop')
    await powerDown(change, machine, 'off')
    return null
  },
}

/** Done when the guest has heard. Whether and when it goes down is the guest's own affair. */
const shutdown: TaskKind = {
  takesMs: 100,
  begin: async (change, found) => {
    const machine = present(found)
    needsState(machine, ['on'], 'be shut down')
    const ready = machine.readyAt !== null && machine.readyAt.getTime() <= change.at
    if (machine.guest?.agent !== 'running' || !ready)
      throw refuse(
        'platform-refused',
        `No agent answers in "${machine.name}".`,
        'Pull the plug, or wait for it.',
      )
    return {}
  },
  apply: async (change, found) => {
    const machine = present(found)
    if (machine.power !== 'on' || machine.guest?.shutdown !== 'obeys') return null
    await addTask(change, {
      kind: 'guest-off',
      machine: machine.ref,
      args: { boot_id: machine.bootId, run_id: machine.runId },
      name: null,
      caller: 'guest',
      takesMs: machine.guest.shutdown_ms,
      inner: true,
    })
    return null
  },
}

/** The guest that was asked has gone down, unless somebody was faster. */
const guestOff: TaskKind = {
  takesMs: 0,
  begin: async () => ({}),
  apply: async (change, machine, task) => {
    if (machine?.power === 'on' && machine.bootId === task.args.boot_id)
      await powerDown(change, machine, 'off')
    return null
  },
}

const restart: TaskKind = {
  takesMs: 1_200,
  begin: async (_change, machine) => {
    needsState(present(machine), ['on'], 'restart')
    return {}
  },
  apply: async (change, found) => {
    const machine = present(found)
    needsState(machine, ['on'], 'restart')
    await powerDown(change, machine, 'off')
    await powerOn(change, machine, { host: machine.host })
    return null
  },
}

const suspend: TaskKind = {
  takesMs: 1_000,
  begin: async (_change, machine) => {
    needsState(present(machine), ['on'], 'be suspended')
    return {}
  },
  apply: async (change, found) => {
    const machine = present(found)
    needsState(machine, ['on'], 'be suspended')
    await powerDown(change, machine, 'suspended')
    return null
  },
}

export const powerKinds: Readonly<Record<string, TaskKind>> = {
  start,
  stop,
  shutdown,
  'guest-off': guestOff,
  restart,
  suspend,
}
