import { z } from 'zod'
import type { MachineRow, OperationRow } from '../../../db/schema/operation.ts'
import { readParams } from '../../domain/operation/kinds/params.ts'
import { DroverError } from '../../errors.ts'
import { resultOfTask } from '../../ledger/ended-task.ts'
import { again } from '../../platforms/ports/bounded-wait.ts'
import type { SnapshotRef } from '../../platforms/ports/machines.ts'
import { isAbsent } from '../../platforms/ports/platform-error.ts'
import { portOf } from '../../platforms/ports/ports.ts'
import { callOf, machineGone } from '../perform/look-at-machine.ts'
import type { Performance, PerformDone, PerformWait } from '../perform/performer.ts'
import { doWork } from '../perform/platform-work.ts'
import { retryUntilDeadline } from '../perform/retry-until-deadline.ts'
import { undoerOf, undoTaskShape } from '../perform/undo-task.ts'

/** Effects of this kind are snapshots that an operation makes. */
export const operationSnapshotKind = 'operation-snapshot'

const undoSchema = undoTaskShape.extend({ snapshot: z.string() })

/** The name that a person gave, or one with the time of the request. */
const nameOf = ({ params, createdAt }: OperationRow): string =>
  readParams('snapshot', params).name ?? `drover ${createdAt.toISOString()}`

const perform = async (performance: Performance): Promise<PerformWait | PerformDone> => {
  const { operation, machine, target, platform } = performance
  const machines = portOf(platform, 'machines')
  const { memory, quiesce } = readParams('snapshot', operation.params)
  const snapshotName = nameOf(operation)
  const work = await doWork(performance, {
    part: 'snapshot',
    tasks: machines,
    verb: 'snapshot',
    undo: {
      kind: operationSnapshotKind,
      with: { target: target.name, ref: machine.ref, machine_id: machine.id, snapshot: snapshotName },
    },
    begin: (call) => machines.createSnapshot(call, machine.ref, { snapshotName, memory, quiesce }),
    // A snapshot with that name may be foreign: only the task, or the mark that the platform keeps of it, tells.
    made: async () => ({ found: false }),
    doing: `Snapshot "${snapshotName}" of ${machine.name} is being made.`,
    pastReturn: false,
    span: [0, 99],
  })
  if (work.type === 'wait') return work
  const there = await machines.snapshots(callOf(performance, 'look'), machine.ref)
  if (!there.found) throw machineGone(performance)
  const made = there.value.find(({ ref, name }) => ref === work.result && name === snapshotName)
  if (!made) throw lost(machine, snapshotName)
  return { type: 'done', result: { snapshot: made.ref, name: made.name }, machine: {} }
}

export const snapshotMachine = retryUntilDeadline(['snapshots'], perform)

/** Removes the snapshot of this operation: by the ref from its own task, never by name alone. */
export const undoOperationSnapshot = undoerOf(undoSchema, async ({ effect, undo, platform, call }) => {
  const machines = portOf(platform, 'machines')
  const own = await resultOfTask(machines, call, { effect, machine: undo.ref, verb: 'snapshot' })
  if (!own.found) return
  const ref = own.value
  const there = await again(call, () => machines.snapshots(call, undo.ref))
  if (!there.found || (ref !== null && !there.value.some((one) => one.ref === ref))) return
  const made = there.value.find((one) => one.ref === ref)
  if (made?.name !== undo.snapshot) throw notProven(undo, made)
  try {
    const removal = await again(call, () => machines.removeSnapshot(call, undo.ref, made.ref))
    await removal.wait(call)
  } catch (error) {
    // Already gone.
    if (!isAbsent(error)) throw error
  }
})

const lost = ({ name }: MachineRow, snapshot: string): DroverError =>
  new DroverError({
    code: 'snapshot-lost',
    class: 'conflict',
    message: `Snapshot "${snapshot}" of ${name} was made, and is not there.`,
    remedy: 'Look who else removes or renames snapshots of the machine, then ask again.',
  })

const notProven = (
  { ref, snapshot }: z.infer<typeof undoSchema>,
  seen: SnapshotRef | undefined,
): DroverError =>
  new DroverError({
    code: 'snapshot-not-ours',
    class: 'conflict',
    message: seen
      ? `Snapshot ${seen.ref} of ${ref} is called "${seen.name}", not "${snapshot}": whether it is ours cannot be told, so it stays.`
      : `Snapshot "${snapshot}" of ${ref} was made, and which one it is cannot be told, so it stays.`,
    remedy: 'Look at the snapshots there, remove what nobody needs, then waive this effect.',
    detail: { machine: ref, snapshot: seen?.ref ?? snapshot },
  })
