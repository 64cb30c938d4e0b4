/** So many bytes, for copies that are likely to hang together. */
export interface Spending {
  readonly bytes: number
  readonly by: string
}

interface Turn extends Spending {
  readonly go: () => void
}

/**
 * Bytes that may be in memory at once, over all copies of a process: a copy that wants more waits for its turn. Nobody
 * has more of them than it leaves free, but always its first: reads that hang hold their bytes for as long.
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

  /** The most that was ever taken at once. */
  get most(): number {
    return this.#most
  }

  /** Works with so many bytes of it. What is more than all of it waits until nothing else is taken. */
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

  /** In the order in which they came; those that would leave too little stand aside. */
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
