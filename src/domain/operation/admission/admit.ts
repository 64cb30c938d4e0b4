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

/** What becomes of an operation that meets one that has not ended. */
export const conflictRules = ['supersede', 'queue', 'reject'] as const
export type ConflictRule = (typeof conflictRules)[number]

export interface ActiveOperation extends AtWork {
  readonly id: string
  /** It can no longer be taken back, only ended. */
  readonly pastReturn: boolean
}

export interface AdmissionFacts {
  readonly seen: MachineSeen
  readonly policy: RunPolicy
  /** The one that is at the machine. */
  readonly active: ActiveOperation | null
  /** Nobody is at it any more, but the last one has not let go: what that began may still come about. */
  readonly stillActive: AtWork | null
  /** Behind it, in order. */
  readonly queued: readonly string[]
  /** A migration that has the machine and is not over; committed: it has asked the source to switch off. */
  readonly migrating: { readonly entryId: string; readonly committed: boolean } | null
  /** The migration that it is the source of; over: it runs elsewhere by now, and here it stays off. */
  readonly source: { readonly entryId: string; readonly over: boolean } | null
  /** Why it may not be started: the same VM runs, or may run, elsewhere. Null: it may, or nothing of this starts it. */
  readonly startRefused: StartRefused | null
  /** It is to go to a host that its target does not have. */
  readonly hostUnknown: boolean
}

export interface AdmissionAsk extends OperationVariant {
  readonly onConflict: ConflictRule
  /** A run policy's own wish is not held against that policy. */
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
      /** Given up first: its migration. */
      readonly cancelsEntry: string | null
      /** How many are before it. */
      readonly before: number
    }
  | {
      readonly admitted: false
      readonly reason: Refusal
      /** Who is in the way. */
      readonly blocker: string | null
    }

/** More would only be a heap of wishes that nobody remembers. */
export const queueMost = 10

/**
 * Whether an operation may be made, and what it takes the place of. Nothing is superseded for one that could not be
 * done then: that would destroy the older for nothing.
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
    // What the machine will be doing by then nobody knows; who decides about its power is known, and said at once.
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

/** Why one that was queued may not begin, now that its turn has come: its machine's policy may be another by now. */
export const whyNotPromoted = (
  { kind, cause }: Pick<AdmissionAsk, 'kind' | 'cause'>,
  policy: RunPolicy,
): 'not-for-run-policy' | undefined =>
  cause === 'policy' || allowsPolicy(kind, policy) ? undefined : 'not-for-run-policy'

/** What has a machine run that is off; a snapshot that is restored may bring the memory of a running machine with it. */
export const startingKinds: ReadonlySet<OperationKind> = new Set(['start', 'restart', 'wake', 'restore'])

/**
 * Why it may not be done to the source of a migration. While that is under way the machine is its business; once it is
 * over the copy runs, and two must not.
 */
const whyNotAtSource = (
  kind: OperationKind,
  { over }: { readonly over: boolean },
): 'in-migration' | 'migrated' | undefined => {
  if (!over) return 'in-migration'
  return startingKinds.has(kind) ? 'migrated' : undefined
}

/** The same when its turn comes: what was begun before may come to its end, but nothing starts the machine. */
export const whyNotStarted = (
  kind: OperationKind,
  source: AdmissionFacts['source'],
): 'in-migration' | 'migrated' | undefined =>
  source && startingKinds.has(kind) ? whyNotAtSource(kind, source) : undefined

/** What the machine would be doing when the one asked for has its turn: now, or once who is before it has let go. */
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
