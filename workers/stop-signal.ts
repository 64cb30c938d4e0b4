/**
 * An abort signal that costs nothing until somebody listens. Two real signals per job took seven microseconds; most
 * jobs end without asking for one.
 */
export class StopSignal {
  #reason: Error | undefined
  #controller: AbortController | undefined

  get stopped(): boolean {
    return this.#reason !== undefined
  }

  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController()
      if (this.#reason) this.#controller.abort(this.#reason)
    }
    return this.#controller.signal
  }

  /** Why; only the first reason counts. */
  get reason(): Error | undefined {
    return this.#reason
  }

  stop(reason: Error): void {
    this.#reason ??= reason
    this.#controller?.abort(this.#reason)
  }

  throwIfStopped(): void {
    if (this.#reason) throw this.#reason
  }
}
