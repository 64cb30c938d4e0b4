/** Bytes to reserve, and the group of copies that are likely to stall together. */
export interface Spending {
  readonly bytes: number
  readonly by: string
}

interface Turn extends Spending {
  readonly go: () => void
}

/**
 * Limits the bytes in memory over all copies of a process; a copy that wants more waits. A group may not take the last
 * part of the budget, except for its first reservation: reads that stall hold their bytes until they end.
 */
export class ByteBudget {
  readonly #total: number
  readonly #spent = new Map<string, number>()
  #taken = 0
  #most = 0
  readonly #waiting: Turn[] = []

  constructor(total: number) {
    this.#total = total
  }

  /** The most bytes reserved at once so far. */
  get most(): number {
    return this.#most
  }

  /**
   * Runs the work with these bytes reserved. A reservation larger than the budget waits until nothing else is
   * reserved.
   */
  async spend<Result>(spending: Spending, signal: AbortSignal, work: () => Promise<Result>): Promise<Result> {
    await this.#take(spending, signal)
    try {
      return await work()
    } finally {
      this.#add(spending.by, -spending.bytes)
      this.#admit()
    }
  }

  async #take(spending: Spending, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    await new Promise<void>((resolve, reject) => {
      const turn: Turn = {
        ...spending,
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
      this.#admit()
    })
  }

  #fits(bytes: number): boolean {
    return this.#taken === 0 || this.#taken + bytes <= this.#total
  }

  #leavesRoom({ bytes, by }: Spending): boolean {
    const own = this.#spent.get(by) ?? 0
    return own === 0 || own + bytes <= this.#total - this.#taken - bytes
  }

  #add(by: string, bytes: number): void {
    this.#taken += bytes
    this.#most = Math.max(this.#most, this.#taken)
    const left = (this.#spent.get(by) ?? 0) + bytes
    if (left === 0) this.#spent.delete(by)
    else this.#spent.set(by, left)
  }

  /** In order of arrival; a reservation that would leave too little is passed over. */
  #admit(): void {
    for (let at = 0; at < this.#waiting.length; ) {
      const next = this.#waiting[at]
      if (!next || !this.#fits(next.bytes)) return
      if (this.#leavesRoom(next)) {
        this.#waiting.splice(at, 1)
        this.#add(next.by, next.bytes)
        next.go()
      } else at += 1
    }
  }
}
