/** Bytes that may be in memory at once, over all copies of a process: whoever wants more waits for its turn. */
export class ByteBudget {
  readonly #total: number
  #taken = 0
  #most = 0
  readonly #waiting: { readonly bytes: number; readonly go: () => void }[] = []

  constructor(total: number) {
    this.#total = total
  }

  /** The most that was ever taken at once. */
  get most(): number {
    return this.#most
  }

  /** Works with so many bytes of it. What is more than all of it waits until nothing else is taken. */
  async spend<Result>(bytes: number, signal: AbortSignal, work: () => Promise<Result>): Promise<Result> {
    await this.#take(bytes, signal)
    try {
      return await work()
    } finally {
      this.#taken -= bytes
      this.#admit()
    }
  }

  async #take(bytes: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    if (this.#waiting.length === 0 && this.#fits(bytes)) {
      this.#grant(bytes)
      return
    }
    await new Promise<void>((resolve, reject) => {
      const turn = {
        bytes,
        go: () => {
          signal.removeEventListener('abort', leave)
          resolve()
        },
      }
      const leave = () => {
        this.#waiting.splice(this.#waiting.indexOf(turn), 1)
        reject(signal.reason as Error)
        this.#admit()
      }
      signal.addEventListener('abort', leave, { once: true })
      this.#waiting.push(turn)
    })
  }

  #fits(bytes: number): boolean {
    return this.#taken === 0 || this.#taken + bytes <= this.#total
  }

  #grant(bytes: number): void {
    this.#taken += bytes
    this.#most = Math.max(this.#most, this.#taken)
  }

  #admit(): void {
    for (let next = this.#waiting[0]; next && this.#fits(next.bytes); next = this.#waiting[0]) {
      this.#waiting.shift()
      this.#grant(next.bytes)
      next.go()
    }
  }
}
