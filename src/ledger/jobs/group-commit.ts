export interface GroupCommitOptions<Item, Answer> {
  /** The largest group for one statement. */
  readonly max: number
  /** How many groups may run at once; more in flight means smaller groups. */
  readonly inFlight?: number
  /** Writes a group and returns an answer for each item, in order. */
  readonly flush: (items: readonly Item[]) => Promise<readonly Answer[]>
  /** Whether a failed group is worth repeating item by item: one item may be what the store refuses. */
  readonly apart?: (error: unknown) => boolean
}

interface Waiting<Item, Answer> {
  readonly item: Item
  readonly resolve: (answer: Answer) => void
  readonly reject: (error: unknown) => void
}

/**
 * Lets concurrent jobs of one process share a statement, and so a commit. A group is everything that arrived while the
 * previous group was being written: an idle process has no delay, a busy one has one commit for hundreds of jobs.
 */
export class GroupCommit<Item, Answer> {
  readonly #options: GroupCommitOptions<Item, Answer>
  #queue: Waiting<Item, Answer>[] = []
  #underWay = 0
  #scheduled = false

  constructor(options: GroupCommitOptions<Item, Answer>) {
    this.#options = options
  }

  submit(item: Item): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ item, resolve, reject })
      this.#schedule()
    })
  }

  #schedule(): void {
    if (this.#scheduled || this.#underWay >= (this.#options.inFlight ?? 1)) return
    this.#scheduled = true
    // After the callbacks of this turn: what they submit together goes together.
    setImmediate(() => {
      this.#scheduled = false
      void this.#flush()
    })
  }

  async #flush(): Promise<void> {
    const group = this.#queue.splice(0, this.#options.max)
    if (group.length === 0) return
    this.#underWay += 1
    try {
      const answers = await this.#options.flush(group.map((waiting) => waiting.item))
      if (answers.length !== group.length) throw new Error('A group commit must answer every item.')
      group.forEach((waiting, index) => {
        waiting.resolve(answers[index] as Answer)
      })
    } catch (error) {
      if (group.length > 1 && this.#options.apart?.(error)) await this.#flushApart(group)
      else for (const waiting of group) waiting.reject(error)
    } finally {
      this.#underWay -= 1
      if (this.#queue.length > 0) this.#schedule()
    }
  }

  async #flushApart(group: readonly Waiting<Item, Answer>[]): Promise<void> {
    for (const waiting of group) {
      try {
        const [answer] = await this.#options.flush([waiting.item])
        waiting.resolve(answer as Answer)
      } catch (error) {
        waiting.reject(error)
      }
    }
  }
}
