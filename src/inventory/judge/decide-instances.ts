import { v7 as uuidv7 } from 'uuid'
import type { Queryable } from '../../../db/client.ts'
import type { WaiverInForce } from '../../../db/queries/instances/waivers-in-force.ts'
import {
  findInstanceMarks,
  type InstanceMark,
  type InstanceRecord,
  loadInstanceRecords,
} from '../../../db/queries/sync/find-records.ts'
import type { InstanceFacts } from '../../domain/inventory/facts.ts'
import { identify, whyIgnored } from '../../domain/inventory/identity.ts'
import { type Decision, decideInstance } from '../../domain/inventory/merge.ts'
import { cleanInstance } from '../../domain/inventory/normalise.ts'
import { detectOs } from '../../domain/inventory/os.ts'
import type { TrackingRecord } from '../../domain/inventory/tracking.ts'
import { countsInFleet, identitiesOf, judge, nobodyElse } from './judge.ts'
import { proveTracking } from './prove-tracking.ts'
import { type StageLine, writeFacts } from './stage-line.ts'

export interface SyncedSite {
  readonly id: string
  readonly name: string
}

/** One cleaned instance and its text. */
interface Seen {
  readonly facts: InstanceFacts
  readonly notes: readonly string[]
  readonly text: string
  readonly hash: string
}

interface Found {
  readonly seen: Seen
  readonly mark: InstanceMark | null
}

const maxNotes = 10

export interface DecideOptions {
  /** Of the whole fleet: a new instance is judged at once, without looking at others. */
  readonly waivers: readonly WaiverInForce[]
  readonly refIsGone?: (ref: string) => boolean
}

/**
 * What becomes of each instance that was read, given the records. The later of two readings of an instance wins.
 * `refIsGone` tells whether a live record's id is proved gone; while a reading streams, none is.
 */
export const decideInstances = async (
  db: Queryable,
  site: SyncedSite,
  facts: readonly InstanceFacts[],
  given: DecideOptions,
): Promise<StageLine[]> => {
  const seen = new Map<string, Seen>()
  for (const item of facts) {
    const { facts: clean, problems } = cleanInstance(item)
    seen.set(clean.ref, { facts: clean, notes: problems.slice(0, maxNotes), ...writeFacts(clean) })
  }
  const found = await findMarks(db, site, [...seen.values()], given.refIsGone ?? (() => false))
  const changed = found.filter(({ seen: item, mark }) => mark && !isUnchanged(item, mark))
  const ids = changed.map(({ mark }) => mark?.id ?? '')
  const records = new Map<string, InstanceRecord>()
  if (ids.length > 0) for (const record of await loadInstanceRecords(db, ids)) records.set(record.id, record)
  return found.map(({ seen: item, mark }) => {
    if (mark && isUnchanged(item, mark)) return seenLine(item, mark)
    const record = mark ? (records.get(mark.id) ?? null) : null
    const line = decidedLine(site, item, record)
    return record ? line : judgedLine(line, item.facts, given.waivers)
  })
}

const isUnchanged = (seen: Seen, mark: InstanceMark): boolean =>
  mark.hash === seen.hash && mark.ref === seen.facts.ref && !mark.gone && !mark.hasPending

const findMarks = async (
  db: Queryable,
  site: SyncedSite,
  seen: readonly Seen[],
  refIsGone: (ref: string) => boolean,
): Promise<Found[]> => {
  const refs = seen.map(({ facts }) => facts.ref)
  const uuids = seen.map(({ facts }) => facts.uuid).filter((uuid) => uuid !== '')
  const marks = await findInstanceMarks(db, site.id, { refs, uuids })
  const atRef = new Map<string, InstanceMark>()
  const byUuid = new Map<string, InstanceMark[]>()
  for (const mark of marks) {
    const other = atRef.get(mark.ref)
    if (!other || other.gone) atRef.set(mark.ref, mark)
    if (mark.uuid !== '') byUuid.set(mark.uuid, [...(byUuid.get(mark.uuid) ?? []), mark])
  }
  return seen.map((item) => {
    const { ref, uuid } = item.facts
    const known = atRef.get(ref) ?? null
    if (known && !known.gone) return { seen: item, mark: known }
    const sameUuid = (byUuid.get(uuid) ?? []).filter((mark) => mark.ref !== ref)
    return { seen: item, mark: identify({ seen: item.facts, atRef: known, sameUuid, refIsGone }).known }
  })
}

/**
 * The findings of a new instance, while the platform still streams. Clashes with others, and datastores that are
 * missing or unreadable, are known only at the end; the instances concerned are judged again then.
 */
const judgedLine = (line: StageLine, facts: InstanceFacts, waivers: readonly WaiverInForce[]): StageLine => {
  const instance = { id: line.recordId ?? '', facts, overrides: {}, tracking: trackingOf(line) }
  const { id: _id, ...judgement } = judge(instance, {
    fleet: nobodyElse,
    waivers,
    datastoreAccessible: () => true,
  })
  const ignored = typeof line.more?.ignored === 'string' ? line.more.ignored : null
  const identities = countsInFleet({ ignored, gone: false }) ? identitiesOf(facts, {}) : []
  const datastores = [...new Set(facts.disks.map((disk) => disk.datastore).filter((name) => name !== ''))]
  return { ...line, more: { ...line.more, ...judgement, identities, datastores } }
}

const trackingOf = (line: StageLine): TrackingRecord => (line.more?.tracking ?? {}) as TrackingRecord

const seenLine = (seen: Seen, mark: InstanceMark): StageLine => ({
  kind: 'instance',
  ref: seen.facts.ref,
  action: 'seen',
  recordId: mark.id,
  base: mark.base,
  hash: seen.hash,
  name: seen.facts.name,
  factsText: null,
  more: null,
})

const decidedLine = (site: SyncedSite, seen: Seen, record: InstanceRecord | null): StageLine => {
  const frozen = record?.frozen ?? false
  const decision = decideInstance({ known: record, seen: seen.facts, frozen })
  const action = quietAction(decision)
  if (action === 'vanish') throw new Error('An instance that was seen cannot vanish.')
  return {
    kind: 'instance',
    ref: seen.facts.ref,
    action,
    recordId: record?.id ?? uuidv7(),
    base: record?.base ?? null,
    hash: seen.hash,
    name: decision.facts.name,
    factsText: factsTextOf(seen, decision),
    more: columnsOf(site, decision, { frozen, notes: frozen ? [] : seen.notes }),
  }
}

/** A disk's fill level and its tracking position change constantly: they are recorded without an event. */
const movesByItself = /^disks\[[^\]]*\]\.(used|change_id)$/

const quietAction = (decision: Decision): Exclude<Decision['action'], 'unchanged'> => {
  // A changed text without changed facts is still written: the record keeps facts that the platform has dropped.
  if (decision.action === 'unchanged') return 'settle'
  const quiet = decision.action === 'update' && decision.changes.every(({ path }) => movesByItself.test(path))
  return quiet ? 'settle' : decision.action
}

const factsTextOf = (seen: Seen, decision: Decision): string | null => {
  if (decision.action === 'insert') return seen.text
  const writes = decision.action === 'update' || decision.action === 'return'
  return writes ? writeFacts(decision.facts).text : null
}

/** Every column of an instance's row that follows from its facts. */
export const derivedColumns = (source: string, facts: InstanceFacts) => {
  // Duplicate UUIDs are found at the end, over all sources.
  const ignored = whyIgnored({ facts, source, ownerOf: () => undefined })
  return {
    uuid: facts.uuid,
    location: facts.location,
    ...detectOs(facts),
    ignored: ignored?.reason ?? null,
    ignored_detail: ignored?.sentence ?? null,
  }
}

const columnsOf = (
  site: SyncedSite,
  decision: Decision,
  { frozen, notes }: { readonly frozen: boolean; readonly notes: readonly string[] },
) => ({
  ...derivedColumns(site.name, decision.facts),
  tracking: frozen ? decision.tracking : proveTracking(decision.facts, decision.tracking),
  pending: decision.pending,
  notes,
  changes: decision.changes,
  kinds: decision.kinds,
})
