import type { Db, Queryable } from '../../../db/client.ts'
import { storableText } from '../../storable.ts'

/** One call as it is kept for checkers. */
export interface RecordedCall {
  readonly at: Date
  readonly wallAt: Date
  readonly tookMs: number
  readonly caller: string
  readonly site: string
  readonly call: string
  readonly machine: string
  readonly name: string | null
  /** The kinds of faults that struck it. */
  readonly fault: string | null
  /** Null: no answer was given. */
  readonly status: number | null
  /** `ok`, the code of the refusal, or how the answer went missing. */
  readonly outcome: string
}

const keptCalls = 500_000
/** A statement has room for so many rows, and more. */
const batch = 1_000
/** While Postgres is away, calls wait in memory; beyond this the oldest are let go. */
const waitingMax = 100_000

/** Collects calls and writes them together; reads of disks would otherwise wait for a commit each. */
export class Recorder {
  readonly #db: Db
  #waiting: RecordedCall[] = []
  #writing: Promise<void> = Promise.resolve()

  constructor(db: Db) {
    this.#db = db
  }

  /** Resolves when the call is stored; nobody has to wait for it but who changed something. */
  add(call: RecordedCall): Promise<void> {
    if (this.#waiting.length >= waitingMax) this.#waiting.shift()
    this.#waiting.push(call)
    return this.flush()
  }

  /** Everything that was added until now is stored when this resolves. */
  flush(): Promise<void> {
    const next = this.#writing.then(() => this.#write())
    this.#writing = next.catch(() => {})
    return next
  }

  async #write(): Promise<void> {
    while (this.#waiting.length > 0) {
      const calls = this.#waiting.slice(0, batch)
      await this.#db`insert into lab.call ${this.#db(calls.map(storable))}`
      this.#waiting.splice(0, calls.length)
    }
  }
}

const storable = (call: RecordedCall) => ({
  ...call,
  caller: storableText(call.caller).slice(0, 256),
  site: storableText(call.site).slice(0, 256),
  machine: storableText(call.machine).slice(0, 256),
  name: call.name === null ? null : storableText(call.name).slice(0, 1_024),
})

export interface CallsAsked {
  readonly after: number
  readonly limit: number
  readonly site: string
  readonly call: string
  readonly machine: string
  readonly caller: string
  readonly name: string
}

/** In order; an empty field asks for any. */
export const readCalls = async (
  db: Queryable,
  asked: CallsAsked,
): Promise<readonly (RecordedCall & { n: number })[]> =>
  await db<(RecordedCall & { n: number })[]>`
    select * from lab.call
    where n > ${asked.after} and (${asked.site} = '' or site = ${asked.site})
      and (${asked.call} = '' or call = ${asked.call}) and (${asked.machine} = '' or machine = ${asked.machine})
      and (${asked.caller} = '' or caller = ${asked.caller}) and (${asked.name} = '' or name = ${asked.name})
    order by n limit ${asked.limit}`

/** Old calls go, so that a lab that runs for weeks does not fill the disk. */
export const pruneCalls = async (db: Queryable): Promise<void> => {
  await db`delete from lab.call where n <= (select coalesce(max(n), 0) from lab.call) - ${keptCalls}::bigint`
}
