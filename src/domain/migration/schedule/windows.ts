/** Times are milliseconds since 1970, from the database's clock. */
export interface Window {
  readonly id: string
  readonly name: string
  /** Null: no start. */
  readonly startsAt: number | null
  /** Null: no end. */
  readonly endsAt: number | null
  /** From then on no entry gets the window; an entry that has it may begin until it ends. */
  readonly lockoutAt: number | null
  /** 0: unlimited. */
  readonly capacity: number
}

/** The limits of a constraint for the instances that it matches. */
export interface Constraint {
  readonly name: string
  /** 0: unlimited. */
  readonly maxConcurrent: number
  /** A window must leave room for this time and one minute more. */
  readonly minBootMs: number
}

export interface WindowAsk {
  readonly now: number
  readonly windows: readonly Window[]
  /** The number of entries per window, by window id: never by name, because batches may use the same names. */
  readonly held: ReadonlyMap<string, number>
  /** The window that this entry already has. */
  readonly own: string | null
  /** The last constraint that matches the instance. */
  readonly constraint: Constraint | null
  /** Other entries of the same constraint between power-off and finish. */
  readonly busy: number
}

export type WindowAnswer =
  | { readonly is: 'open'; readonly window: Window | null }
  | { readonly is: 'later'; readonly window: Window; readonly at: number }
  /** Heals by itself: room becomes free. */
  | { readonly is: 'full'; readonly what: 'windows' | 'constraint'; readonly window: Window | null }
  /** Only a person can add a window. */
  | { readonly is: 'none'; readonly why: 'over' | 'too-short' }

const spareMs = 60_000

export const hasBegun = (window: Window, now: number): boolean =>
  window.startsAt === null || window.startsAt <= now
export const hasEnded = (window: Window, now: number): boolean =>
  window.endsAt !== null && window.endsAt <= now
const isLocked = (window: Window, now: number): boolean =>
  hasEnded(window, now) || (window.lockoutAt !== null && window.lockoutAt <= now)

const fits = (window: Window, now: number, neededMs: number): boolean =>
  window.endsAt === null || Math.max(window.startsAt ?? now, now) + neededMs + spareMs < window.endsAt

/**
 * When this entry may be cut over. A batch without windows may begin now; a batch whose windows are all full may not:
 * "no room" is a wait, never "no windows".
 */
export const chooseWindow = (ask: WindowAsk): WindowAnswer => {
  const { now, windows, own, constraint, busy } = ask
  const crowded = constraint !== null && constraint.maxConcurrent > 0 && busy + 1 > constraint.maxConcurrent
  if (windows.length === 0)
    return crowded ? { is: 'full', what: 'constraint', window: null } : { is: 'open', window: null }
  const neededMs = constraint?.minBootMs ?? 0
  // Its room stays reserved, even when nobody else gets room there any more; the time to begin does not.
  const mine = windows.find((window) => window.id === own && !hasEnded(window, now))
  if (mine && fits(mine, now, neededMs)) return startIn(mine, now, crowded)
  const usable = windows.filter((window) => !isLocked(window, now))
  if (usable.length === 0) return { is: 'none', why: 'over' }
  const long = usable.filter((window) => fits(window, now, neededMs))
  if (long.length === 0) return { is: 'none', why: 'too-short' }
  const byStart = [...long].sort((a, b) => (a.startsAt ?? 0) - (b.startsAt ?? 0) || compare(a.name, b.name))
  const roomy = byStart.find(
    (window) => window.capacity === 0 || (ask.held.get(window.id) ?? 0) < window.capacity,
  )
  if (!roomy) return { is: 'full', what: 'windows', window: byStart[0] ?? null }
  return startIn(roomy, now, crowded)
}

const startIn = (window: Window, now: number, crowded: boolean): WindowAnswer => {
  if (!hasBegun(window, now)) return { is: 'later', window, at: window.startsAt ?? now }
  return crowded ? { is: 'full', what: 'constraint', window } : { is: 'open', window }
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

export interface WindowProblem {
  /** The index and the field of the window in the request, by its public name. */
  readonly at: number
  readonly field: 'name' | 'start' | 'end' | 'lockout' | 'capacity'
  readonly message: string
}

export type NewWindow = Omit<Window, 'id'>

/**
 * Every problem of a batch's windows. `before`: the current windows; a window that is not changed may be over already.
 */
export const checkWindows = (
  windows: readonly NewWindow[],
  before: readonly Window[],
  now: number,
): WindowProblem[] => {
  const old = new Map(before.map((window) => [window.name, window]))
  const alone = windows.flatMap((window, at) => checkWindow(window, old.get(window.name), now, at))
  const twice = windows.flatMap((window, at): WindowProblem[] =>
    windows.findIndex(({ name }) => name === window.name) < at
      ? [{ at, field: 'name', message: `There are two windows "${window.name}".` }]
      : [],
  )
  return [...alone, ...twice, ...overlaps(windows)]
}

const checkWindow = (
  window: NewWindow,
  old: Window | undefined,
  now: number,
  at: number,
): WindowProblem[] => {
  const { startsAt, endsAt, lockoutAt } = window
  const problems: WindowProblem[] = []
  const say = (field: WindowProblem['field'], message: string) => problems.push({ at, field, message })
  if (startsAt !== null && endsAt !== null && endsAt <= startsAt) say('end', 'It must be after start.')
  if (endsAt !== null && endsAt <= now && endsAt !== old?.endsAt)
    say('end', 'It is over already; choose a moment to come.')
  if (lockoutAt !== null && endsAt === null) say('lockout', 'A lockout needs an end.')
  if (lockoutAt !== null && endsAt !== null && lockoutAt > endsAt) say('lockout', 'It must not be after end.')
  if (lockoutAt !== null && startsAt !== null && lockoutAt < startsAt)
    say('lockout', 'It must not be before start.')
  return problems
}

const overlaps = (windows: readonly NewWindow[]): WindowProblem[] =>
  windows.flatMap((window, at) => {
    const other = windows.slice(0, at).find((earlier) => overlap(earlier, window))
    return other ? [{ at, field: 'start' as const, message: `It overlaps the window "${other.name}".` }] : []
  })

const overlap = (a: NewWindow, b: NewWindow): boolean =>
  (a.startsAt ?? Number.NEGATIVE_INFINITY) < (b.endsAt ?? Number.POSITIVE_INFINITY) &&
  (b.startsAt ?? Number.NEGATIVE_INFINITY) < (a.endsAt ?? Number.POSITIVE_INFINITY)

/** What may not be done to windows that entries have: they were promised. */
export const checkHeldWindows = (
  windows: readonly NewWindow[],
  before: readonly Window[],
  held: ReadonlyMap<string, number>,
): WindowProblem[] => {
  const byName = new Map(windows.map((window, at) => [window.name, { window, at }]))
  return before
    .filter(({ id }) => (held.get(id) ?? 0) > 0)
    .flatMap((old): WindowProblem[] => {
      const now = byName.get(old.name)
      if (!now)
        return [
          { at: -1, field: 'name', message: `Entries hold "${old.name}": it can neither go nor be renamed.` },
        ]
      const { window, at } = now
      return [
        ...((window.startsAt ?? 0) > (old.startsAt ?? 0)
          ? [{ at, field: 'start' as const, message: 'Entries hold it: it cannot begin later.' }]
          : []),
        ...((window.endsAt ?? Number.POSITIVE_INFINITY) < (old.endsAt ?? Number.POSITIVE_INFINITY)
          ? [{ at, field: 'end' as const, message: 'Entries hold it: it cannot end earlier.' }]
          : []),
        ...(room(window) < room(old)
          ? [{ at, field: 'capacity' as const, message: 'Entries hold it: it cannot take fewer.' }]
          : []),
      ]
    })
}

const room = ({ capacity }: NewWindow): number => (capacity === 0 ? Number.POSITIVE_INFINITY : capacity)
