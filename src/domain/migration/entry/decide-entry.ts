import { utcText } from '../../text/utc-text.ts'
import { endsSoon } from '../schedule/top-up.ts'
import { decideIdle } from './decide-idle.ts'
import { hasEnded, isCommitted } from './entry.ts'
import {
  apply,
  type EntryDecision,
  type EntryFacts,
  type EntryJob,
  type Intent,
  lookMs,
  pausedUntil,
  type Reason,
  reason,
  rest,
  start,
  workingLookMs,
} from './entry-facts.ts'
import type { EntryEvent } from './entry-rule.ts'
import { applyEntryEvent } from './entry-table.ts'
import { guestShutdown, shutdownText } from './source-stop.ts'

export { type EntryDecision, type EntryFacts, type EntryJob, pauseMs } from './entry-facts.ts'

const blockedLookMs = 15_000

/** The next step of an entry. */
export const decideEntry = (facts: EntryFacts): EntryDecision => inTime(facts, decide(facts))

/** For every job in every state: a source that may be off is looked at no later than the end of its window. */
const inTime = (facts: EntryFacts, decision: EntryDecision): EntryDecision => {
  if (decision.do !== 'rest' && decision.do !== 'start') return decision
  const moments = momentsOf(facts, decision).filter((moment) => moment > facts.now)
  return { ...decision, lookAt: Math.min(decision.lookAt, ...moments) }
}

const momentsOf = (
  { now, place, job, window, windowEndsAt }: EntryFacts,
  decision: Extract<EntryDecision, { do: 'rest' | 'start' }>,
): number[] => {
  const never = Number.POSITIVE_INFINITY
  if (decision.do === 'start' && decision.event === 'cutover-begin')
    return [now + lookMs, (window.is === 'open' ? window.window?.endsAt : null) ?? never]
  if (isCommitted(place) || (job?.state === 'open' && job.kind === 'cutover-instance'))
    return [now + lookMs, windowEndsAt ?? never]
  const copies =
    decision.do === 'start' ? decision.job === 'import-instance' : job?.kind === 'import-instance'
  return copies ? [whenOpen(now, window)] : []
}

/** A copy that is queued or running when its window opens must not delay the cutover. */
const whenOpen = (now: number, window: EntryFacts['window']): number =>
  window.is === 'later' ? window.at : window.is === 'none' ? Number.POSITIVE_INFINITY : now + lookMs

const decide = (facts: EntryFacts): EntryDecision => {
  const { job, intent, place } = facts
  if (job?.state === 'open') return whileWorking(facts, job)
  if (intent) return byPerson(facts, intent)
  if (!job || job.state === 'succeeded') return unattended(facts, place)
  return job.kind === 'withdraw-entry' ? withdrawAgain(facts, job) : afterJob(facts, job)
}

/** Only a person moves it on. */
const isAtRest = ({ state }: EntryFacts['place']): boolean => hasEnded(state) || state === 'conflict'

/** The cause of its end, or the question to a person, is not replaced by reports of the withdrawal. */
const lasting = (facts: EntryFacts, why: Reason): Reason => (isAtRest(facts.place) ? facts.reason : why)

/** The platform it waits for is named before the reason: a job that keeps retrying names no platform itself. */
const waitsFor = ({ away = [] }: EntryFacts, why: Reason): Reason => {
  const [first] = away
  return first ? reason(first.code, away.map(({ message }) => message).join(' ')) : why
}

/** What its job waits for: a guest that takes time is named before the job. */
const jobWaitsFor = (facts: EntryFacts, why: Reason): Reason => {
  const shutdown = guestShutdown(facts.sourceStop, facts.place)
  return waitsFor(facts, shutdown ? reason('guest-shutting-down', shutdownText(shutdown)) : why)
}

/** No job runs for it, and nothing has just failed. */
const unattended = (facts: EntryFacts, place: EntryFacts['place']): EntryDecision => {
  if (isCommitted(place)) {
    if (facts.windowOver) return setBack(facts, 'window-ended', 'Its window is over.')
  } else if (facts.sourceStop && !facts.sourceNeedsPerson && place.state !== 'finished') {
    // Whatever led here: a source that we switched off does not stay off for an entry that does not need it off.
    return withdraw(facts, facts.tries, 'The source is switched on again.')
  }
  if (facts.batchState !== 'running' && !isAtRest(place))
    return rest(facts, reason('batch-stopped', 'Its batch is stopped; start it to go on.'))
  return onward(facts)
}

const whileWorking = (facts: EntryFacts, job: EntryJob): EntryDecision => {
  const { intent, place, windowOver, blocks } = facts
  if (job.kind === 'withdraw-entry')
    return rest(
      facts,
      lasting(facts, jobWaitsFor(facts, reason('cleaning-up', 'What it left outside is being put right.'))),
    )
  if (intent) {
    const answer = applyEntryEvent(place, intent.verb, { force: intent.force })
    return answer.allowed
      ? { do: 'call-off', reason: reason(intent.verb, answer.rule.says) }
      : tooLate(facts, intent)
  }
  // A cutover that has not begun also gives up its room in a closed window.
  if (windowOver && (isCommitted(place) || job.kind === 'cutover-instance'))
    return { do: 'call-off', reason: reason('window-ended', 'Its window is over.') }
  // It waited until nothing may begin any more. A cutover that has begun goes on to the end of its window.
  if (job.kind === 'cutover-instance' && isBeforeCutover(place) && facts.window.is !== 'open')
    return { do: 'call-off', reason: reason('window-closed', 'Nothing may begin in its window any more.') }
  const [block] = blocks
  if (block && (place.state === 'waiting' || place.state === 'blocked'))
    return { do: 'call-off', reason: block }
  if (job.limited) return underLimit(facts)
  if (keepsCutoverWaiting(facts, job))
    return {
      do: 'call-off',
      reason: reason('window-open', 'Its window is open: the cutover copies the rest.'),
    }
  const why =
    facts.batchState === 'running' ? jobWaitsFor(facts, reason('working', 'A job is at it.')) : stopped(facts)
  return rest(facts, why, facts.now + workingLookMs)
}

/**
 * A top-up whose window is open. A first copy is never cancelled for that: the cutover would have to copy everything.
 */
const keepsCutoverWaiting = ({ place, window, batchState }: EntryFacts, job: EntryJob): boolean =>
  job.kind === 'import-instance' &&
  place.stage === 'final' &&
  batchState === 'running' &&
  window.is === 'open' &&
  !(place.state === 'background-import' && endsSoon(job.remainingMs ?? null))

const isBeforeCutover = ({ state, stage }: EntryFacts['place']): boolean =>
  state === 'idle' && stage !== 'complete'

/** What a stopped or stopping job waits for. */
const stopped = ({ place, windowEndsAt, sourceStop }: EntryFacts): Reason => {
  const goesOn =
    'Its batch is stopped: its job lets go at its next safe point, and goes on when the batch is started.'
  if (!isCommitted(place)) return reason('batch-stopped', goesOn)
  const until = windowEndsAt === null ? '' : ` or its window ends, at ${utcText(windowEndsAt)}`
  const shutdown = guestShutdown(sourceStop, place)
  const source = shutdown ? `${shutdownText(shutdown)} It then stays off` : 'Its source stays off'
  return reason('batch-stopped', `${goesOn} ${source} until the batch goes on${until}.`)
}

/** The limit on first copies never holds back an entry whose window is open. */
const underLimit = (facts: EntryFacts): EntryDecision => {
  if (facts.window.is === 'open')
    return {
      do: 'let-off',
      reason: reason('working', 'Its window is open: the limit on first copies does not hold it back.'),
    }
  return rest(facts, reason('working', 'A job is at it.'), facts.now + workingLookMs)
}

const tooLate = ({ place }: EntryFacts, { verb }: Intent): EntryDecision => ({
  do: 'forget',
  reason: reason('too-late', `It is ${place.state} by now, so it was not done: ${verb}.`),
})

const byPerson = (facts: EntryFacts, intent: Intent): EntryDecision => {
  const { place, job } = facts
  // Force is needed only while work of the protected states would be lost.
  const force = intent.force || (job?.kind === 'cutover-instance' && job.state === 'canceled')
  const answer = applyEntryEvent(place, intent.verb, { force })
  if (!answer.allowed) return tooLate(facts, intent)
  const why = reason(intent.verb, answer.rule.says)
  const cleanup = intent.verb === 'cancel' && intent.cleanup
  if (job?.kind !== 'withdraw-entry' || job.state === 'succeeded')
    return apply(intent.verb, why, { force, cleanup })
  // A withdrawal that failed will hardly succeed a moment later, whoever asks.
  const until = pausedUntil(facts)
  if (until !== undefined) return rest(facts, lasting(facts, why), Math.min(until, facts.now + lookMs))
  return apply(intent.verb, why, { force, cleanup, tries: facts.tries + 1 })
}

const setBack = (facts: EntryFacts, code: string, message: string): EntryDecision =>
  applyEntryEvent(facts.place, 'let-go').allowed
    ? apply('let-go', reason(code, message))
    : rest(facts, reason(code, message))

const whyItEnded = ({ error }: EntryJob): Reason =>
  reason(error?.code ?? 'job-canceled', error?.message ?? 'Its job was cancelled.')

/** A source or a machine of ours depends on the withdrawal: nothing else is done before it. */
const withdrawAgain = (facts: EntryFacts, job: EntryJob): EntryDecision => {
  const until = pausedUntil(facts)
  if (until !== undefined)
    return rest(facts, lasting(facts, waitsFor(facts, whyItEnded(job))), Math.min(until, facts.now + lookMs))
  return withdraw(facts, facts.tries + 1, 'What it left outside is put right: once more.')
}

const withdraw = (facts: EntryFacts, tries: number, message: string): EntryDecision => ({
  do: 'start',
  job: 'withdraw-entry',
  event: null,
  tries,
  reason: lasting(facts, reason('withdraw-entry', message)),
  lookAt: facts.now + workingLookMs,
})

/** Its last job ended without success. Its effects outside are undone, or debts. */
const afterJob = (facts: EntryFacts, job: EntryJob): EntryDecision =>
  job.state === 'canceled' ? afterCancel(facts, job) : afterFailure(facts, job)

const afterCancel = (facts: EntryFacts, job: EntryJob): EntryDecision => {
  const { place } = facts
  const event = putOff(facts)
  if (event && place.state !== 'idle') return apply(event, whyItEnded(job))
  // Its end has started the source again, so the copy is behind. Other jobs leave the source as it is.
  if (job.kind === 'cutover-instance' && isCommitted(place))
    return setBack(facts, 'job-canceled', 'Its work was called off; the source runs again.')
  return unattended(facts, place)
}

/** How it goes back to a later try; undefined where too much was done for that. */
const putOff = ({ place }: EntryFacts): EntryEvent | undefined => {
  if (place.state === 'creating') return 'create-put-off'
  return applyEntryEvent(place, 'sync-put-off').allowed ? 'sync-put-off' : undefined
}

const healsByItself = ({ error }: EntryJob): boolean =>
  error?.class === 'transient' || error?.class === 'environment'

const afterFailure = (facts: EntryFacts, job: EntryJob): EntryDecision => {
  const { place } = facts
  const why = whyItEnded(job)
  const tries = facts.tries + 1
  if (job.kind === 'final-verify' && place.state === 'worker-done') return apply('conflict', why)
  // The refusal is a reason not to begin, checked at growing intervals.
  if (place.state === 'waiting' || place.state === 'blocked') return apply('block', why, { tries })
  const event = putOff(facts)
  if (event === 'create-put-off' && healsByItself(job)) return putOffMaking(facts, why)
  if (event && healsByItself(job)) return apply(event, why, { tries })
  if (applyEntryEvent(place, 'fail').allowed) return apply('fail', why)
  return unattended(facts, place)
}

/** A night without room passes; a longer shortage does not mend itself. */
const makingHours = 12

const putOffMaking = ({ now, tries, askPersonAt }: EntryFacts, why: Reason): EntryDecision => {
  const until = askPersonAt ?? now + makingHours * 3_600_000
  if (now >= until) {
    const message = `${why.message} Its machine could not be made for ${makingHours} hours.`
    return apply('fail', reason(why.code, message))
  }
  const message = `${why.message} It is tried again, and a person is asked at ${utcText(until)}.`
  return apply('create-put-off', reason(why.code, message), { tries: tries + 1, until })
}

const onward = (facts: EntryFacts): EntryDecision => {
  const { place } = facts
  switch (place.state) {
    case 'blocked':
    case 'waiting':
      return beforePlacement(facts)
    case 'idle':
      return decideIdle(facts)
    case 'worker-done':
      return start(facts, 'final-verify', null, 'What was copied is compared with what is there now.')
    case 'creating':
      return apply('create-put-off', reason('job-lost', 'Its job is gone.'))
    case 'background-import':
      return apply('sync-put-off', reason('job-lost', 'Its job is gone.'))
    case 'final-import':
      return start(
        facts,
        'cutover-instance',
        null,
        'The source is switched off, where it still runs, and the rest is copied.',
      )
    case 'post-import':
      return setBack(facts, 'job-lost', 'Its job is gone.')
    case 'conflict':
      return rest(facts, facts.reason)
    case 'finished':
    case 'error':
    case 'canceled':
      return rest(facts, facts.reason)
  }
}

const beforePlacement = (facts: EntryFacts): EntryDecision => {
  const { blocks, now, place } = facts
  const [first] = blocks
  if (first)
    return place.state === 'waiting' ? apply('block', first) : rest(facts, first, now + blockedLookMs)
  const until = pausedUntil(facts)
  if (until !== undefined) return rest(facts, facts.reason, Math.min(until, now + lookMs))
  // From `blocked` too: only the look at the target tells whether it may go on, and the job reports it.
  return start(facts, 'place-instance', null, 'It is placed, and its machine is defined on the target.')
}
