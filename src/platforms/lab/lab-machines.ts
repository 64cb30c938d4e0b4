import type { Call } from '../ports/call.ts'
import type { MachineChange, MachinesPort, NewMachine } from '../ports/machines.ts'
import type { TaskHandle } from '../ports/task.ts'
import type { LabLink } from './lab-link.ts'
import { labPath } from './lab-path.ts'
import { findLabTask, startLabTask } from './lab-tasks.ts'
import { ownerAnswer, refs, snapshotsAnswer } from './protocol.ts'

export const labMachines = (link: LabLink): MachinesPort => {
  const post = (call: Call, path: string, json: unknown): Promise<TaskHandle> =>
    startLabTask(link, call, { method: 'POST', path, json })
  const remove = (call: Call, path: string): Promise<TaskHandle> =>
    startLabTask(link, call, { method: 'DELETE', path })
  return {
    findTask: (call, trace) => findLabTask(link, call, trace),
    create: async (call, machine) => await post(call, '/instances', wireMachine(machine)),
    findOwned: async (call, owner) =>
      (await link.ask(call, { method: 'POST', path: '/instances/find-owned', json: { owner } }, refs)).refs,
    owner: async (call, machine) => {
      const path = labPath`/instances/${machine}/owner`
      const answer = await link.find(call, { method: 'GET', path }, ownerAnswer)
      return answer.found ? { found: true, value: answer.value.owner } : answer
    },
    tag: async (call, machine, owner) => {
      await link.send(call, { method: 'PUT', path: labPath`/instances/${machine}/owner`, json: { owner } })
    },
    rename: async (call, machine, newName) =>
      await post(call, labPath`/instances/${machine}/rename`, { name: newName }),
    reconfigure: async (call, machine, change) =>
      await post(call, labPath`/instances/${machine}/reconfigure`, wireChange(change)),
    clone: async (call, machine, { machineName, folder, owner }) =>
      await post(call, labPath`/instances/${machine}/clone`, { name: machineName, folder, owner }),
    destroy: async (call, machine) => await remove(call, labPath`/instances/${machine}`),
    snapshots: async (call, machine) => {
      const path = labPath`/instances/${machine}/snapshots`
      const answer = await link.find(call, { method: 'GET', path }, snapshotsAnswer)
      return answer.found ? { found: true, value: answer.value.snapshots } : answer
    },
    createSnapshot: async (call, machine, { snapshotName, memory, quiesce }) =>
      await post(call, labPath`/instances/${machine}/snapshots`, { name: snapshotName, memory, quiesce }),
    revertToSnapshot: async (call, machine, snapshot) =>
      await post(call, labPath`/instances/${machine}/snapshots/${snapshot}/revert`, {}),
    removeSnapshot: async (call, machine, snapshot) =>
      await remove(call, labPath`/instances/${machine}/snapshots/${snapshot}`),
  }
}

const wireMachine = ({ machineName, legacyBoot, secureBoot, ...rest }: NewMachine) => ({
  ...rest,
  name: machineName,
  legacy_boot: legacyBoot,
  secure_boot: secureBoot,
})

const wireChange = ({ changeTracking, ...rest }: MachineChange) => ({
  ...rest,
  ...(changeTracking === undefined ? {} : { change_tracking: changeTracking }),
})
