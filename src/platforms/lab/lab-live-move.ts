import { type Call, withinCall } from '../ports/call.ts'
import type { LiveMovePort, MoveHandle, MoveStatus, MoveTo } from '../ports/hibernate.ts'
import { PlatformError } from '../ports/platform-error.ts'
import type { LabLink } from './lab-link.ts'
import { labPath } from './lab-path.ts'
import { asStatus, findTaskId, labTask, readTask } from './lab-tasks.ts'
import { abortAnswer, task, type WireTask } from './protocol.ts'

export const labLiveMove = (link: LabLink): LiveMovePort => {
  const ask = (call: Call, machine: string, { host, force }: MoveTo) =>
    link.ask(
      call,
      {
        method: 'POST',
        path: labPath`/instances/${machine}/move`,
        json: { host, force },
        named: true,
      },
      task,
    )
  return {
    checkMove: async (call, machine, { host, force }) => {
      await link.send(call, {
        method: 'POST',
        path: labPath`/instances/${machine}/move-check`,
        json: { host, force },
      })
    },
    move: async (call, machine, to) => labMove(link, (await ask(call, machine, to)).id),
    findTask: (call, trace) =>
      withinCall(call, async (signal) => {
        const id = await findTaskId(link, { ...call, signal }, trace)
        return id === undefined ? { found: false } : { found: true, value: labMove(link, id) }
      }),
    abort: (call, trace) =>
      withinCall(call, async (signal) => {
        const id = await findTaskId(link, { ...call, signal }, trace)
        if (id === undefined) return 'absent'
        const request = { method: 'POST', path: labPath`/tasks/${id}/abort` } as const
        const answer = await link.find({ ...call, signal }, request, abortAnswer)
        if (!answer.found) return 'absent'
        return answer.value.outcome === 'aborted' ? 'asked' : answer.value.outcome
      }),
  }
}

const labMove = (link: LabLink, id: string): MoveHandle => ({
  ...labTask(link, id),
  status: async (call) => asMove(await readTask(link, call, id)),
})

const asMove = (seen: WireTask): MoveStatus => {
  const { move } = seen
  if (move === null)
    throw new PlatformError({
      code: 'platform-answer-invalid',
      failure: 'unknown',
      message: `Task ${seen.id} of the lab is no move: it is a ${seen.kind}.`,
      remedy: 'Look at what else works on the machine.',
    })
  return {
    ...asStatus(seen),
    move: {
      phase: move.phase,
      percent: seen.percent,
      copiedBytes: move.copied,
      totalBytes: move.total,
      iteration: move.iteration,
      throttlePercent: move.throttle,
      converging: move.converging,
      abortable: move.abortable,
    },
  }
}
