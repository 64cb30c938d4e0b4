import { v7 as uuidv7 } from 'uuid'
import type { Tx } from '../../../db/client.ts'
import { findSourceEntry } from '../../../db/queries/entries/find-source-entry.ts'
import { hurryJob } from '../../../db/queries/jobs/hurry-job.ts'
import { findHoldingEntry, lockMachine } from '../../../db/queries/machines/machine-rows.ts'
import { isHostUnknown } from '../../../db/queries/operations/is-host-unknown.ts'
import { stopResumptions } from '../../../db/queries/operations/operation-followups.ts'
import {
  findOpenOperations,
  insertOperation,
  type NewOperation,
  type OpenOperation,
  settleOperations,
} from '../../../db/queries/operations/operation-rows.ts'
import type { MachineRow, OperationRow } from '../../../db/schema/operation.ts'
import { crashPoint } from '../../crash-point.ts'
import {
  type Admission,
  type AdmissionFacts,
  type ConflictRule,
  decideAdmission,
  startingKinds,
} from '../../domain/operation/admission/admit.ts'
import { type OperationCause, type OperationKind, variantText } from '../../domain/operation/kinds/kinds.ts'
import type { MachineSeen } from '../../domain/operation/kinds/phase.ts'
import { operationReasons } from '../../domain/operation/kinds/reasons.ts'
import { isActive } from '../../domain/operation/kinds/state.ts'
import { isStillActive } from '../../domain/operation/kinds/still-active.ts'
import { startOfMachine, whyStartRefused } from '../../inventory/power/start-guard.ts'
import { type CancelOutcome, cancelInTransaction } from '../../ledger/jobs/cancel.ts'
import { actOnEntry } from '../../migration/entry/entry-verbs.ts'
import { moveToEnd } from './operation-followups.ts'
import { machineGone, refused } from './refuse-operation.ts'
import { priorityOf, sendOperation } from './send-operation.ts'

export interface OperationAsk {
  readonly machineId: string
  readonly kind: OperationKind
  readonly force: boolean
  readonly params: Readonly<Record<string, unknown>>
  readonly onConflict: ConflictRule
  readonly cause: OperationCause
  readonly deadlineSeconds: number
  /** The wait timeout: how long the operation may wait for its turn. */
  readonly waitSeconds: number
  readonly by: string
  /** Of a resumed evacuation: the operation that it continues. */
  readonly resumes?: { readonly id: string; readonly leaves: string | null; readonly failures: number }
}

export interface AskedOperation {
  readonly operation: OperationRow
  readonly superseded: OperationRow | null
  /** The decision, as a dry run shows it. */
  readonly admission: Extract<Admission, { admitted: true }>
  /** Cancelled jobs, to be announced to workers after the commit. */
  readonly canceled: readonly CancelOutcome[]
}

/**
 * Admits an operation, supersedes the current operation where the table allows it, and enqueues the job. All of it runs in
 * the caller's transaction and under the machine's lock, so that every one of several concurrent requests gets a
 * definite answer.
 */
export const askOperation = async (tx: Tx, ask: OperationAsk): Promise<AskedOperation> => {
  const machine = await lockMachine(tx, ask.machineId)
  if (!machine || machine.goneAt !== null) throw machineGone(ask, machine)
  const open = await findOpenOperations(tx, machine.id)
  const facts = await factsOf(tx, machine, { open, ask })
  const admission = decideAdmission(facts, ask)
  if (!admission.admitted) throw refused({ machine, ask, refusal: admission, open, facts })
  const id = uuidv7()
  const canceled: CancelOutcome[] = []
  if (admission.cancelsEntry !== null) {
    const { canceled: outcome } = await actOnEntry(tx, {
      id: admission.cancelsEntry,
      verb: 'cancel',
      force: true,
      cleanup: false,
      by: ask.by,
    })
    if (outcome) canceled.push(outcome)
  }
  const older = open.find((one) => one.id === admission.supersedes)
  const superseded = older ? await giveWay(tx, older, { id, ask, canceled }) : null
  if (superseded) crashPoint('operation-gives-way')
  // This operation replaces every earlier resumption of the evacuation.
  if (ask.cause === 'evacuation') await stopResumptions(tx, machine.id)
  const made = await insertOperation(tx, asAdmitted(ask, { id, machine, admission }))
  const operation = admission.state === 'queued' ? made : await sendOperation(tx, made)
  crashPoint('operation-asked')
  return { operation, superseded, admission, canceled }
}

interface Admitted {
  readonly id: string
  readonly machine: MachineRow
  readonly admission: AskedOperation['admission']
}

const asAdmitted = (ask: OperationAsk, { id, machine, admission }: Admitted): NewOperation => {
  const { state, before } = admission
  const evacuates = ask.cause === 'evacuation'
  return {
    id,
    machineId: machine.id,
    kind: ask.kind,
    force: ask.force,
    params: { ...ask.params },
    onConflict: ask.onConflict,
    cause: ask.cause,
    standsDown: evacuates,
    resumes: ask.resumes?.id ?? null,
    leaves: evacuates ? (ask.resumes?.leaves ?? machine.host) : null,
    failures: ask.resumes?.failures ?? 0,
    deadlineSeconds: ask.deadlineSeconds,
    waitSeconds: ask.waitSeconds,
    createdBy: ask.by,
    state,
    reason: state === 'queued' ? 'queued' : 'admitted',
    message:
      state === 'queued'
        ? `${before} ${before === 1 ? 'operation is' : 'operations are'} before it.`
        : `${operationReasons.admitted.title}.`,
  }
}

const factsOf = async (
  tx: Tx,
  machine: MachineRow,
  { open, ask }: { readonly open: readonly OpenOperation[]; readonly ask: OperationAsk },
): Promise<AdmissionFacts> => {
  const { host } = ask.params
  const active = open.find((one) => isActive(one.state))
  return {
    seen: seenOf(machine),
    policy: machine.runPolicy,
    active: active
      ? {
          id: active.id,
          kind: active.kind,
          force: active.force,
          acted: active.acted,
          pastReturn: active.pastReturn,
        }
      : null,
    stillActive: open.findLast(mayStillAct) ?? null,
    queued: open.filter(({ state }) => state === 'queued').map(({ id }) => id),
    migrating: await findHoldingEntry(tx, machine),
    source: await findSourceEntry(tx, machine),
    startRefused: startingKinds.has(ask.kind)
      ? ((await whyStartRefused(tx, startOfMachine(machine, null))) ?? null)
      : null,
    hostUnknown: typeof host === 'string' && (await isHostUnknown(tx, { siteId: machine.targetId, host })),
  }
}

/** The operation ended early, and its job still runs or has left a debt. */
const mayStillAct = (one: OpenOperation): boolean =>
  one.acted && one.state !== 'completed' && isStillActive(one)

const seenOf = ({ power, savedState }: MachineRow): MachineSeen => ({
  power,
  hibernated: savedState !== null,
})

/** Ends the current operation now and cancels its job; the successor waits until that job has ended. */
const giveWay = async (
  tx: Tx,
  older: OpenOperation,
  by: { readonly id: string; readonly ask: OperationAsk; readonly canceled: CancelOutcome[] },
): Promise<OperationRow | null> => {
  const newer = variantText(by.ask)
  const moved = await moveToEnd(tx, {
    id: older.id,
    event: 'supersede',
    reason: 'superseded',
    message: `${newer} ${by.id} took its place.`,
    actor: by.ask.by,
    supersededBy: by.id,
  })
  if (older.jobId === null) {
    await settleOperations(tx, [older.id])
    return moved ?? null
  }
  const reason = `Superseded by ${newer} ${by.id}.`
  const outcome = await cancelInTransaction(tx, older.jobId, { by: by.ask.by, reason })
  if (outcome.outcome === 'requested') {
    // The successor waits for this undo, so the undo gets the priority of the successor.
    await hurryJob(tx, older.jobId, priorityOf(by.ask))
    by.canceled.push(outcome)
  } else await settleOperations(tx, [older.id])
  return moved ?? null
}
