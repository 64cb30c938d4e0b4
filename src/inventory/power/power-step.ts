import type { PowerVerb } from '../../domain/job/kinds/power-instance.ts'
import type { PowerFacts } from '../../platforms/ports/power.ts'

/** One call that changes the power of a machine. */
export type PowerStep = 'start' | 'shutdown' | 'stop' | 'reset'

export interface PowerAsked {
  readonly verb: PowerVerb
  readonly force: boolean
  readonly timeoutMs: number
  /** The machine was started recently: a guest that does not answer may still be booting, and is asked again. */
  readonly booting: boolean
}

/** The progress, kept from turn to turn. */
export interface PowerProgress {
  readonly steps: readonly PowerStep[]
  /** Since the last step. */
  readonly waitedMs: number
  /** The boot that a restart has to end; empty: the machine was not running, or the platform does not tell. */
  readonly bootId: string
  /** The guest cannot be asked. */
  readonly deaf: boolean
  /** The platform reports the reset as done. */
  readonly wasReset: boolean
}

/** The wait for a guest that was asked. */
export const forGuest = 'the guest to shut itself down'
/** The wait for a guest that cannot be asked yet. */
export const forGuestToHear = 'the guest to have come up far enough to be asked'

export type PowerDecision =
  | { readonly type: 'done' }
  | { readonly type: 'act'; readonly step: PowerStep }
  | { readonly type: 'wait'; readonly forWhat: string }
  | {
      readonly type: 'refuse'
      readonly code: 'guest-keeps-running' | 'guest-suspended'
      readonly message: string
    }

const done: PowerDecision = { type: 'done' }
const act = (step: PowerStep): PowerDecision => ({ type: 'act', step })

/** The next step, from what was seen just now and what was done so far. Pure. */
export const nextPowerStep = (
  asked: PowerAsked,
  progress: PowerProgress,
  seen: PowerFacts,
): PowerDecision => {
  switch (asked.verb) {
    case 'start':
      return reach('on', 'start', asked, progress, seen)
    case 'stop':
      return reach('off', 'stop', asked, progress, seen)
    case 'shutdown':
      return seen.state === 'off' ? done : goDown(asked, progress, seen)
    case 'restart':
      return restart(asked, progress, seen)
  }
}

const reach = (
  wanted: 'on' | 'off',
  step: PowerStep,
  asked: PowerAsked,
  progress: PowerProgress,
  seen: PowerFacts,
): PowerDecision => {
  if (seen.state === wanted) return done
  if (!progress.steps.includes(step)) return act(step)
  if (progress.waitedMs < asked.timeoutMs) return { type: 'wait', forWhat: `the machine to be ${wanted}` }
  return {
    type: 'refuse',
    code: 'guest-keeps-running',
    message: `The platform took the ${step}, but the machine is still ${seen.state}.`,
  }
}

const goDown = (asked: PowerAsked, progress: PowerProgress, seen: PowerFacts): PowerDecision => {
  if (progress.steps.includes('stop')) return reach('off', 'stop', asked, progress, seen)
  if (seen.state === 'suspended')
    return asked.force
      ? act('stop')
      : { type: 'refuse', code: 'guest-suspended', message: 'A suspended guest cannot shut itself down.' }
  if (!progress.deaf) {
    if (!progress.steps.includes('shutdown')) return act('shutdown')
    if (progress.waitedMs < asked.timeoutMs) return { type: 'wait', forWhat: forGuest }
  }
  if (asked.force) return act('stop')
  if (progress.deaf && asked.booting && progress.waitedMs < asked.timeoutMs)
    return { type: 'wait', forWhat: forGuestToHear }
  const seconds = Math.round(asked.timeoutMs / 1_000)
  return {
    type: 'refuse',
    code: 'guest-keeps-running',
    message: progress.deaf
      ? 'The guest cannot be asked to shut itself down.'
      : `The guest was asked to shut itself down and still runs after ${seconds} seconds.`,
  }
}

const restart = (asked: PowerAsked, progress: PowerProgress, seen: PowerFacts): PowerDecision => {
  const { steps } = progress
  if (steps.includes('start')) return reach('on', 'start', asked, progress, seen)
  if (steps.includes('reset')) {
    // Not every platform counts a reset as a new boot: then the platform's own report has to do.
    const isNew = progress.bootId === '' || seen.boot_id === '' || seen.boot_id !== progress.bootId
    if (seen.state === 'on' && (isNew || progress.wasReset)) return done
    return { type: 'wait', forWhat: 'the machine to have started anew' }
  }
  if (seen.state === 'off') return act('start')
  // An immediate reset only if requested: otherwise the guest gets its time.
  if (asked.force && steps.length === 0 && seen.state === 'on') return act('reset')
  return goDown(asked, progress, seen)
}
