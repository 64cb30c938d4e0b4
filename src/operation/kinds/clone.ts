import { v7 as uuidv7 } from 'uuid'
import { z } from 'zod'
import { insertClonedMachine } from '../../../db/queries/machines/insert-cloned-machine.ts'
import { operationCloneKind } from '../../domain/operation/admission/non-blocking-effects.ts'
import { readParams } from '../../domain/operation/kinds/params.ts'
import type { OperationReason } from '../../domain/operation/kinds/reasons.ts'
import { DroverError } from '../../errors.ts'
import { resultOfTask } from '../../ledger/ended-task.ts'
import { installationId } from '../../ledger/installation.ts'
import { actorOf, type JobCall } from '../../ledger/job.ts'
import { removeOwned } from '../../migration/target/target-machine.ts'
import { again } from '../../platforms/ports/bounded-wait.ts'
import type { Call } from '../../platforms/ports/call.ts'
import { PlatformError } from '../../platforms/ports/platform-error.ts'
import { type Platform, portOf } from '../../platforms/ports/ports.ts'
import { callOf } from '../perform/look-at-machine.ts'
import { underMachineLock } from '../perform/machine-lock.ts'
import type { Performance, PerformDone, PerformWait } from '../perform/performer.ts'
import { doWork } from '../perform/platform-work.ts'
import { retryUntilDeadline } from '../perform/retry-until-deadline.ts'
import { undoerOf } from '../perform/undo-task.ts'

/** The tag that tells which operation made a machine. */
const operationTag = 'drover.operation'

const undoSchema = z.object({
  target: z.string(),
  ref: z.string(),
  owner: z.record(z.string(), z.string()),
})

const perform = async (performance: Performance): Promise<PerformWait | PerformDone> => {
  const { ctx, operation, machine, target, platform } = performance
  const machines = portOf(platform, 'machines')
  const { name: machineName, folder } = readParams('clone', operation.params)
  const owner = { [operationTag]: operation.id, 'drover.install': await installationId(ctx.db) }
  const work = await doWork(performance, {
    part: 'clone',
    tasks: machines,
    verb: 'clone',
    undo: { kind: operationCloneKind, with: { target: target.name, ref: machine.ref, owner } },
    begin: async (call) => {
      const beside = folder === '' ? await folderOf(performance, call) : folder
      return machines.clone(call, machine.ref, { machineName, folder: beside, owner })
    },
    made: async (call) => {
      const [ref] = await machines.findOwned(call, owner)
      return ref === undefined ? { found: false } : { found: true, value: ref }
    },
    doing: `"${machineName}" is being made as a copy of ${machine.name}.`,
    pastReturn: false,
    span: [0, 99],
  }).catch((error: unknown) => {
    if (error instanceof PlatformError && error.code === 'platform-name-taken')
      throw nameTaken(machineName, error)
    throw error
  })
  if (work.type === 'wait') return work
  return { type: 'done', result: await adopt(performance, work.result, owner), machine: {} }
}

export const cloneMachine = retryUntilDeadline(['clone', 'ownership-tags'], perform)

/** Where the machine itself is; a platform may have several places and no idea which one is meant. */
const folderOf = async ({ machine, platform }: Performance, call: Call): Promise<string> => {
  const found = await portOf(platform, 'inventory').instance(call, machine.ref)
  return found.found ? found.value.folder : ''
}

/** Makes the copy one of our machines, once it is proven to be there and to be the one that was made here. */
const adopt = async (
  performance: Performance,
  made: string | null,
  owner: Readonly<Record<string, string>>,
): Promise<Record<string, unknown>> => {
  const { ctx, machine, target, platform } = performance
  const call = callOf(performance, 'look')
  const ref = made ?? (await portOf(platform, 'machines').findOwned(call, owner))[0]
  const facts = ref === undefined ? undefined : await portOf(platform, 'inventory').instance(call, ref)
  if (ref === undefined || !facts?.found) throw lost(machine.name)
  const id = await underMachineLock(performance, (tx) =>
    insertClonedMachine(tx, {
      id: uuidv7(),
      targetId: target.id,
      target: target.name,
      actor: actorOf(ctx),
      clonedFrom: machine.id,
      facts: facts.value,
    }),
  )
  return { machine_id: id, machine_ref: ref, name: facts.value.name, power: facts.value.power_state }
}

/** Removes the copy that this operation has made and nobody uses: by its tag, never by its name. */
export const undoOperationClone = undoerOf(undoSchema, async ({ effect, undo, platform, call, confirm }) => {
  const machines = portOf(platform, 'machines')
  await resultOfTask(machines, call, { effect, machine: undo.ref, verb: 'clone' })
  for (const ref of await again(call, () => machines.findOwned(call, undo.owner))) {
    await requireOff(platform, call, ref)
    await removeOwned(platform, call, { ref, owner: undo.owner, confirm })
  }
})

/** A copy is off when it is made. Whoever has started one needs it. */
const requireOff = async (platform: Platform, call: JobCall, ref: string): Promise<void> => {
  const power = await again(call, () => portOf(platform, 'power').power(call, ref))
  if (!power.found || power.value.state === 'off') return
  throw new DroverError({
    code: 'clone-runs',
    class: 'conflict',
    message: `The copy ${ref} of an operation that was given up is ${power.value.state}: somebody uses it, so it stays.`,
    remedy: 'Stop it to have it removed, or waive this effect to keep it.',
    detail: { machine: ref },
  })
}

const nameTaken = (name: string, cause: PlatformError): DroverError =>
  new DroverError(
    {
      code: 'name-taken' satisfies OperationReason,
      class: 'conflict',
      message: `A machine called "${name}" is there already: ${cause.message}`,
      remedy: 'Ask again with another name or folder.',
      field: 'params.name',
    },
    { cause },
  )

const lost = (name: string): DroverError =>
  new DroverError({
    code: 'clone-lost',
    class: 'conflict',
    message: `The copy of ${name} was made, and is not there.`,
    remedy: 'Look who else removes machines on the target, then ask again.',
  })
