import { DroverError } from '../../errors.ts'
import { type PlatformTask, runTask } from '../../ledger/platform-task.ts'
import { readTask } from '../../ledger/task-record.ts'
import type { Performance, PerformWait } from './performer.ts'
import { mostFailures, note } from './retry-until-deadline.ts'

/** A task of a platform as a part of an operation. */
export interface PlatformWork extends Pick<PlatformTask, 'part' | 'tasks' | 'begin' | 'made' | 'repeat'> {
  readonly verb: NonNullable<PlatformTask['verb']>
  readonly undo: { readonly kind: string; readonly with: Readonly<Record<string, unknown>> }
  /** Shown to people. */
  readonly doing: string
  /** After the request the operation can only be completed. */
  readonly pastReturn: boolean
  /** The range of the operation's progress that this part covers. */
  readonly span: readonly [number, number]
}

export type WorkEnd =
  /** With the result of the task. */
  { readonly type: 'ended'; readonly result: string | null } | PerformWait

const lookMs = 1_000

/** Whether that part was requested or is about to be: the state of the machine may be its effect. */
export const hasBegunWork = ({ ctx }: Performance, part: string): boolean => readTask(ctx, part) !== undefined

/** Whether that part has ended, in this turn or an earlier one. */
export const hasEndedWork = ({ ctx }: Performance, part: string): boolean =>
  readTask(ctx, part)?.ended === true

/** Runs the task once over all tries, as far as one turn can, and shows its progress. */
export const doWork = async (performance: Performance, work: PlatformWork): Promise<WorkEnd> => {
  const { ctx, operation, machine, target } = performance
  const { part, doing, pastReturn, undo, span } = work
  if (hasEndedWork(performance, part)) return { type: 'ended', result: readTask(ctx, part)?.result ?? null }
  if (pastReturn && !operation.pastReturn) await noteReturn(performance, work, true)
  const end = await runTask(ctx, {
    ...work,
    ...(hasBegunWork(performance, part)
      ? {}
      : { checkpoint: { ...ctx.checkpointed, [part]: { failed: 0, ended: false, result: null } } }),
    kind: undo.kind,
    undo: undo.with,
    platform: target.name,
    machine: machine.ref,
    most: mostFailures,
    // An operation whose task did not happen can be cancelled again.
    ...(pastReturn ? { onNothing: () => noteReturn(performance, work, false) } : {}),
  })
  if (end.type === 'ended') return end
  if (end.type === 'failed') throw end.error
  if (end.type === 'unknown') throw forgotten(performance, end.taskId)
  const wait = { type: 'wait', reason: 'in-progress', forMs: lookMs } as const
  if (end.type === 'lost')
    return {
      ...wait,
      detail: `${doing} The platform has lost the task, and nothing has come of it: it is asked again.`,
    }
  const [from, to] = span
  return {
    ...wait,
    detail: doing,
    progress: Math.floor(from + ((to - from) * (end.status?.percent ?? 0)) / 100),
  }
}

const noteReturn = (performance: Performance, { doing }: PlatformWork, pastReturn: boolean): Promise<void> =>
  note(performance, { reason: 'in-progress', message: doing, pastReturn })

const forgotten = ({ machine, operation, target }: Performance, taskId: string | null): DroverError =>
  new DroverError({
    code: 'outcome-unknown',
    class: 'conflict',
    message: `${target.name} has taken the ${operation.kind} of ${machine.name} on and does not know its task${taskId === null ? '' : ` ${taskId}`} any more: whether it was done cannot be told.`,
    remedy: 'Look at the machine on its target. Ask again when it is not as you want it.',
  })
