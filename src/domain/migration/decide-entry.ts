import { type EntryPlace, isCommitted } from './entry.ts'
import { applyEntryEvent, type EntryEvent } from './entry-table.ts'
import { decideTopUp } from './top-up.ts'
import type { WindowAnswer } from './windows.ts'

/** Why an entry waits: a code for programs, a sentence for people. */
export interface Reason {
  readonly code: string
  readonly message: string
}

/** What a person wants of an entry while a job is still at it. */
export type Intent =
  | { readonly verb: 'cancel'; readonly force: boolean; readonly cleanup: boolean }
  | { readonly verb: 'reset'; readonly force: boolean }

/** The jobs of a journey. */
export type EntryJobKind =
  | 'place-instance'
  | 'import-instance'
  | 'cutover-instance'
  | 'final-verify'
  | 'withdraw-entry'

/** The job that is, or was last, at the entry. One that succeeded has written what it did in the same transaction. */
export interface EntryJob {
  readonly kind: EntryJobKind
  readonly state: 'open' | 'succeeded' | 'failed' | 'canceled'
  readonly error: { readonly code: string; readonly class: string; readonly message: string } | null
}

/** All that the decision hangs on. Nothing is read and no clock is asked. */
export interface EntryFacts {
  readonly now: number
  readonly place: EntryPlace
  readonly job: EntryJob | null
  readonly intent: Intent | null
  readonly batchState: 'running' | 'stopped' | 'error'
  /** What keeps it from starting, all of it. */
  readonly blocks: readonly Reason[]
  /** We switched the source off, and nobody has switched it on again yet. */
  readonly sourceIsOurs: boolean
  readonly hasTarget: boolean
  /** Changed blocks can be told for every disk. */
  readonly tracked: boolean
  readonly syncedAt: number | null
  readonly window: WindowAnswer
  /** The window it holds is over. */
  readonly windowOver: boolean
  readonly intervalMs: number
  readonly finalLimitMs: number
  /** When its job ended, or it came here; and how often in a row it failed to get away from here. */
  readonly since: number
  readonly tries: number
}

export type EntryDecision =
  /** Nothing to do before `lookAt`; by then somebody looks again, whatever happens. */
  | { readonly do: 'rest'; readonly reason: Reason; readonly lookAt: number }
  /** The table's event, now; what it says of source and target is done by a withdrawal. */
  | { readonly do: 'apply'; readonly event: EntryEvent; readonly reason: Reason }
  /** A job; what it does first is to apply `event`, when it has one. */
  | {
      readonly do: 'start'
      readonly job: EntryJobKind
      readonly event: EntryEvent | null
      readonly reason: Reason
    }
  /** The job that is at it must let go: what it did outside is undone as it ends. */
  | { readonly do: 'call-off'; readonly reason: Reason }

/** A look at everything, so that a lost hint costs no more than this. */
const lookMs = 30_000
const blockedLookMs = 15_000
const blockedCapMs = 300_000

const reason = (code: string, message: string): Reason => ({ code, message })

/** What is next for one entry. */
export const decideEntry = (facts: EntryFacts): EntryDecision => {
  const { job, intent, now } = facts
  if (job?.state === 'open') return whileWorking(facts)
  if (intent) return byPerson(facts, intent)
  if (job && job.state !== 'succeeded' && job.kind !== 'withdraw-entry') return afterJob(facts, job)
  if (isCommitted(facts.place) && facts.windowOver) return letGo(facts, 'window-ended', 'Its window is over.')
  if (facts.batchState !== 'running')
    return rest(reason('batch-stopped', 'Its batch is stopped; start it to go on.'), now + lookMs)
  return onward(facts)
}

const rest = (why: Reason, lookAt: number): EntryDecision => ({ do: 'rest', reason: why, lookAt })

const whileWorking = ({ intent, job, place, now, windowOver }: EntryFacts): EntryDecision => {
  if (job?.kind === 'withdraw-entry')
    return rest(reason('cleaning-up', 'What it left outside is being put right.'), now + lookMs)
  if (intent) return { do: 'call-off', reason: reason(intent.verb, 'A person gave it up.') }
  if (windowOver && isCommitted(place))
    return { do: 'call-off', reason: reason('window-ended', 'Its window is over.') }
  return rest(reason('working', 'A job is at it.'), now + lookMs)
}

const byPerson = ({ place, now }: EntryFacts, intent: Intent): EntryDecision => {
  const answer = applyEntryEvent(place, intent.verb, { force: intent.force })
  if (answer.allowed)
    return { do: 'apply', event: intent.verb, reason: reason(intent.verb, answer.rule.says) }
  // It finished, or went where force is needed, before the wish reached it.
  return rest(reason('too-late', `It is ${place.state} by now: ${intent.verb} was not done.`), now)
}

const letGo = (facts: EntryFacts, code: string, message: string): EntryDecision => {
  const answer = applyEntryEvent(facts.place, 'let-go')
  return answer.allowed
    ? { do: 'apply', event: 'let-go', reason: reason(code, message) }
    : rest(reason(code, message), facts.now + lookMs)
}

/** The last job ended without what it was for. What it had done outside is undone, or debt. */
const afterJob = (facts: EntryFacts, job: EntryJob): EntryDecision => {
  const { place } = facts
  const why = reason(job.error?.code ?? 'job-canceled', job.error?.message ?? 'Its job was cancelled.')
  const putOff: Partial<Record<EntryPlace['state'], EntryEvent>> = {
    creating: 'create-put-off',
    'background-import': 'sync-put-off',
  }
  if (job.state === 'canceled') {
    const event = putOff[place.state]
    if (event) return { do: 'apply', event, reason: why }
    return isCommitted(place) ? letGo(facts, why.code, why.message) : onward(facts)
  }
  if (job.kind === 'final-verify' && place.state === 'worker-done')
    return { do: 'apply', event: 'conflict', reason: why }
  if (applyEntryEvent(place, 'fail').allowed) return { do: 'apply', event: 'fail', reason: why }
  // It failed before it had begun: what it was refused for is a reason not to begin, and is looked at ever more rarely.
  if (place.state === 'waiting') return { do: 'apply', event: 'block', reason: why }
  const pauseMs = Math.min(blockedCapMs, blockedLookMs * 2 ** Math.min(facts.tries, 10))
  return facts.now < facts.since + pauseMs ? rest(why, facts.since + pauseMs) : onward(facts)
}

const onward = (facts: EntryFacts): EntryDecision => {
  const { place, now, blocks } = facts
  switch (place.state) {
    case 'blocked':
    case 'waiting': {
      const [first] = blocks
      if (first && place.state === 'waiting') return { do: 'apply', event: 'block', reason: first }
      if (first) return rest(first, now + blockedLookMs)
      // From `blocked` too: only the look at the target tells whether it may go on, and the job says so.
      return start('place-instance', null, 'It is placed, and its machine is defined on the target.')
    }
    case 'idle':
      return whenIdle(facts)
    case 'worker-done':
      return start('final-verify', null, 'What was copied is compared with what is there now.')
    case 'creating':
      return { do: 'apply', event: 'create-put-off', reason: reason('job-lost', 'Its job is gone.') }
    case 'background-import':
      return { do: 'apply', event: 'sync-put-off', reason: reason('job-lost', 'Its job is gone.') }
    case 'final-import':
    case 'post-import':
      return letGo(facts, 'job-lost', 'Its job is gone.')
    case 'conflict':
      return rest(reason('conflict', 'A person has to resolve it.'), now + lookMs)
    case 'finished':
    case 'error':
    case 'canceled':
      return rest(reason(place.state, 'Nothing more happens by itself.'), now + lookMs)
  }
}

const start = (job: EntryJobKind, event: EntryEvent | null, message: string): EntryDecision => ({
  do: 'start',
  job,
  event,
  reason: reason(job, message),
})

const whenIdle = (facts: EntryFacts): EntryDecision => {
  const { place, tracked, window } = facts
  if (place.stage === 'complete')
    return start('cutover-instance', 'post-begin', 'The copy is fitted to its new home.')
  if (place.stage === 'background' && tracked)
    return start('import-instance', 'sync-begin', 'A first copy is made while the source runs.')
  if (window.is === 'open')
    return start('cutover-instance', 'cutover-begin', 'Its window is open: the source is switched off.')
  return untilWindow(facts)
}

const untilWindow = (facts: EntryFacts): EntryDecision => {
  const { now, place, tracked, syncedAt, window, intervalMs, finalLimitMs } = facts
  const why = whyNotOpen(window)
  if (place.stage === 'background' || !tracked || syncedAt === null)
    return rest(why, window.is === 'later' ? Math.min(window.at, now + lookMs) : now + lookMs)
  const opensAt = window.is === 'later' ? window.at : null
  const topUp = decideTopUp({ now, syncedAt, intervalMs, finalLimitMs, opensAt })
  if (topUp.due) return start('import-instance', 'sync-begin', 'What changed since the last copy is copied.')
  return rest(why, Math.min(topUp.lookAt, now + lookMs))
}

const whyNotOpen = (window: WindowAnswer): Reason => {
  switch (window.is) {
    case 'open':
      return reason('window-open', 'Its window is open.')
    case 'later':
      return reason('window-later', `It waits for the window "${window.window.name}" to open.`)
    case 'full':
      return window.what === 'constraint'
        ? reason('constraint-full', 'As many instances as its constraint allows are being cut over.')
        : reason('windows-full', 'Every window of the batch is taken; it waits for room in one.')
    case 'none':
      return window.why === 'over'
        ? reason('no-window', 'No window of the batch is left; add one.')
        : reason(
            'window-too-short',
            'No window leaves room for the boot time that its constraint asks for; add a longer one.',
          )
  }
}
