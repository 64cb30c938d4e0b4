import type { FilterView } from '../../domain/filter/view.ts'
import { chooseWindow } from '../../domain/migration/schedule/windows.ts'
import type { BatchView } from '../entry/batch-view.ts'

export interface PlannedWindow {
  readonly window: string | null
  /** Why the entry would get no window now; empty: it would get one, or the batch has no windows. */
  readonly note: string
}

/** Gives out the room in a batch's windows as the scheduler would, without recording it. */
export class PlanWindows {
  readonly #batch: BatchView
  readonly #now: number
  readonly #held: Map<string, number>

  constructor(batch: BatchView, now: number, held: ReadonlyMap<string, number>) {
    this.#batch = batch
    this.#now = now
    this.#held = new Map(held)
  }

  take(view: FilterView): PlannedWindow {
    const answer = chooseWindow({
      now: this.#now,
      windows: this.#batch.windows,
      held: this.#held,
      own: null,
      constraint: this.#batch.constraintOf(view),
      busy: 0,
    })
    if (answer.is === 'none')
      return {
        window: null,
        note: answer.why === 'over' ? 'every window is over' : 'no window is long enough for its constraint',
      }
    if (answer.is === 'full') return { window: null, note: 'the windows are full: it waits for room' }
    if (answer.window) this.#held.set(answer.window.id, (this.#held.get(answer.window.id) ?? 0) + 1)
    return { window: answer.window?.name ?? null, note: '' }
  }

  nameOf(id: string | null): string | null {
    return this.#batch.windows.find((window) => window.id === id)?.name ?? null
  }
}
