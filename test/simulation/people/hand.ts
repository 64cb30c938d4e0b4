import type { Call } from '../../../src/platforms/ports/call.ts'
import { problem } from '../operation/cloud-things.ts'
import type { Life } from '../operation/life.ts'
import type { Place } from './place.ts'

interface Waiter {
  readonly place: Place
  readonly goOn: () => void
  readonly giveUp: (why: unknown) => void
}

/** How one turn of a worker reaches the places: it dies and freezes between calls, and hangs in them. */
export class Hand {
  readonly life: Life
  #waiters: Waiter[] = []
  #stuck: () => void = () => undefined
  #untilStuck: Promise<void> = Promise.resolve()

  constructor(life: Life) {
    this.life = life
    this.#renew()
  }

  get hangs(): boolean {
    return this.#waiters.length > 0
  }

  /** Resolves when a call hangs from now on. */
  get stuck(): Promise<void> {
    return this.#untilStuck
  }

  /** A look: nothing happens when there is no answer. */
  async look<Seen>(place: Place, call: Call, look: () => Seen): Promise<Seen> {
    await this.life.rest()
    await this.#reach(place, call)
    const seen = look()
    await this.life.rest()
    return seen
  }

  /** A change: it may be done, and its answer lost. */
  async act<Done>(place: Place, call: Call, act: () => Done): Promise<Done> {
    // Dead it may be here, but not frozen: nobody can fence what is on the wire already.
    this.life.pass()
    await this.#reach(place, call)
    const done = act()
    await this.life.rest()
    if (place.slip === 'answer-lost') {
      place.slip = null
      throw problem('platform-timeout', 'unknown')
    }
    // Begun, and no answer: it hangs behind it.
    await this.#reach(place, call)
    return done
  }

  /** Whoever hangs at a place that answers again goes on. */
  heal(): void {
    this.#leave(({ place, goOn }) => {
      if (place.mode === 'hangs') return false
      goOn()
      return true
    })
  }

  /** The time of all that hangs is over. */
  timeOut(): void {
    this.#leave(({ giveUp }) => {
      giveUp(problem('platform-timeout', 'unknown'))
      return true
    })
  }

  async #reach(place: Place, call: Call): Promise<void> {
    while (place.mode === 'hangs') await this.#hang(place, call.signal)
    if (place.mode === 'away') throw problem('platform-unreachable', 'unknown')
    if (place.mode === 'locks-out') throw problem('platform-authentication', 'refused')
  }

  #hang(place: Place, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    return new Promise((resolve, reject) => {
      const waiter = { place, goOn: resolve, giveUp: reject }
      signal.addEventListener('abort', () => {
        this.#leave((one) => one === waiter)
        reject(signal.reason as Error)
      })
      this.#waiters.push(waiter)
      this.#stuck()
    })
  }

  #leave(leaves: (waiter: Waiter) => boolean): void {
    const all = this.#waiters
    this.#waiters = []
    this.#waiters.push(...all.filter((waiter) => !leaves(waiter)))
    if (!this.hangs) this.#renew()
  }

  #renew(): void {
    this.#untilStuck = new Promise((resolve) => {
      this.#stuck = resolve
    })
  }
}
