import type { EntryPlace } from '../../src/domain/migration/entry.ts'
import type { EntryJobKind, Intent, Reason } from '../../src/domain/migration/entry-facts.ts'
import type { EntryEvent } from '../../src/domain/migration/entry-table.ts'
import type { Constraint, Window } from '../../src/domain/migration/windows.ts'

/** A source, reduced to what the laws speak of. Every write makes another version of its bytes. */
export interface Source {
  on: boolean
  /** It was asked to go off, and has not yet. */
  goesDown: boolean
  version: number
  /** How often it was switched on: a copy is only worth what it was if this did not change. */
  boots: number
  tracked: boolean
  /** Somebody put another machine in its place. */
  replaced: boolean
}

export interface Target {
  on: boolean
  /** Its start was accepted, and has not come about. */
  comesUp: boolean
  /** The version of the source's bytes that it holds; null: none whole. */
  version: number | null
}

export interface Job {
  readonly kind: EntryJobKind
  state: 'open' | 'succeeded' | 'failed' | 'canceled'
  error: { code: string; class: string; message: string } | null
  step: number
  cancelRequested: boolean
  /** What it did outside and would undo. */
  made: ('source-stop' | 'target-create' | 'target-start')[]
  /** What a running copy began with. */
  reads: { version: number; at: number } | null
  readonly orders: { readonly source: 'start' | 'keep'; readonly target: 'destroy' | 'keep' }
}

export interface Entry {
  readonly id: string
  place: EntryPlace
  reason: Reason
  job: Job | null
  intent: Intent | null
  windowId: string | null
  sourceIsOurs: boolean
  syncedAt: number | null
  tries: number
  since: number
  lookAt: number
  readonly running: boolean
  blocked: boolean
  /** The script would send it elsewhere now. */
  moved: boolean
  gone: boolean
  source: Source
  target: Target | null
  /** The boots of the source when its copy became complete. */
  bootsWhenCopied: number | null
  story: string[]
}

export interface World {
  now: number
  batchState: 'running' | 'stopped'
  windows: Window[]
  readonly constraint: Constraint | null
  readonly intervalMs: number
  readonly finalLimitMs: number
  /** The target answers. */
  reachable: boolean
  readonly entries: Entry[]
}

/** Changes an entry as the table says, in one transaction: what src/migration does with rows. */
export type Apply = (world: World, entry: Entry, event: EntryEvent) => void

export class StepFailed extends Error {
  readonly errorClass: string
  constructor(message: string, errorClass: string) {
    super(message)
    this.errorClass = errorClass
  }
}

export const newJob = (
  kind: EntryJobKind,
  orders: Job['orders'] = { source: 'start', target: 'keep' },
): Job => ({
  kind,
  state: 'open',
  error: null,
  step: 0,
  cancelRequested: false,
  made: [],
  reads: null,
  orders,
})

const reach = (world: World): void => {
  if (!world.reachable) throw new StepFailed('The target does not answer.', 'environment')
}

const stopSource = (entry: Entry, job: Job): 'next' | 'again' => {
  if (!entry.source.on || entry.source.goesDown) return 'next'
  // Somebody has just started it: that it is ours to start again is written down first.
  if (!entry.sourceIsOurs) return 'again'
  entry.source.goesDown = true
  job.made.push('source-stop')
  return 'next'
}

export const startSource = (entry: Entry): void => {
  if (entry.source.on) return
  entry.source.on = true
  entry.source.boots += 1
}

/** What the platforms were asked for comes about, whoever asked for it is there still or not. */
export const comeAbout = ({ source, target }: Entry): void => {
  if (source.goesDown) source.on = false
  source.goesDown = false
  if (target?.comesUp) target.on = true
  if (target) target.comesUp = false
}

/** What the job has yet to do: the rest of its steps, from where the entry is. */
type Steps = readonly (() => 'next' | 'again' | 'done')[]

const placing = (world: World, entry: Entry, job: Job, apply: Apply): Steps => [
  () => {
    if (entry.blocked || entry.moved) throw new StepFailed('It cannot be placed.', 'config')
    reach(world)
    if (entry.place.state === 'blocked') apply(world, entry, 'unblock')
    if (entry.place.state === 'waiting') apply(world, entry, 'create')
    return 'next'
  },
  () => {
    reach(world)
    if (!entry.target) {
      entry.target = { on: false, comesUp: false, version: null }
      job.made.push('target-create')
    }
    return 'next'
  },
  () => {
    apply(world, entry, 'created')
    return 'done'
  },
]

const copying = (world: World, entry: Entry, job: Job, apply: Apply): Steps => [
  () => {
    if (entry.place.state === 'idle') apply(world, entry, 'sync-begin')
    return 'next'
  },
  () => {
    reach(world)
    job.reads = { version: entry.source.version, at: world.now }
    if (entry.target) entry.target.version = null
    return 'next'
  },
  () => {
    reach(world)
    if (entry.target && job.reads) entry.target.version = job.reads.version
    return 'next'
  },
  () => {
    entry.syncedAt = job.reads?.at ?? world.now
    apply(world, entry, 'sync-done')
    return 'done'
  },
]

const cutting = (world: World, entry: Entry, job: Job, apply: Apply): Steps => [
  () => {
    const { state, stage } = entry.place
    if (entry.source.replaced) {
      apply(world, entry, 'identity-changed')
      return 'done'
    }
    if (state === 'idle' && stage !== 'complete') apply(world, entry, 'cutover-begin')
    // From here on it is ours to start, whether the stop reaches it or not.
    if (entry.place.state === 'final-import' && entry.source.on) entry.sourceIsOurs = true
    return 'next'
  },
  () => (entry.place.state === 'final-import' ? stopSource(entry, job) : 'next'),
  () => {
    if (entry.place.state !== 'final-import') return 'next'
    if (entry.source.on) return 'again'
    reach(world)
    entry.bootsWhenCopied = entry.source.boots
    if (entry.target) entry.target.version = entry.source.version
    return 'next'
  },
  () => {
    if (entry.place.state === 'final-import') apply(world, entry, 'copied')
    return 'next'
  },
  () => {
    if (entry.place.state === 'idle') apply(world, entry, 'post-begin')
    return 'next'
  },
  () => {
    reach(world)
    return 'next'
  },
  () => {
    apply(world, entry, 'post-done')
    return 'done'
  },
]

const isStale = ({ source, target, bootsWhenCopied }: Entry): boolean =>
  source.boots !== bootsWhenCopied && !(source.tracked && target?.version === source.version)

const verifying = (world: World, entry: Entry, job: Job, apply: Apply): Steps => [
  () => {
    if (entry.source.replaced) {
      apply(world, entry, 'identity-changed')
      return 'done'
    }
    if (entry.source.on) entry.sourceIsOurs = true
    return 'next'
  },
  () => stopSource(entry, job),
  () => {
    if (entry.source.on) return 'again'
    reach(world)
    if (isStale(entry)) apply(world, entry, 'copy-stale')
    else if (entry.moved) apply(world, entry, 'conflict')
    else return 'next'
    return 'done'
  },
  () => {
    if (entry.source.on) return 'again'
    reach(world)
    if (entry.running && entry.target && !entry.target.on && !entry.target.comesUp) {
      entry.target.comesUp = true
      job.made.push('target-start')
    }
    return 'next'
  },
  () => {
    if (entry.source.on || isStale(entry) || (entry.running && !entry.target?.on)) return 'again'
    apply(world, entry, 'verified')
    return 'done'
  },
]

const withdrawing = (world: World, entry: Entry, job: Job): Steps => [
  () => {
    // Not known to be off is not off: then nothing is started.
    reach(world)
    if (entry.target?.comesUp) return 'again'
    if (entry.target) entry.target.on = false
    return 'next'
  },
  () => {
    if (job.orders.source === 'start' && entry.sourceIsOurs && entry.source.goesDown) return 'again'
    if (job.orders.source === 'start' && entry.sourceIsOurs && !entry.target?.on) startSource(entry)
    return 'next'
  },
  () => {
    if (job.orders.source === 'start') entry.sourceIsOurs = false
    return 'next'
  },
  () => {
    reach(world)
    if (job.orders.target === 'destroy') entry.target = null
    return 'done'
  },
]

const stepsOf = (world: World, entry: Entry, job: Job, apply: Apply): Steps => {
  switch (job.kind) {
    case 'place-instance':
      return placing(world, entry, job, apply)
    case 'import-instance':
      return copying(world, entry, job, apply)
    case 'cutover-instance':
      return cutting(world, entry, job, apply)
    case 'final-verify':
      return verifying(world, entry, job, apply)
    case 'withdraw-entry':
      return withdrawing(world, entry, job)
  }
}

/** In reverse, and only as far as it can be proved: the rest is debt, and the entry still knows that it is owed. */
const undo = (world: World, entry: Entry, job: Job, forgets: boolean): void => {
  for (const made of [...job.made].reverse()) {
    if (!world.reachable) return
    // Waited for in vain: debt.
    if (entry.target?.comesUp) return
    if (made === 'target-start' && entry.target) entry.target.on = false
    if (made === 'target-create') entry.target = null
    if (made === 'source-stop' && !entry.target?.on && !entry.source.goesDown) {
      startSource(entry)
      if (!forgets) entry.sourceIsOurs = false
    }
  }
}

/** How its end is told to the entry is up to the scheduler; `forgets`: the undo does not write that it was done. */
export const endJob = (
  world: World,
  entry: Entry,
  end: { readonly state: 'failed' | 'canceled'; readonly errorClass?: string; readonly forgets: boolean },
): void => {
  const { job } = entry
  if (job?.state !== 'open') return
  if (job.kind !== 'withdraw-entry') undo(world, entry, job, end.forgets)
  job.state = end.state
  job.error =
    end.state === 'failed' ? { code: 'broke', class: end.errorClass ?? 'bug', message: 'It broke.' } : null
  entry.since = world.now
}

/** One step of the job that is at an entry; a crash is a step that never came: the next one begins at the first. */
export const work = (world: World, entry: Entry, apply: Apply): void => {
  const { job } = entry
  if (job?.state !== 'open') return
  if (job.cancelRequested && job.kind !== 'withdraw-entry') {
    endJob(world, entry, { state: 'canceled', forgets: false })
    return
  }
  try {
    const step = stepsOf(world, entry, job, apply)[job.step]
    const went = step?.() ?? 'done'
    if (went === 'done') {
      job.state = 'succeeded'
      entry.since = world.now
    } else job.step = went === 'next' ? job.step + 1 : 0
  } catch (error) {
    if (!(error instanceof StepFailed)) throw error
    endJob(world, entry, { state: 'failed', errorClass: error.errorClass, forgets: false })
  }
}
