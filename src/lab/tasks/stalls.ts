import type { Queryable } from '../../../db/client.ts'
import { hasFault } from '../store/faults.ts'

/** Calls that faults hold back in this process. */
export class Stalls {
  readonly #db: Queryable
  readonly #held = new Map<AbortController, number>()

  constructor(db: Queryable) {
    this.#db = db
  }

  /** Holds a call back while the fault is there; `wait` ends when its signal does, or before. */
  async hold(fault: number, wait: (released: AbortSignal) => Promise<void>): Promise<void> {
    const call = new AbortController()
    this.#held.set(call, fault)
    try {
      // Noted first and looked up then: whoever removes the fault in between finds the note.
      if (await hasFault(this.#db, fault)) await wait(call.signal)
    } finally {
      this.#held.delete(call)
    }
  }

  /** Lets go of the calls of that fault, or of all. For when the fault is gone. */
  release(fault?: number): void {
    for (const [call, by] of this.#held) if (fault === undefined || fault === by) call.abort()
  }
}
