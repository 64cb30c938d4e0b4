import { decideTopUp } from '../schedule/top-up.ts'
import type { WindowAnswer } from '../schedule/windows.ts'
import {
  type EntryDecision,
  type EntryFacts,
  lookMs,
  pausedUntil,
  type Reason,
  reason,
  rest,
  start,
} from './entry-facts.ts'

/** The next step of an entry whose machine exists and for which no job runs. */
export const decideIdle = (facts: EntryFacts): EntryDecision => {
  const { now, place, tracked, window } = facts
  if (place.stage === 'complete')
    return start(facts, 'cutover-instance', 'post-begin', 'The copy is fitted to its new home.')
  const until = pausedUntil(facts)
  if (until !== undefined) return rest(facts, facts.reason, Math.min(until, now + lookMs))
  if (place.stage === 'background' && tracked)
    return start(facts, 'import-instance', 'sync-begin', 'A first copy is made while the source runs.')
  if (window.is === 'open')
    return start(
      facts,
      'cutover-instance',
      'cutover-begin',
      'Its window is open: the source is switched off.',
    )
  return untilWindow(facts)
}

const untilWindow = (facts: EntryFacts): EntryDecision => {
  const { now, place, tracked, syncedAt, window, intervalMs, finalLimitMs, forecastMs } = facts
  const why = whyNotOpen(window)
  const opensAt = window.is === 'later' ? window.at : null
  if (place.stage === 'background' || !tracked || syncedAt === null)
    return rest(facts, why, Math.min(opensAt ?? Number.POSITIVE_INFINITY, now + lookMs))
  const topUp = decideTopUp({ now, syncedAt, intervalMs, finalLimitMs, forecastMs, opensAt })
  if (topUp.due)
    return start(facts, 'import-instance', 'sync-begin', 'What changed since the last copy is copied.')
  return rest(facts, why, Math.min(topUp.lookAt, now + lookMs))
}

const whyNotOpen = (window: WindowAnswer): Reason => {
  switch (window.is) {
    case 'open':
      return reason('window-open', 'Its window is open.')
    case 'later':
      return reason('window-later', `It waits for the window "${window.window.name}" to open.`)
    case 'full':
      return window.what === 'constraint'
        ? reason('constraint-full', 'As many instances as its constraint allows are off for their cutover.')
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
