import type { Fate } from '../operation/life.ts'
import type { NewSource } from './estate.ts'
import type { Deed } from './people.ts'
import type { Mode, Slip } from './place.ts'

export type Step =
  | Deed
  /** A worker follows a bell, and has its fate. */
  | { readonly do: 'work'; readonly at: number; readonly fate: Fate }
  /** Everybody does what there is to do, so many times. */
  | { readonly do: 'rounds'; readonly times: number }
  | { readonly do: 'trouble'; readonly at: number; readonly mode: Mode }
  | { readonly do: 'slip'; readonly at: number; readonly slip: Slip }
  | { readonly do: 'come' | 'write' | 'time-out'; readonly at: number }
  /** Another machine stands in the place of one of a source, under its id. */
  | { readonly do: 'replace'; readonly at: number }
  | { readonly do: 'thaw'; readonly heard: boolean }
  /** `expire`: who asked for operations has waited long enough. */
  | { readonly do: 'lose' | 'pass' | 'expire' }
  /** A conductor looks at everything, and has its fate. */
  | { readonly do: 'conduct'; readonly fate: Fate }
  /** The windows of all batches, as if time had passed. */
  | { readonly do: 'window'; readonly becomes: WindowState }

/** `soon`: the last top-ups are due. `near`: too near for another. `over`: long ago. */
export type WindowState = 'open' | 'later' | 'soon' | 'near' | 'closing' | 'over'

/** Which machines there are at each of the two sources, and where their batches lead. */
export interface Setting {
  readonly east: readonly NewSource[]
  readonly west: readonly NewSource[]
  /** Both batches lead to one target. */
  readonly shared: boolean
  readonly chapter: Chapter
}

export type Beginning = Pick<Setting, 'east' | 'west'> & {
  readonly shared?: boolean
  readonly chapter?: Chapter
}

/** How far a beginning goes: the batches are started, and so many rounds of everybody's work are over. */
export type Chapter = 0 | 1 | 2 | 3

/** When a window begins and ends, from now on. */
export const windowMinutes: Readonly<Record<WindowState, readonly [number, number]>> = {
  open: [-600, 6_000],
  later: [600, 6_000],
  soon: [10.4, 6_000],
  near: [5, 6_000],
  closing: [-600, 1],
  over: [-600, -10],
}
