import { findOpenEffects } from '../../db/queries/effects/effects.ts'
import type { EffectRow } from '../../db/schema/effect.ts'
import type { Call } from '../platforms/ports/call.ts'
import type { TasksOf } from '../platforms/ports/task.ts'
import type { PlatformTask, TaskContext } from './platform-task.ts'

/** What finds a task at its platform. */
type Named = Pick<EffectRow, 'kind' | 'name' | 'jobId' | 'epoch'>

interface OlderNames {
  readonly nameOf: (n: number) => string
  /** The first and the last number that may have been used. */
  readonly from: number
  readonly to: number
  /** Numbers may be missing. Otherwise none follows the first that the platform does not know. */
  readonly gaps?: true
}

/** A job has no more tries. */
const triesMost = 1_000
const byTry = (start: string): OlderNames => ({ nameOf: (n) => `${start}/${n}`, from: 0, to: triesMost - 1 })

/**
 * The only place that knows how versions before `taskName` named the tasks of an effect, by effect kind: one effect
 * stood for all tries then, and every try had a number. Jobs and debts outlive an upgrade. Names of the form
 * `<job>/<part>` are unchanged.
 */
const olderNames: Readonly<Record<string, (effect: Named) => OlderNames | undefined>> = {
  'target-machine': ({ name, jobId }) =>
    name.startsWith('machine of ') ? byTry(`${jobId}/target-machine`) : undefined,
  'source-snapshot': ({ name }) => (name.startsWith('drover-') ? byTry(name) : undefined),
  // Named by the epoch of the turn; the effect carries that of the last. Later, for a while, by the job alone.
  'target-fit': ({ name, jobId, epoch }) =>
    name === `${jobId}/fit`
      ? { nameOf: (n) => (n === 0 ? name : `${name}/${n}`), from: 0, to: epoch, gaps: true }
      : undefined,
}

/** The tasks of an effect that an older version began, in order; undefined: this version began it. */
export const findOlderTasks = async (
  tasks: TasksOf,
  call: Call,
  { effect, machine }: { readonly effect: Named; readonly machine?: string | undefined },
): Promise<string[] | undefined> => {
  const older = olderNames[effect.kind]?.(effect)
  if (!older) return undefined
  const names: string[] = []
  for (let n = older.from; n <= older.to; n += 1) {
    const name = older.nameOf(n)
    const found = await tasks.findTask(call, { name, ...(machine === undefined ? {} : { machine }) })
    if (!found.found && older.gaps) continue
    if (!found.found) break
    names.push(name)
    // Known only by its machine: every further name would find the same task.
    if (found.value.byMachine) break
  }
  return names
}

/** The open effects of that kind that earlier turns of this job, perhaps of an older version, have intended. */
export const findEarlierEffects = async (
  { db, job }: Pick<TaskContext, 'db' | 'job'>,
  kind: string,
): Promise<EffectRow[]> =>
  // In the first turn there cannot be any.
  job.leaseEpoch <= 1 ? [] : (await findOpenEffects(db, job.id)).filter((one) => one.kind === kind)

const callMs = 30_000

/** A task under its older name. */
interface OlderBegun {
  readonly effect: string
  /** The name of its latest call. */
  readonly name: string
  readonly failed: number
}

/** What an older version began for this job and did not finish: it continues under its own name. */
export const findOlderBegun = async (
  ctx: TaskContext,
  { kind, older, tasks, machine }: PlatformTask,
): Promise<OlderBegun | undefined> => {
  if (older === undefined) return undefined
  const effect = (await findEarlierEffects(ctx, kind)).find(({ name }) => name === older)
  if (!effect) return undefined
  const call = { signal: ctx.signal, timeoutMs: callMs, name: older }
  const names = (await findOlderTasks(tasks, call, { effect, machine })) ?? []
  // Its tries were numbered from 0 on: the number after the latest is unused.
  return { effect: older, name: names.at(-1) ?? older, failed: Math.max(0, names.length - 1) }
}
