import { statusOf, type WireError } from '../../platforms/lab/protocol.ts'
import { wireLimits } from '../../platforms/lab/wire-limits.ts'
import type { Lab } from '../model/context.ts'
import { invalid, refuse } from '../model/refusal.ts'
import {
  type EntityType,
  hostFacts,
  hostLoads,
  listEntities,
  projectFacts,
  projectUse,
  storageFacts,
  storageUse,
} from '../store/entities.ts'
import type { StoredFault } from '../store/faults.ts'
import { changedMachines, goneEntities, type ListedMachine, listMachines } from '../store/listing.ts'
import type { Site } from '../store/sites.ts'
import { machineFaults, strike } from './faults.ts'

export interface PageAsked {
  readonly site: Site
  readonly page: string
  readonly limit: number
  readonly scopes: readonly string[]
  readonly caller: string
  readonly faults: readonly StoredFault[]
}

/** A place in a reading: what it began at, and the machine that came last. */
interface Place {
  readonly generation: number
  /** The site's sequence when the reading began: a delta goes on from there, so nothing falls between. */
  readonly began: number
  /** Deltas: the sequence that came last. */
  readonly seq: number
  readonly ref: string
}

const encode = (place: Place): string => Buffer.from(JSON.stringify(place)).toString('base64url')

const decode = (text: string): Place => {
  try {
    const { generation, began, seq, ref } = JSON.parse(Buffer.from(text, 'base64url').toString()) as Place
    if ([generation, began, seq].every(Number.isSafeInteger) && typeof ref === 'string')
      return { generation, began, seq, ref }
  } catch {
    // Said below.
  }
  throw invalid('That is no place in a reading of this site.')
}

const cursorOf = (site: Site, seq: number): string => `${site.generation}.${seq}`

const lost = () =>
  refuse(
    'platform-cursor-lost',
    'What changed since then can no longer be told.',
    'Read everything once more.',
  )

const sinceOf = (site: Site, cursor: string): number => {
  const [generation, seq] = cursor.split('.').map(Number)
  if (generation !== site.generation || !Number.isSafeInteger(seq) || (seq ?? 0) > site.seq) throw lost()
  return seq ?? 0
}

/** One page of everything, as the text of its JSON: facts go from the database to the wire unparsed. */
export const fullPage = async (lab: Lab, asked: PageAsked): Promise<string> => {
  const { site } = asked
  const first = asked.page === ''
  const place = first ? { generation: site.generation, began: site.seq, seq: 0, ref: '' } : decode(asked.page)
  if (place.generation !== site.generation) throw lost()
  const rows = await listMachines(lab.db, { ...pageOf(asked), after: place.ref })
  const shown = rows.slice(0, asked.limit)
  const more = rows.length > asked.limit
  const entities = first ? await entityItems(lab, site.name, { since: -1 }) : []
  const machines = await machineItems(lab, shown, asked)
  return pageText([...entities, ...machines], {
    next: more ? encode({ ...place, ref: shown.at(-1)?.ref ?? '' }) : null,
    cursor: more ? null : cursorOf(site, place.began),
  })
}

/** One page of what changed since the cursor, tombstones included. */
export const changesPage = async (lab: Lab, asked: PageAsked & { since: string }): Promise<string> => {
  const { site } = asked
  const first = asked.page === ''
  const since = first ? sinceOf(site, asked.since) : 0
  const place = first
    ? { generation: site.generation, began: site.seq, seq: since, ref: '' }
    : decode(asked.page)
  if (place.generation !== site.generation) throw lost()
  const rows = await changedMachines(lab.db, { ...pageOf(asked), seq: place.seq, after: place.ref })
  const shown = rows.slice(0, asked.limit)
  const more = rows.length > asked.limit
  const last = shown.at(-1)
  const entities = first ? await entityItems(lab, site.name, { since }) : []
  const machines = await machineItems(lab, shown, asked)
  return pageText([...entities, ...machines], {
    next: more && last ? encode({ ...place, seq: last.seq, ref: last.ref }) : null,
    cursor: more ? null : cursorOf(site, place.began),
  })
}

/** One more than is shown, to know whether that is all. */
const pageOf = ({ site, scopes, limit }: PageAsked) => ({ site: site.name, scopes, limit: limit + 1 })

const pageText = (items: readonly string[], end: { next: string | null; cursor: string | null }): string =>
  `{"items":[${items.join(',')}],"next":${JSON.stringify(end.next)},"cursor":${JSON.stringify(end.cursor)}}`

const machineItems = async (
  lab: Lab,
  rows: readonly ListedMachine[],
  asked: PageAsked,
): Promise<string[]> => {
  const faults = machineFaults(asked.faults, asked.site.name)
  const items: string[] = []
  for (const row of rows) {
    const error = row.gone ? undefined : await whyUnseen(lab, row, { asked, faults })
    if (row.gone) items.push(JSON.stringify({ type: 'gone', of: 'instance', ref: row.ref }))
    else if (error)
      items.push(JSON.stringify({ type: 'problem', of: 'instance', ref: row.ref, name: row.name, error }))
    else items.push(`{"type":"instance","facts":${row.facts}}`)
  }
  return items
}

/** Why this one machine cannot be shown, if it cannot. */
const whyUnseen = async (
  lab: Lab,
  row: ListedMachine,
  by: { asked: PageAsked; faults: readonly StoredFault[] },
): Promise<WireError | undefined> => {
  if (row.dead) return problem('platform-unreachable', 'Its host does not answer.')
  if (row.unreadable !== null) return unreadable(row.unreadable)
  if (by.faults.length === 0) return undefined
  const target = { call: 'instance', site: by.asked.site.name, machine: row.ref, caller: by.asked.caller }
  const [fault] = await strike(lab, by.faults, target)
  if (!fault) return undefined
  if (fault.kind === 'error') return { ...problem(fault.code, fault.message), failure: fault.failure }
  return problem('platform-timeout', 'Its facts do not come.')
}

export const unreadable = (code: string): WireError =>
  problem(
    Object.hasOwn(statusOf, code) ? (code as WireError['code']) : 'platform-fault',
    'The configuration of this machine cannot be read.',
  )

const problem = (code: WireError['code'], message: string): WireError => ({
  code,
  failure: 'unknown',
  message,
  remedy: 'Look at this machine at its platform; the others came all the same.',
})

const listed = ['project', 'storage', 'host', 'network'] as const satisfies readonly EntityType[]

/** Everything that is no machine and changed after that number. There are few of them: they come with the first page. */
const entityItems = async (lab: Lab, site: string, page: { since: number }): Promise<string[]> => {
  const hosts = new Map((await hostLoads(lab.db, site)).map((load) => [load.host.ref, load]))
  const used = await storageUse(lab.db, site)
  const shares = await projectUse(lab.db, site)
  const items: string[] = []
  for (const type of listed) {
    for (const entity of await listEntities(lab.db, site, type)) {
      const load = hosts.get(entity.ref)
      if (type !== 'project' && type !== 'storage' && entity.seq <= page.since) continue
      const facts =
        type === 'host' && load
          ? hostFacts(load)
          : type === 'storage'
            ? storageFacts(entity as never, used.get(entity.ref) ?? 0)
            : type === 'project'
              ? projectFacts(entity as never, shares.get(entity.ref))
              : entity.data
      items.push(JSON.stringify({ type, facts }))
    }
  }
  if (page.since >= 0) items.push(...(await goneItems(lab, site, page.since)))
  return items
}

const goneItems = async (lab: Lab, site: string, since: number): Promise<string[]> => {
  const rows = await goneEntities(lab.db, { site, since, types: listed })
  return rows.map(({ type, ref }) => JSON.stringify({ type: 'gone', of: type, ref }))
}

export const pageLimit = (text: string | null): number => {
  const limit = text === null ? wireLimits.pageDefault : Number(text)
  if (!Number.isSafeInteger(limit) || limit < 1 || limit > wireLimits.pageMax)
    throw invalid(`A page has 1 to ${wireLimits.pageMax} items.`)
  return limit
}
