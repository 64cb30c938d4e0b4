import { many } from '../../text/sentence.ts'
import { findKind } from '../kinds/registry.ts'
import type { JobState } from '../state.ts'

/** Why a job does not run now, for people. Law: every wait has a reason, a since and an end. */
export interface Wait {
  readonly reason: string
  readonly detail: string
  readonly since: Date
  /** When the wait ends by itself at the latest; null: only the event in `endsWhen` ends it. */
  readonly until: Date | null
  readonly endsWhen: string
}

export interface WaitingFacts {
  readonly state: JobState
  readonly kind: string
  readonly payloadVersion: number
  readonly createdAt: Date
  readonly runAfter: Date
  readonly notDue: boolean
  readonly deadline: Date | null
  readonly waitReason: string | null
  readonly waitDetail: string | null
  readonly waitSince: Date | null
  readonly waitUntil: Date | null
  readonly waitSignal: string | null
  /** The error of its last try. */
  readonly error: { readonly message?: unknown } | null
}

export interface TokenFacts {
  readonly token: string
  readonly holders: readonly string[]
  readonly holds: number
  readonly waiters: number
  readonly position: number
}

export interface FleetFacts {
  readonly pauses: readonly {
    readonly scope: 'kind' | 'lane'
    readonly name: string
    readonly reason: string
    readonly pausedBy: string
    readonly pausedAt: Date
  }[]
  readonly serving: number
  readonly able: number
  readonly slots: number
  readonly running: number
  readonly inLane: number
}

/** The stored wait of a `waiting` job, with its place in the queues of its tokens. Pure. */
export const explainWait = (job: WaitingFacts, tokens: readonly TokenFacts[]): Wait => {
  const since = job.waitSince ?? job.createdAt
  if (job.waitReason === 'token') {
    const lines = tokens.map(
      (t) => `${t.token}: held by ${t.holds}, place ${t.position} of ${t.waiters} in the line`,
    )
    return {
      reason: 'token',
      detail: lines.length > 0 ? lines.join('; ') : (job.waitDetail ?? 'waits for an admission token'),
      since,
      until: job.waitUntil,
      endsWhen: 'A holder ends, or the limit is raised (PUT /v1/limits/{name}).',
    }
  }
  if (job.waitReason === 'room')
    return {
      reason: 'room',
      detail: job.waitDetail ?? '',
      since,
      until: job.waitUntil,
      endsWhen:
        'One of those ends its turn, or there are more slots (a worker starts, or its setting is raised).',
    }
  return {
    reason: job.waitReason ?? 'unknown',
    detail: job.waitDetail ?? '',
    since,
    until: job.waitUntil,
    endsWhen:
      job.waitSignal === null ? 'The time comes.' : `The signal ${job.waitSignal} comes, or the time.`,
  }
}

/** What keeps a `ready` job from starting: the first cause that a person can do something about. Pure. */
export const explainReady = (job: WaitingFacts, fleet: FleetFacts): Wait => {
  const dueSince = new Date(Math.max(job.runAfter.getTime(), job.createdAt.getTime()))
  const [pause] = fleet.pauses
  if (pause)
    return {
      reason: `${pause.scope}-paused`,
      detail: `${pause.pausedBy} paused the ${pause.scope} ${pause.name}: ${pause.reason}`,
      since: pause.pausedAt,
      until: job.deadline,
      endsWhen: `The ${pause.scope} is resumed (DELETE /v1/pauses/${pause.scope}/${encodeURIComponent(pause.name)}).`,
    }
  if (job.notDue)
    return {
      reason: 'not-due',
      detail:
        typeof job.error?.message === 'string'
          ? `Its last try failed: ${job.error.message} It is tried again in its time.`
          : 'It is not to start before its time.',
      since: job.createdAt,
      until: job.runAfter,
      endsWhen: 'The time comes.',
    }
  if (fleet.able === 0)
    return {
      reason: fleet.serving === 0 ? 'no-worker' : 'workers-too-old',
      detail:
        fleet.serving === 0
          ? `No living worker runs ${job.kind} jobs.`
          : `${many(fleet.serving, 'worker runs', 'workers run')} ${job.kind} jobs, but none knows payload version ${job.payloadVersion}.`,
      since: dueSince,
      until: job.deadline,
      endsWhen: fleet.serving === 0 ? 'A worker starts.' : 'A worker of the newer version starts.',
    }
  return {
    reason: 'worker-slot',
    detail: `${many(fleet.running, `${job.kind} job runs`, `${job.kind} jobs run`)} on ${many(fleet.able, 'worker')} with ${many(fleet.slots, 'slot')} in all.${share(job, fleet)}`,
    since: dueSince,
    until: job.deadline,
    endsWhen: 'A slot is free and its turn has come: priority first, then a fair share for each lane.',
  }
}

const share = ({ kind }: WaitingFacts, { inLane }: FleetFacts): string =>
  findKind(kind)?.lanesLeaveRoom ? ` ${inLane} are of its lane, which leaves as many to others.` : ''

/** The latest end of a wait without a time of its own. */
export interface WaitBound {
  readonly at: Date
  readonly says: string
}

/** A wait for room, for a worker or for the end of a pause ends at the latest with the purpose of its job. */
export const boundWait = (wait: Wait, bound: WaitBound | null): Wait =>
  wait.until !== null || bound === null
    ? wait
    : { ...wait, until: bound.at, endsWhen: `${wait.endsWhen} ${bound.says}` }
