import { findOpenEffects } from '../../db/queries/effects/effects.ts'
import type { EffectRow } from '../../db/schema/effect.ts'
import type { Call } from '../platforms/ports/call.ts'
import type { TasksOf } from '../platforms/ports/task.ts'
import type { PlatformTask, TaskContext } from './platform-task.ts'

/** Of a task: what finds it at its platform. */
type Named = Pick<EffectRow, 'kind' | 'name' | 'jobId'>

/**
 * The one place that knows how versions before the one policy for names (`taskName`) called the tasks of an effect, by
 * effect kind: one effect stood for all tries then, and every try had a number. Jobs and debts outlive an upgrade.
 * What was called `<job>/<part>` then is called so now.
 */
const olderNames: Readonly<Record<string, (effect: Named) => ((tries: number) => string) | undefined>> = {
  'target-machine': ({ name, jobId }) =>
    name.startsWith('machine of ') ? (tries) => `${jobId}/target-machine/${tries}` : undefined,
  'source-snapshot': ({ name }) => (name.startsWith('drover-') ? (tries) => `${name}/${tries}` : undefined),
}

/** A job has no more tries. */
const triesMost = 1_000

/** The tasks of an effect that an older version began, in their order; undefined: this version began it. */
export const findOlderTasks = async (
  tasks: TasksOf,
  call: Call,
  { effect, machine }: { readonly effect: Named; readonly machine?: string | undefined },
): Promise<string[] | undefined> => {
  const nameOf = olderNames[effect.kind]?.(effect)
  if (!nameOf) return undefined
  const names: string[] = []
  // They were used one after the other: behind the first that the platform does not know there is none.
  for (let tries = 0; tries < triesMost; tries += 1) {
    const name = nameOf(tries)
    const found = await tasks.findTask(call, { name, ...(machine === undefined ? {} : { machine }) })
    if (!found.found) break
    names.push(name)
    // Known by its machine alone: every further name would find the same.
    if (found.value.byMachine) break
  }
  return names
}

const callMs = 30_000

/** A task under its older name. */
interface OlderBegun {
  readonly effect: string
  /** Of its newest call. */
  readonly name: string
  readonly failed: number
}

/** What an older version began for this job and did not bring to its end: it is gone on with under its own name. */
export const findOlderBegun = async (
  { db, job, signal }: TaskContext,
  { kind, older, tasks, machine }: PlatformTask,
): Promise<OlderBegun | undefined> => {
  // In its first turn nobody else can have begun it.
  if (older === undefined || job.leaseEpoch <= 1) return undefined
  const open = await findOpenEffects(db, job.id)
  const effect = open.find((one) => one.kind === kind && one.name === older)
  if (!effect) return undefined
  const call = { signal, timeoutMs: callMs, name: older }
  const names = (await findOlderTasks(tasks, call, { effect, machine })) ?? []
  // Its tries were numbered from 0 on: the number after the newest is nobody's yet.
  return { effect: older, name: names.at(-1) ?? older, failed: Math.max(0, names.length - 1) }
}
