import type { StartRefusal, StartRefused } from '../../inventory/may-start.ts'
import { type Applicable, allowsPolicy, isApplicable, type RunPolicy } from '../kinds/applicability.ts'
import type { OperationCause, OperationKind, OperationVariant } from '../kinds/kinds.ts'
import { supersedes } from '../kinds/matrix.ts'
import {
  type AtWork,
  type MachinePhase,
  type MachineSeen,
  phaseAfterSupersede,
  phaseOf,
} from '../kinds/phase.ts'

/** What happens to a requested operation when another operation of the machine has not ended. */
export const conflictRules = ['supersede', 'queue', 'reject'] as const
export type ConflictRule = (typeof conflictRules)[number]

export interface ActiveOperation extends AtWork {
  readonly id: string
  /** It can no longer be undone; it can only run to its end. */
  readonly pastReturn: boolean
}

export interface AdmissionFacts {
  readonly seen: MachineSeen
  readonly policy: RunPolicy
  /** The operation that holds the machine. */
  readonly active: ActiveOperation | null
  /** The last operation, when it has ended but a job or debt of it can still change the machine. */
  readonly stillActive: AtWork | null
  /** The queued operations, in order. */
  readonly queued: readonly string[]
  /** A running migration onto this machine; committed: the power-off of its source was requested. */
  readonly migrating: { readonly entryId: string; readonly committed: boolean } | null
  /** The migration that this machine is the source of; over: the VM runs on its target, and this machine stays off. */
  readonly source: { readonly entryId: string; readonly over: boolean } | null
  /** Set when the machine must not be started because the same VM runs, or may run, elsewhere. Null: no start, or a safe start. */
  readonly startRefused: StartRefused | null
  /** The requested host does not exist on the target. */
  readonly hostUnknown: boolean
}

export interface AdmissionAsk extends OperationVariant {
  readonly onConflict: ConflictRule
  /** An operation that a run policy asks for is not checked against that policy. */
  readonly cause?: OperationCause
}

export type Refusal =
  | Exclude<Applicable, 'yes'>
  | 'machine-gone'
  | 'blocked'
  | 'past-return'
  | 'queue-full'
  | 'host-unknown'
  | 'in-migration'
  | StartRefusal

export type Admission =
  | {
      readonly admitted: true
      readonly state: 'pending' | 'queued'
      readonly supersedes: string | null
      /** The migration that is cancelled first. */
      readonly cancelsEntry: string | null
      /** How many operations are before it. */
      readonly before: number
    }
  | {
      readonly admitted: false
      readonly reason: Refusal
      /** The operation or entry that blocks it. */
      readonly blocker: string | null
    }

/** At most 10 queued operations per machine: nobody keeps track of more. */
export const queueMost = 10

/**
 * Decides whether an operation is admitted, and which operation it supersedes. An operation that could not run afterwards
 * supersedes nothing: the current operation would be cancelled for no gain.
 */
export const decideAdmission = (facts: AdmissionFacts, asked: AdmissionAsk): Admission => {
  const { active, queued, migrating, source } = facts
  if (facts.hostUnknown) return refuse('host-unknown')
  const givesUp = migrating?.committed === true && asked.force && asked.kind === 'stop'
  if (migrating && !givesUp) return refuse('in-migration', migrating.entryId)
  if (source) {
    const why = whyNotAtSource(asked.kind, source)
    if (why !== undefined) return refuse(why, source.entryId)
  }
  if (facts.startRefused) return refuse(facts.startRefused.code)
  const cancelsEntry = migrating?.entryId ?? null
  const policy = asked.cause === 'policy' ? 'manual' : facts.policy
  if (!active && queued.length === 0) {
    const applicable = isApplicable(asked, { policy, phase: phaseToJudge(facts) })
    if (applicable !== 'yes') return refuse(applicable)
    return { admitted: true, state: 'pending', supersedes: null, cancelsEntry, before: 0 }
  }
  const blocker = active?.id ?? queued[0] ?? null
  if (asked.onConflict === 'queue') {
    // The state of the machine at its turn is unknown. The run policy is known, so that refusal comes at once.
    if (!allowsPolicy(asked.kind, policy)) return refuse('not-for-run-policy')
    if (queued.length >= queueMost) return refuse('queue-full', blocker)
    const before = queued.length + (active ? 1 : 0)
    return { admitted: true, state: 'queued', supersedes: null, cancelsEntry, before }
  }
  if (asked.onConflict === 'reject' || !active || !supersedes(asked, active))
    return refuse('blocked', blocker)
  if (active.pastReturn) return refuse('past-return', active.id)
  const applicable = isApplicable(asked, { policy, phase: phaseToJudge(facts) })
  if (applicable !== 'yes') return refuse(applicable)
  return { admitted: true, state: 'pending', supersedes: active.id, cancelsEntry, before: 0 }
}

/** Why a queued operation may not start when its turn comes: the run policy may have changed since. */
export const whyNotPromoted = (
  { kind, cause }: Pick<AdmissionAsk, 'kind' | 'cause'>,
  policy: RunPolicy,
): 'not-for-run-policy' | undefined =>
  cause === 'policy' || allowsPolicy(kind, policy) ? undefined : 'not-for-run-policy'

/** Kinds that can start a machine. A restore is among them: its snapshot may hold the memory of a running machine. */
export const startingKinds: ReadonlySet<OperationKind> = new Set(['start', 'restart', 'wake', 'restore'])

/**
 * Why an operation is refused on the source of a migration. During the migration, the migration alone controls the
 * machine. Afterwards the copy runs, and the same VM must not run twice.
 */
const whyNotAtSource = (
  kind: OperationKind,
  { over }: { readonly over: boolean },
): 'in-migration' | 'migrated' | undefined => {
  if (!over) return 'in-migration'
  return startingKinds.has(kind) ? 'migrated' : undefined
}

/** The same check when a queued operation gets its turn: operations that started before may finish, but none starts the machine. */
export const whyNotStarted = (
  kind: OperationKind,
  source: AdmissionFacts['source'],
): 'in-migration' | 'migrated' | undefined =>
  source && startingKinds.has(kind) ? whyNotAtSource(kind, source) : undefined

/** The phase of the machine when the requested operation starts: now, or after the operation before it has settled. */
export const phaseToJudge = ({
  active,
  stillActive,
  seen,
}: Pick<AdmissionFacts, 'active' | 'stillActive' | 'seen'>): MachinePhase => {
  const before = active ?? stillActive
  return before ? phaseAfterSupersede(seen, before) : phaseOf(seen, null)
}

const refuse = (reason: Refusal, blocker: string | null = null): Admission => ({
  admitted: false,
  reason,
  blocker,
})
