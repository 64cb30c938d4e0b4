import type { WireError } from '../../platforms/lab/protocol.ts'
import { type Lab, toDate } from '../model/context.ts'
import { type MoveArgs, moveProgress, spanOf } from '../model/move-progress.ts'
import { absent, refuse, wrongState } from '../model/refusal.ts'
import { hostLoads, touchEntity } from '../store/entities.ts'
import { findMachine, saveMachine } from '../store/machines.ts'
import { logPower } from '../store/power-log.ts'
import { changeSite } from '../store/sites.ts'
import { endTask, findTask, takeTask } from '../store/tasks.ts'
import { chooseHost, needsState } from './power.ts'
import { present } from './power-tasks.ts'
import { checkReachable, type TaskKind } from './tasks.ts'

const takesMs = 2_000

/** From a running host to another without a pause: one machine, so at no instant two. */
const move: TaskKind = {
  takesMs,
  begin: async (change, found, args) => {
    const machine = present(found)
    needsState(machine, ['on'], 'be moved')
    if (args.host === machine.host) throw wrongState(`"${machine.name}" is on that host already.`)
    const to = await chooseHost(change, machine, String(args.host))
    if (to.host.ref === machine.host) throw wrongState(`"${machine.name}" is on that host already.`)
    const from = (await hostLoads(change.tx, change.site)).find(({ host }) => host.ref === machine.host)
    if (from && from.host.data.cpu_class !== to.host.data.cpu_class)
      throw refuse(
        'platform-refused',
        `Host ${to.host.name} has CPUs of class "${to.host.data.cpu_class}", not "${from.host.data.cpu_class}".`,
        'Choose a host of the same class, or move the machine while it is off.',
      )
    const course: MoveArgs = {
      span_ms: (machine.traits.moveMs ?? takesMs) * change.pace,
      memory: machine.memory,
      force: args.force === true,
      stall_at: machine.traits.moveStallAt ?? null,
    }
    // `spanOf` has the pace in it, and the task is given its own.
    const taken = spanOf({ ...course, span_ms: machine.traits.moveMs ?? takesMs })
    return { args: { host: to.host.ref, ...course }, takesMs: taken }
  },
  apply: async (change, found, task) => {
    const machine = present(found)
    needsState(machine, ['on'], 'be moved')
    const host = String(task.args.host)
    await checkReachable(change, { ...machine, host })
    const before = machine.host
    machine.host = host
    await saveMachine(change, machine)
    await logPower(change, machine)
    for (const touched of [before, host]) await touchEntity(change, 'host', touched)
    return machine.ref
  },
}

export const moveKinds: Readonly<Record<string, TaskKind>> = { move }

const aborted: WireError = {
  code: 'platform-aborted',
  failure: 'refused',
  message: 'The move was aborted: the machine runs where it was.',
  remedy: 'Ask for the move again when it is wanted after all.',
}

/** Ends a move that has not switched over yet; its machine stays where it is. */
export const abortMove = async (
  lab: Lab,
  asked: { readonly site: string; readonly id: string; readonly caller: string },
): Promise<'aborted' | 'too-late' | 'ended'> =>
  await changeSite(lab, asked.site, { why: `${asked.caller}: abort` }, async (change) => {
    const task = await findTask(change.tx, asked.site, asked.id)
    if (!task) throw absent('such task')
    if (task.kind !== 'move')
      throw refuse('platform-refused', `A ${task.kind} cannot be aborted.`, 'Wait for its end.')
    const running = await takeTask(change, task.id)
    if (!running) return 'ended'
    const machine = await findMachine(change.tx, asked.site, running.machine)
    if (machine) await checkReachable(change, machine)
    if (!moveProgress(running, change.at).view.abortable) return 'too-late'
    await endTask(change.tx, running.id, { result: null, error: aborted, early: toDate(change.at) })
    return 'aborted'
  })
