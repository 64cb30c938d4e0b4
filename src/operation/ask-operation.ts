import { v7 as uuidv7 } from 'uuid'
import type { Tx } from '../../db/client.ts'
import { stopComingBack } from '../../db/queries/after-end.ts'
import { findHoldingEntry, lockMachine } from '../../db/queries/machine-rows.ts'
import {
  findOpenOperations,
  insertOperation,
  type OpenOperation,
  settleOperations,
} from '../../db/queries/operation-rows.ts'
import type { MachineRow, OperationRow } from '../../db/schema/operation.ts'
import {
  type Admission,
  type AdmissionFacts,
  type ConflictRule,
  decideAdmission,
  phaseToJudge,
  type Refusal,
} from '../domain/operation/admit.ts'
import type { RunPolicy } from '../domain/operation/applicability.ts'
import { type OperationKind, variantText } from '../domain/operation/kinds.ts'
import type { MachineSeen } from '../domain/operation/phase.ts'
import { operationReasons } from '../domain/operation/reasons.ts'
import { activeStates, isActive, type OperationState } from '../domain/operation/state.ts'
import { DroverError } from '../errors.ts'
import { type CancelOutcome, cancelInTransaction } from '../ledger/cancel.ts'
import { crashPoint } from '../ledger/crash-point.ts'
import { actOnEntry } from '../migration/entry-verbs.ts'
import { moveToEnd } from './after-end.ts'
import { sendOperation } from './send-operation.ts'

export interface OperationAsk {
  readonly machineId: string
  readonly kind: OperationKind
  readonly force: boolean
  readonly params: Readonly<Record<string, unknown>>
  readonly onConflict: ConflictRule
  readonly cause: 'person' | 'evacuation' | 'policy'
  readonly deadlineSeconds: number
  /** How long it may wait for its turn. */
  readonly waitSeconds: number
  readonly by: string
  /** Of an evacuation: the operation that it comes back for. */
  readonly resumes?: { readonly id: string; readonly leaves: string | null; readonly failures: number }
}

export interface AskedOperation {
  readonly operation: OperationRow
  readonly superseded: OperationRow | null
  /** What was decided, as a dry run tells it. */
  readonly admission: Extract<Admission, { admitted: true }>
  /** To be told to workers after the commit. */
  readonly canceled: readonly CancelOutcome[]
}

/** What `detail` of a refusal holds, for who answers it, counts it or writes it down. */
export interface RefusalDetail extends Record<string, unknown> {
  readonly machine_id: string
  readonly machine: string
  readonly kind: OperationKind
  readonly force: boolean
  /** The operation or the entry that is in the way. */
  readonly blocker: string | null
}

/**
 * Admits an operation, lets the older one give way, and sends the new one off: all in the caller's transaction and
 * under the machine's lock, so that of any number of people who ask at once each has a definite answer.
 */
export const askOperation = async (tx: Tx, ask: OperationAsk): Promise<AskedOperation> => {
  const machine = await lockMachine(tx, ask.machineId)
  if (!machine || machine.goneAt !== null) throw machineGone(ask, machine)
  const open = await findOpenOperations(tx, machine.id)
  const facts = await factsOf(tx, machine, open)
  const admission = decideAdmission(facts, ask)
  if (!admission.admitted) throw refused({ machine, ask, refusal: admission, open, facts })
  const id = uuidv7()
  const canceled: CancelOutcome[] = []
  if (admission.cancelsEntry !== null) {
    const { canceled: outcome } = await actOnEntry(tx, {
      ...{ id: admission.cancelsEntry, verb: 'cancel', force: true, cleanup: false, by: ask.by },
    })
    if (outcome) canceled.push(outcome)
  }
  const older = open.find((one) => one.id === admission.supersedes)
  const superseded = older ? await giveWay(tx, older, { id, ask, canceled }) : null
  if (superseded) crashPoint('operation-gives-way')
  const queued = admission.state === 'queued'
  const evacuates = ask.cause === 'evacuation'
  // This one is what the evacuation wants of the machine from now on.
  if (evacuates) await stopComingBack(tx, machine.id)
  const made = await insertOperation(tx, {
    ...{ id, machineId: machine.id, kind: ask.kind, force: ask.force, params: { ...ask.params } },
    ...{
      onConflict: ask.onConflict,
      cause: ask.cause,
      standsDown: evacuates,
      resumes: ask.resumes?.id ?? null,
      leaves: evacuates ? (ask.resumes?.leaves ?? machine.host) : null,
      failures: ask.resumes?.failures ?? 0,
    },
    ...{ deadlineSeconds: ask.deadlineSeconds, waitSeconds: ask.waitSeconds, createdBy: ask.by },
    state: admission.state,
    reason: queued ? 'queued' : 'admitted',
    message: queued
      ? `${admission.before} ${admission.before === 1 ? 'operation is' : 'operations are'} before it.`
      : `${operationReasons.admitted.title}.`,
  })
  const operation = queued ? made : await sendOperation(tx, made)
  crashPoint('operation-asked')
  return { operation, superseded, admission, canceled }
}

const factsOf = async (
  tx: Tx,
  machine: MachineRow,
  open: readonly OpenOperation[],
): Promise<AdmissionFacts> => {
  const active = open.find((one) => isActive(one.state as OperationState))
  return {
    seen: seenOf(machine),
    policy: machine.runPolicy as RunPolicy,
    active: active
      ? {
          ...{ id: active.id, kind: active.kind as OperationKind, force: active.force },
          ...{ acted: active.acted, pastReturn: active.pastReturn },
        }
      : null,
    queued: open.filter(({ state }) => state === 'queued').map(({ id }) => id),
    migrating: await findHoldingEntry(tx, machine),
  }
}

const seenOf = ({ power, savedState }: MachineRow): MachineSeen => ({
  power: power as MachineSeen['power'],
  hibernated: savedState !== null,
})

/** The older ends here and now; what it has begun is called off, and the newer waits for that. */
const giveWay = async (
  tx: Tx,
  older: OpenOperation,
  by: { readonly id: string; readonly ask: OperationAsk; readonly canceled: CancelOutcome[] },
): Promise<OperationRow | null> => {
  const newer = variantText(by.ask)
  const moved = await moveToEnd(tx, {
    id: older.id,
    from: activeStates,
    to: 'superseded',
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
  if (outcome.outcome === 'requested') by.canceled.push(outcome)
  else await settleOperations(tx, [older.id])
  return moved ?? null
}

const machineGone = (ask: OperationAsk, machine: MachineRow | undefined): DroverError =>
  new DroverError({
    code: 'machine-gone',
    class: 'conflict',
    message: machine
      ? `${variantText(ask)} of ${machine.name}: it is gone from its target.`
      : `There is no machine ${ask.machineId}.`,
    remedy: operationReasons['machine-gone'].remedy,
    field: 'machine',
    detail: {
      ...{ machine_id: ask.machineId, machine: machine?.name ?? ask.machineId },
      ...{ kind: ask.kind, force: ask.force, blocker: null },
    } satisfies RefusalDetail,
  })

const fieldOf: Partial<Record<Refusal, string>> = { 'not-for-run-policy': 'kind', 'not-for-phase': 'kind' }

interface Refused {
  readonly machine: MachineRow
  readonly ask: OperationAsk
  readonly refusal: Extract<Admission, { admitted: false }>
  readonly open: readonly OpenOperation[]
  readonly facts: AdmissionFacts
}

const refused = ({ machine, ask, refusal, open, facts }: Refused): DroverError => {
  const { reason, blocker } = refusal
  const text = operationReasons[reason]
  const field = fieldOf[reason]
  const detail: RefusalDetail = {
    ...{ machine_id: machine.id, machine: machine.name },
    ...{ kind: ask.kind, force: ask.force, blocker },
  }
  return new DroverError({
    code: reason,
    class: 'conflict',
    message: `${variantText(ask)} of ${machine.name}: ${text.title}.${whyRefused({ refusal, open, facts })}`,
    remedy: text.remedy,
    detail,
    ...(field === undefined ? {} : { field }),
  })
}

const whyRefused = ({ refusal, open, facts }: Pick<Refused, 'refusal' | 'open' | 'facts'>): string => {
  const { reason, blocker } = refusal
  if (reason === 'not-for-phase') return ` It is ${phaseToJudge(facts)}.`
  if (reason === 'not-for-run-policy') return ` Its run policy is ${facts.policy}.`
  const other = open.find(({ id }) => id === blocker)
  if (other)
    return ` ${variantText({ kind: other.kind as OperationKind, force: other.force })} ${other.id} is ${other.state}.`
  return blocker === null ? '' : ` See ${blocker}.`
}
