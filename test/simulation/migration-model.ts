import { answerVerb } from '../../src/domain/migration/answer-verb.ts'
import { decideEntry } from '../../src/domain/migration/decide-entry.ts'
import { hasEnded as entryHasEnded, isCommitted } from '../../src/domain/migration/entry.ts'
import type { EntryDecision, EntryFacts } from '../../src/domain/migration/entry-facts.ts'
import { applyEntryEvent, type EntryEvent, type EntryRule } from '../../src/domain/migration/entry-table.ts'
import { chooseWindow, hasEnded } from '../../src/domain/migration/windows.ts'
import { comeAbout, type Entry, endJob, newJob, startSource, type World, work } from './migration-world.ts'

export type Step =
  | { readonly do: 'wait'; readonly ms: number }
  /** Unless it is heard, the end of a job is found by the next look. */
  | { readonly do: 'work'; readonly at: number; readonly heard: boolean }
  | { readonly do: 'come' | 'crash' | 'write' | 'power' | 'replace' | 'move' | 'block'; readonly at: number }
  | { readonly do: 'lose'; readonly at: number; readonly errorClass: string; readonly forgets: boolean }
  | { readonly do: 'kill'; readonly at: number; readonly forgets: boolean }
  | {
      readonly do: 'verb'
      readonly at: number
      readonly verb: 'cancel' | 'retry' | 'resolve' | 'reset'
      readonly force: boolean
      readonly cleanup: boolean
    }
  | { readonly do: 'stop' | 'start' | 'cut' | 'mend' }

const busy = (entry: Entry): boolean =>
  isCommitted(entry.place) || (entry.job?.kind === 'cutover-instance' && entry.job.state === 'open')

const factsOf = (world: World, entry: Entry): EntryFacts => {
  const own = world.windows.find(({ id }) => id === entry.windowId)
  const others = world.entries.filter((other) => other !== entry && !other.gone)
  const held = new Map<string, number>()
  for (const { windowId, gone } of world.entries)
    if (windowId !== null && !gone) held.set(windowId, (held.get(windowId) ?? 0) + 1)
  return {
    now: world.now,
    place: entry.place,
    reason: entry.reason,
    job: entry.job,
    intent: entry.intent,
    batchState: world.batchState,
    blocks: entry.blocked ? [{ code: 'restricted', message: 'It is restricted.' }] : [],
    sourceIsOurs: entry.sourceIsOurs,
    sourceNeedsPerson: entry.place.state === 'error' && entry.reason.code === 'identity-changed',
    hasTarget: entry.target !== null,
    tracked: entry.source.tracked,
    syncedAt: entry.syncedAt,
    window: chooseWindow({
      now: world.now,
      windows: world.windows,
      held,
      own: entry.windowId,
      constraint: world.constraint,
      busy: others.filter(busy).length,
    }),
    windowOver: own !== undefined && hasEnded(own, world.now),
    windowEndsAt: own?.endsAt ?? null,
    intervalMs: world.intervalMs,
    finalLimitMs: world.finalLimitMs,
    forecastMs: 0,
    since: entry.since,
    tries: entry.tries,
    askPersonAt: null,
  }
}

/** The table's answer, written to the entry; the rule, for what it says of the outside. */
const move = (world: World, entry: Entry, event: EntryEvent, force = false): EntryRule => {
  const answer = applyEntryEvent(entry.place, event, { force })
  if (!answer.allowed) throw new Error(`${event} was refused at ${entry.place.state}/${entry.place.stage}.`)
  const before = `${entry.place.state}/${entry.place.stage}`
  const left = isCommitted(entry.place) && !(answer.to && isCommitted(answer.to))
  if (answer.to) entry.place = answer.to
  else entry.gone = true
  if (left || entry.gone || entryHasEnded(entry.place.state)) entry.windowId = null
  if (entry.place.stage === 'background') entry.syncedAt = null
  entry.story.push(
    `${world.now}: ${event} ${before} → ${answer.to ? `${answer.to.state}/${answer.to.stage}` : 'gone'}`,
  )
  if (event === 'verified') checkFinish(entry)
  entry.since = world.now
  entry.lookAt = world.now
  return answer.rule
}

const byJob = (world: World, entry: Entry, event: EntryEvent): void => {
  move(world, entry, event)
  entry.tries = 0
  entry.reason = { code: event, message: 'The job says so.' }
}

interface Applied {
  readonly force: boolean
  readonly cleanup: boolean
  readonly tries: number
  readonly reason: Entry['reason']
}

const byScheduler = (world: World, entry: Entry, event: EntryEvent, more: Applied): void => {
  if (entry.job?.state === 'open') throw new Error('An open job was left without anybody who looks at it.')
  const rule = move(world, entry, event, more.force)
  entry.job = null
  entry.intent = null
  entry.tries = more.tries
  entry.reason = more.reason
  const destroy = rule.target === 'destroy' || (rule.target === 'asked' && more.cleanup)
  const starts = rule.source === 'start' && entry.sourceIsOurs
  if (!starts && !(destroy && entry.target)) return
  entry.job = newJob('withdraw-entry', {
    source: starts ? 'start' : 'keep',
    target: destroy ? 'destroy' : 'keep',
  })
  if (!entry.gone) return
  // It goes when what it left is put right: the same wish once more, from there.
  entry.gone = false
  entry.place = { state: 'canceled', stage: 'background' }
  entry.intent = { verb: 'reset', force: true }
}

/** None is sent that would keep the cutover waiting when its window opens. */
const checkTopUp = (world: World, entry: Entry, job: string): void => {
  if (job !== 'import-instance' || entry.place.stage !== 'final') return
  const { window } = factsOf(world, entry)
  if (window.is === 'open') fail(entry, 'A top-up is sent although the window is open.')
  if (window.is === 'later' && world.now > window.at - world.finalLimitMs)
    fail(entry, 'A top-up is sent within the last limit before the window.')
}

/** What the scheduler does with a decision. */
const carryOut = (world: World, entry: Entry, decision: EntryDecision): void => {
  switch (decision.do) {
    case 'rest':
      entry.lookAt = decision.lookAt
      entry.reason = decision.reason
      return
    case 'apply':
      byScheduler(world, entry, decision.event, decision)
      return
    case 'start': {
      if (entry.job?.state === 'open') throw new Error('A second job was begun at one entry.')
      if (decision.job === 'cutover-instance' && entry.place.stage !== 'complete') {
        const { window } = factsOf(world, entry)
        if (window.is === 'open' && window.window) entry.windowId = window.window.id
      }
      checkTopUp(world, entry, decision.job)
      const orders = entry.job?.kind === 'withdraw-entry' ? entry.job.orders : undefined
      entry.story.push(`${world.now}: start ${decision.job}`)
      entry.job = newJob(decision.job, orders)
      entry.tries = decision.tries
      entry.reason = decision.reason
      entry.lookAt = decision.lookAt
      return
    }
    case 'call-off':
      if (entry.job) entry.job.cancelRequested = true
      entry.lookAt = world.now + 30_000
      return
    case 'let-off':
      throw new Error('No job of the model waits for the limit of its batch.')
    case 'forget':
      entry.intent = null
      return
  }
}

/** A round of the scheduler over everything that is due. An entry that never comes to rest is a bug. */
export const schedule = (world: World): void => {
  for (const entry of world.entries) {
    for (let turn = 0; entry.lookAt <= world.now && !entry.gone; turn += 1) {
      if (turn > 12) throw new Error('An entry is decided on again and again without coming to rest.')
      carryOut(world, entry, decideEntry(factsOf(world, entry)))
      check(world)
    }
    afterReset(entry)
  }
}

/** A start of the batch makes a new entry of an instance that a reset let go. */
const afterReset = (entry: Entry): void => {
  if (!entry.gone || entry.place.state === 'finished') return
  const fresh = { gone: false, intent: null, tries: 0, bootsWhenCopied: null, sourceIsOurs: false }
  Object.assign(entry, { ...fresh, place: { state: 'waiting', stage: 'background' } })
}

const verb = (world: World, entry: Entry, asked: Extract<Step, { do: 'verb' }>): void => {
  if (entry.gone) return
  const { force, cleanup } = asked
  const { job } = entry
  const atIt = job?.state === 'open' || (job?.kind === 'withdraw-entry' && job.state !== 'succeeded')
  const openJob = atIt ? job.kind : null
  const answer = answerVerb({ place: entry.place, verb: asked.verb, force, cleanup, openJob })
  entry.story.push(`${world.now}: a person: ${asked.verb}${force ? '!' : ''}: ${answer.do}`)
  const reason = { code: asked.verb, message: 'A person said so.' }
  if (answer.do === 'apply') byScheduler(world, entry, asked.verb, { force, cleanup, tries: 0, reason })
  if (answer.do !== 'intend') return
  if (asked.verb === 'cancel') entry.intent = { verb: 'cancel', force, cleanup }
  if (asked.verb === 'reset') entry.intent = { verb: 'reset', force }
  if (answer.callOff && entry.job) entry.job.cancelRequested = true
  entry.lookAt = world.now
}

/** A job's end rings. */
const ring = (world: World, entry: Entry): void => {
  if (entry.job && entry.job.state !== 'open') entry.lookAt = Math.min(entry.lookAt, world.now)
}

const touch = (world: World, step: Extract<Step, { at: number }>): void => {
  const entry = world.entries[step.at % world.entries.length]
  if (!entry) return
  const { source, job } = entry
  switch (step.do) {
    case 'work':
      work(world, entry, byJob)
      if (step.heard) ring(world, entry)
      return
    case 'come':
      comeAbout(entry)
      return
    case 'crash':
      if (job?.state === 'open') job.step = 0
      return
    case 'lose':
      endJob(world, entry, { state: 'failed', errorClass: step.errorClass, forgets: step.forgets })
      ring(world, entry)
      return
    case 'kill':
      endJob(world, entry, { state: 'canceled', forgets: step.forgets })
      ring(world, entry)
      return
    case 'write':
      if (source.on) source.version += 1
      return
    case 'power':
      // Its owner may do what he likes, but for a second running copy: no tool can keep him from that.
      if (source.on) Object.assign(source, { on: false, goesDown: false })
      else if (!entry.target?.on && !entry.target?.comesUp && entry.place.state !== 'finished')
        startSource(entry)
      return
    case 'replace':
      source.replaced = !source.replaced
      return
    case 'move':
      entry.moved = !entry.moved
      return
    case 'block':
      entry.blocked = !entry.blocked
      return
    case 'verb':
      verb(world, entry, step)
      return
  }
}

export const take = (world: World, step: Step): void => {
  if ('at' in step) touch(world, step)
  else if (step.do === 'wait') world.now += step.ms
  else if (step.do === 'cut' || step.do === 'mend') world.reachable = step.do === 'mend'
  else world.batchState = step.do === 'stop' ? 'stopped' : 'running'
  check(world)
  schedule(world)
  check(world)
  for (const entry of world.entries) checkWindowEnd(world, entry)
}

/**
 * Whatever job is at it: a source that is off is looked at when its window ends, and its job called off then.
 * A job that was called off before starts the source again as its own end.
 */
const checkWindowEnd = (world: World, entry: Entry): void => {
  const endsAt = world.windows.find(({ id }) => id === entry.windowId)?.endsAt ?? null
  if (endsAt === null || entry.gone || !isCommitted(entry.place)) return
  const { job } = entry
  if (endsAt > world.now && entry.lookAt > endsAt && !job?.cancelRequested)
    fail(entry, 'Nobody looks at a source that is off when its window ends.')
  const atIt = job?.state === 'open' && job.kind !== 'withdraw-entry'
  if (endsAt <= world.now && atIt && !job.cancelRequested)
    fail(entry, 'A job goes on at a source that is off although its window is over.')
}

const fail = (entry: Entry, what: string): never => {
  throw new Error(`${what}\n${JSON.stringify({ ...entry, story: undefined })}\n${entry.story.join('\n')}`)
}

/** What must be true of an entry at the moment it finishes. */
const checkFinish = (entry: Entry): void => {
  const { source, target, bootsWhenCopied } = entry
  if (source.on) fail(entry, 'It finished while its source was on.')
  if (!target || target.version !== source.version)
    fail(entry, 'It finished with other bytes than its source had when it was switched off.')
  if (source.boots !== bootsWhenCopied && !source.tracked)
    fail(entry, 'It finished without a new copy after its source had run.')
}

/** Whether somebody is about to put a source right that stays off without being needed so. */
const isBeingWithdrawn = ({ job }: Entry): boolean =>
  job?.kind === 'withdraw-entry' && job.state !== 'succeeded' && job.orders.source === 'start'

const check = (world: World): void => {
  for (const entry of world.entries) {
    const { source, target, place, sourceIsOurs } = entry
    if (source.on && target?.on) fail(entry, 'Source and target are both on.')
    const released = place.state === 'finished'
    // Its owner leaves it alone then (see `touch`), so it was us.
    if (released && source.on) fail(entry, 'A source was switched on again although its target took over.')
    const needed = !entry.gone && isCommitted(place)
    const askedFor = place.state === 'error' && entry.reason.code === 'identity-changed'
    if (askedFor && isBeingWithdrawn(entry))
      fail(entry, 'A source that may be another machine is started without a person.')
    if (sourceIsOurs && !source.on && !(released || needed || askedFor || isBeingWithdrawn(entry)))
      fail(entry, 'A source stays off on our account without being needed so.')
    if (source.goesDown && !sourceIsOurs) fail(entry, 'A source goes down, and nobody will start it again.')
    if (source.on && !source.goesDown && target?.comesUp)
      fail(entry, 'A copy is about to run beside its source.')
  }
  for (const { id, capacity } of world.windows) {
    const holders = world.entries.filter((entry) => entry.windowId === id && !entry.gone)
    if (capacity > 0 && holders.length > capacity)
      fail(holders[0]!, 'A window holds more than it has room for.')
  }
  const committed = world.entries.filter((entry) => isCommitted(entry.place) && !entry.gone)
  const most = world.constraint?.maxConcurrent ?? 0
  if (most > 0 && committed.length > most)
    fail(committed[0]!, 'More are cut over than the constraint allows.')
}
