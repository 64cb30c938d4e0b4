import type { Tx } from '../../../db/client.ts'
import { analyzeInstances } from '../../../db/queries/instances/analyze-inventory.ts'
import { findWaivers, signFleetWaivers } from '../../../db/queries/instances/waivers-in-force.ts'
import { recordTables } from '../../../db/queries/sync/find-records.ts'
import { lockDuplicates, markDuplicates } from '../../../db/queries/sync/mark-duplicates.ts'
import {
  findClashing,
  findOvertaken,
  findRegisteredAgain,
  findToReassess,
  insertInstances,
  loadStagedFacts,
  type MergeAt,
  splitSharedRecords,
  updateInstances,
  vanishInstances,
  writeProblems,
} from '../../../db/queries/sync/merge-instances.ts'
import { mergeRecords } from '../../../db/queries/sync/merge-records.ts'
import { stageInventory } from '../../../db/queries/sync/stage-inventory.ts'
import { findOnStorage, findStorageGaps, findStorageTurns } from '../../../db/queries/sync/storage-turns.ts'
import { writeInstanceEvents, writeStagedEvents } from '../../../db/queries/sync/write-inventory-events.ts'
import { crashPoint } from '../../crash-point.ts'
import type { InstanceFacts } from '../../domain/inventory/facts.ts'
import { DroverError, FencedError } from '../../errors.ts'
import { judgeOnly, reassess } from '../judge/assess.ts'
import { decideInstances } from '../judge/decide-instances.ts'
import { writeLines } from '../judge/stage-line.ts'
import { mergeMachines } from './merge-machines.ts'

/** What a stage says about things that it does not mention. */
export type Reading =
  /** Everything: a missing thing is gone. */
  | 'full'
  /** Only changes: things are gone when the platform says so. */
  | 'delta'
  /** A part: nothing is gone. */
  | 'part'

export interface MergeOptions {
  readonly at: MergeAt
  readonly site: { readonly id: string; readonly name: string; readonly role: string }
  /** When the reading began, by the database's clock. */
  readonly begunAt: Date
  readonly reading: Reading
  readonly actor: string
  /** The first sync reports all it found in one event. */
  readonly quiet: boolean
  /** The waivers that new instances were judged with, as `signFleetWaivers` identifies them. */
  readonly judgedWith: string
}

export interface Merged {
  readonly appeared: number
  readonly changed: number
  readonly returned: number
  readonly vanished: number
  readonly pending: number
  /** Whether anything in the record has changed. */
  readonly isChange: boolean
}

/** Bounds the time of a statement, however large the fleet. */
const pageSize = 5_000
const redecidePage = 500

/**
 * Makes a stage the inventory, in one transaction that has locked the site. Decisions were made while the platform
 * streamed; decisions about records that have changed since are repeated.
 */
export const mergeStage = async (tx: Tx, options: MergeOptions): Promise<Merged> => {
  const { at, reading } = options
  const turned = await findStorageTurns(tx, at, options.quiet)
  let records = 0
  for (const table of recordTables) {
    const vanish = reading === 'full' ? 'missing' : reading === 'delta' ? 'told' : 'none'
    const merged = await mergeRecords(tx, table, at, vanish)
    records += merged.inserted + merged.updated + merged.gone
  }
  if (options.site.role !== 'source') {
    const { begunAt, actor, quiet, site } = options
    const machines = await mergeMachines(tx, { ...at, begunAt, actor, quiet, target: site.name }, reading)
    // A plan places machines on hosts and storage: their free room already accounts for what runs there.
    return { ...machines, isChange: records > 0 }
  }
  const instances = await mergeInstances(tx, options, turned)
  return { ...instances, isChange: instances.isChange || records > 0 }
}

const mergeInstances = async (tx: Tx, options: MergeOptions, turned: readonly string[]): Promise<Merged> => {
  const { at, site, reading, actor } = options
  await decideAnew(tx, options)
  await splitSharedRecords(tx, at)
  const written = await updateAll(tx, at)
  const appeared = await insertAll(tx, at)
  await analyzeInstances(tx, appeared)
  crashPoint('mid-merge')
  const gone =
    reading === 'part'
      ? { vanished: [], pending: [], shared: [] }
      : await vanishInstances(tx, at, reading === 'full')
  await writeProblems(tx, at)
  // Other sources wait from here on: the rest is short.
  await lockDuplicates(tx)
  const standing = await markDuplicates(tx, at, reading === 'full')
  const isCurrent = options.judgedWith === (await signFleetWaivers(tx))
  const stale = await findToReassess(tx, at, isCurrent)
  const clashing = await findClashing(tx, at)
  const affected = await findOnStorage(tx, at.siteId, [...turned, ...(await findStorageGaps(tx, at))])
  await reassess(tx, { instanceIds: [...stale, ...standing] })
  await judgeOnly(tx, [...clashing, ...affected, ...gone.shared])
  if (!options.quiet) {
    const by = { actor, site: site.name }
    await writeStagedEvents(tx, at, actor, site.name)
    await writeInstanceEvents(tx, { ...by, type: 'instance.vanished', ids: gone.vanished })
    await writeInstanceEvents(tx, { ...by, type: 'instance.pending', ids: gone.pending })
    await writeInstanceEvents(tx, { ...by, type: 'ignored', ids: standing })
  }
  const vanished = gone.vanished.length
  return {
    appeared,
    changed: written.update,
    returned: written.return,
    vanished,
    pending: written.pend + gone.pending.length,
    isChange: appeared + written.update + written.return + standing.length + vanished > 0,
  }
}

/** Repeats decisions about records that have changed since, and about machines that were registered again. */
const decideAnew = async (tx: Tx, options: MergeOptions): Promise<void> => {
  const { at, site, reading } = options
  const overtaken = await findOvertaken(tx, at)
  const again = reading === 'part' ? [] : await findRegisteredAgain(tx, at, reading === 'full')
  const refs = [...new Set([...overtaken, ...again.map(({ ref }) => ref)])]
  const gone = new Set(again.map(({ was }) => was))
  if (refs.length === 0) return
  const waivers = await findWaivers(tx, [])
  for (let start = 0; start < refs.length; start += redecidePage) {
    const staged = await loadStagedFacts(tx, at, refs.slice(start, start + redecidePage))
    const facts = staged.map((row) => row.facts as InstanceFacts | null)
    // Unchanged facts were not staged: only another reading can tell now.
    if (facts.includes(null)) throw overtakenError(site.name)
    const known = facts.filter((item) => item !== null)
    const lines = await decideInstances(tx, site, known, { waivers, refIsGone: (ref) => gone.has(ref) })
    for (const text of writeLines(lines))
      if (!(await stageInventory(tx, at, text))) throw new FencedError(at.jobId, at.epoch)
  }
}

const updateAll = async (tx: Tx, at: MergeAt) => {
  const total = { update: 0, return: 0, pend: 0, settle: 0 }
  for (let after = ''; ; ) {
    const { counts, last } = await updateInstances(tx, at, { after, limit: pageSize })
    for (const [action, count] of Object.entries(counts)) total[action as keyof typeof total] += count
    if (last === undefined) return total
    after = last
  }
}

const insertAll = async (tx: Tx, at: MergeAt): Promise<number> => {
  let count = 0
  for (let after = ''; ; ) {
    const page = await insertInstances(tx, at, { after, limit: pageSize })
    count += page.count
    if (page.last === undefined) return count
    after = page.last
  }
}

const overtakenError = (site: string): DroverError =>
  new DroverError({
    code: 'sync-overtaken',
    class: 'transient',
    message: `Instances of ${site} were changed by somebody else while they were read.`,
    remedy: 'Nothing to do: they are read once more.',
  })
