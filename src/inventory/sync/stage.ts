import type { Db } from '../../../db/client.ts'
import type { WaiverInForce } from '../../../db/queries/instances/waivers-in-force.ts'
import { stageInventory } from '../../../db/queries/sync/stage-inventory.ts'
import { FencedError, recordError } from '../../errors.ts'
import type { InventoryItem, Scan } from '../../platforms/ports/inventory.ts'
import { storableLine, storableText } from '../../storable.ts'
import { decideInstances, type SyncedSite } from '../judge/decide-instances.ts'
import { decideRecords, type RecordItem } from '../judge/decide-records.ts'
import { type StageLine, writeLines } from '../judge/stage-line.ts'
import { keepable, mostThings, mostWeight, tooManyThings, weightOf } from './keepable.ts'
import { asMachineItem, machineLines } from './machine-line.ts'

/** The writer, which may write only while it holds the lease. */
export interface SyncHolder {
  readonly db: Db
  readonly jobId: string
  readonly epoch: number
  readonly signal: AbortSignal
}

export interface StageOptions {
  readonly holder: SyncHolder
  readonly site: SyncedSite & { readonly role: string }
  /** The waivers of the whole fleet, and their identification. */
  readonly waivers: readonly WaiverInForce[]
  readonly judgedWith: string
  /** Called after each chunk, for progress and for safe points. */
  readonly onChunk: (items: number) => void
}

/** A part of a reading that could not be read and has no row in the stage, because even its id is unknown. */
export interface NamelessProblem {
  readonly of: string
  readonly name: string
  readonly message: string
}

export interface Staged {
  readonly items: number
  readonly problems: number
  readonly nameless: readonly NamelessProblem[]
  readonly judgedWith: string
  readonly cursor: string | null
}

/** Items per chunk: enough for few round trips, few enough for flat memory. */
const chunkItems = 500
const chunksInFlight = 2
const maxNameless = 50

type ProblemItem = Extract<InventoryItem, { type: 'problem' }>
type GoneItem = Extract<InventoryItem, { type: 'gone' }>

/**
 * Reads a scan to its end and stages its items while the platform streams: a chunk is decided and written while the
 * next is read. Throws what the scan throws; then nothing may be concluded.
 */
export const stageScan = async (scan: Scan, options: StageOptions): Promise<Staged> => {
  const stager = new Stager(options)
  try {
    for (;;) {
      const step = await scan.next()
      if (step.done) {
        await stager.finish()
        return { ...stager.counts(), judgedWith: options.judgedWith, cursor: step.value.cursor }
      }
      await stager.add(step.value)
    }
  } catch (error) {
    // Frees what the platform holds for the reading; the first error is the relevant one.
    await Promise.allSettled([scan.return({ cursor: null }), stager.settle()])
    throw error
  }
}

/** Stages single items outside a scan, such as a machine that was just switched on. */
export const stageItems = async (items: readonly InventoryItem[], options: StageOptions): Promise<void> => {
  const stager = new Stager(options)
  await stager.add(items)
  await stager.finish()
}

class Stager {
  readonly #options: StageOptions
  #waiting: InventoryItem[] = []
  #weight = 0
  #seen = 0
  readonly #inFlight = new Set<Promise<void>>()
  /** Chunks are written in order: the later item about a thing must win. */
  #last: Promise<void> = Promise.resolve()
  readonly #nameless: NamelessProblem[] = []
  #items = 0
  #problems = 0

  constructor(options: StageOptions) {
    this.#options = options
  }

  async add(items: readonly InventoryItem[]): Promise<void> {
    this.#options.holder.signal.throwIfAborted()
    this.#seen += items.length
    if (this.#seen > mostThings) throw tooManyThings(this.#options.site.name)
    for (const item of items)
      for (const one of keepable(item)) {
        this.#waiting.push(one)
        this.#weight += weightOf(one)
        if (this.#waiting.length >= chunkItems || this.#weight >= mostWeight) await this.#sendWaiting()
      }
  }

  async finish(): Promise<void> {
    if (this.#waiting.length > 0) await this.#sendWaiting()
    await this.#last
  }

  settle(): Promise<void> {
    return this.#last.catch(() => {})
  }

  counts() {
    return { items: this.#items, problems: this.#problems, nameless: this.#nameless }
  }

  #sendWaiting(): Promise<void> {
    this.#weight = 0
    return this.#send(this.#waiting.splice(0))
  }

  async #send(items: readonly InventoryItem[]): Promise<void> {
    while (this.#inFlight.size >= chunksInFlight) await Promise.race(this.#inFlight)
    const before = this.#last
    const work = this.#write(items, before)
    this.#last = work
    // The error is reported by the wait for the last chunk.
    work.catch(() => {})
    this.#inFlight.add(work)
    void work.finally(() => this.#inFlight.delete(work)).catch(() => {})
  }

  async #write(items: readonly InventoryItem[], before: Promise<void>): Promise<void> {
    const { holder, onChunk } = this.#options
    const lines = await this.#decide(items)
    await before
    for (const text of writeLines(lines))
      if (!(await stageInventory(holder.db, holder, text))) throw new FencedError(holder.jobId, holder.epoch)
    this.#items += items.length
    onChunk(this.#items)
  }

  async #decide(seen: readonly InventoryItem[]): Promise<StageLine[]> {
    const { holder, site, waivers } = this.#options
    const ofTarget = site.role === 'target'
    const items = ofTarget ? seen.map(asMachineItem) : seen
    const facts = items.flatMap((item) => (item.type === 'instance' ? [item.facts] : []))
    const [decided, records] = await Promise.all([
      ofTarget ? machineLines(facts) : decideInstances(holder.db, site, facts, { waivers }),
      decideRecords(holder.db, site.id, items.filter(isRecord)),
    ])
    const told = items.filter((item) => item.type === 'gone' || item.type === 'problem')
    const single = told.flatMap((item) => (item.type === 'gone' ? [goneLine(item)] : this.#problem(item)))
    return lastWords(items, [...decided, ...records, ...single])
  }

  #problem(item: ProblemItem): StageLine[] {
    this.#problems += 1
    if (item.ref !== '') return [problemLine(item)]
    if (this.#nameless.length < maxNameless)
      this.#nameless.push({ of: item.of, name: storableLine(item.name), message: item.error.message })
    return []
  }
}

const isRecord = (item: InventoryItem): item is RecordItem =>
  item.type === 'network' || item.type === 'host' || item.type === 'storage' || item.type === 'project'

const bareLine = { recordId: null, base: null, hash: null, factsText: null }

const goneLine = (item: GoneItem): StageLine => ({
  ...bareLine,
  kind: item.of,
  ref: storableText(item.ref),
  action: 'gone',
  name: '',
  more: null,
})

const problemLine = (item: ProblemItem): StageLine => ({
  ...bareLine,
  kind: item.of,
  ref: storableText(item.ref),
  action: 'problem',
  name: storableLine(item.name),
  more: { problem: recordError(item.error) },
})

const kindOf = (item: InventoryItem): string =>
  item.type === 'gone' || item.type === 'problem' ? item.of : item.type

const refOf = (item: InventoryItem): string =>
  item.type === 'gone' || item.type === 'problem' ? item.ref : item.facts.ref

/** One line per thing: its last mention in the chunk. */
const lastWords = (items: readonly InventoryItem[], lines: readonly StageLine[]): StageLine[] => {
  const last = new Map(items.map((item) => [`${kindOf(item)}/${refOf(item)}`, item.type]))
  const kept = new Map<string, StageLine>()
  for (const line of lines) {
    const key = `${line.kind}/${line.ref}`
    const type = last.get(key)
    const told = type === 'gone' || type === 'problem'
    const fits = told ? line.action === type : line.action !== 'gone' && line.action !== 'problem'
    if (type === undefined || fits) kept.set(key, line)
  }
  return [...kept.values()]
}
