import { type Ref, refsIn } from '../../../xml/xml-node.ts'
import type { Call } from '../../ports/call.ts'
import type { InventoryItem } from '../../ports/inventory.ts'
import { readingLimits } from '../soap/odd-answer.ts'
import { retrieveOne } from '../soap/property-read.ts'
import { changesSince, type ObjectChange, takeTurn, type Watch } from '../soap/property-wait.ts'
import type { Session } from '../soap/session.ts'
import type { InstanceSurroundings } from './instance-facts.ts'
import { digestTags, tagsMayDiffer } from './instance-tags.ts'
import { cursorLost, type InventoryCursor } from './inventory-cursor.ts'
import { kindOf, readInstances, readSite, siteItems } from './inventory-read.ts'
import { concernsMany, isWatchLost } from './inventory-watched.ts'

/** The last word on each thing that changed, by ref. */
export type Changed = ReadonlyMap<string, ObjectChange>

/** Throws `platform-cursor-lost` when only a full reading can tell. */
export const collectChanges = async (
  session: Session,
  call: Call,
  watch: Watch,
): Promise<{ readonly changed: Changed; readonly version: string }> => {
  const changed = new Map<string, ObjectChange>()
  try {
    const changes = changesSince(session, call, watch)
    let step = await changes.next()
    while (!step.done) {
      for (const change of step.value) {
        if (concernsMany(change)) throw cursorLost(`${change.ref.type} ${change.ref.value} has another place`)
        const before = changed.get(change.ref.value)
        const paths = [...new Set([...(before?.paths ?? []), ...change.paths])]
        if (paths.length > readingLimits.pathsOfChange || changed.size >= readingLimits.changes)
          throw cursorLost('more has changed than a delta tells')
        changed.set(change.ref.value, { ...change, paths })
      }
      step = await changes.next()
    }
    return { changed, version: step.value }
  } catch (error) {
    throw lostWatch(error)
  }
}

/** The right to read on from a cursor, which is given once. */
export const claimCursor = async (
  session: Session,
  call: Call,
  { collector, version, turn }: InventoryCursor,
): Promise<Watch> => {
  const watch = { collector: { type: 'PropertyCollector', value: collector }, version, turn }
  return takeTurn(session, call, watch).catch((error: unknown) => {
    throw lostWatch(error)
  })
}

const lostWatch = (error: unknown): unknown =>
  isWatchLost(error) ? cursorLost('the server forgot what it was to notice, or told it before', error) : error

/** Things around machines that changed; their facts lean on each other, so all of them are read. */
export const changedSites = async (
  session: Session,
  call: Call,
  views: readonly Ref[],
  found: { readonly changed: Changed; readonly tree: InstanceSurroundings['tree'] },
): Promise<InventoryItem[]> => {
  const changes = [...found.changed.values()].filter(
    ({ ref }) => ref.type !== 'VirtualMachine' && kindOf(ref),
  )
  if (changes.length === 0) return []
  const refs = new Set(changes.filter(({ kind }) => kind !== 'leave').map(({ ref }) => ref.value))
  const vlansMoved = changes.some(({ paths }) => paths.some((path) => path.startsWith('config.network')))
  const site = refs.size === 0 ? [] : await readSite(session, call, views)
  const wanted = (item: InventoryItem): boolean => {
    const ref = 'facts' in item ? item.facts.ref : item.ref
    return refs.has(ref) || (vlansMoved && item.type === 'network' && item.facts.type === 'standard')
  }
  const items = siteItems(site, found.tree).filter(wanted)
  const there = new Set(site.map(({ ref }) => ref.value))
  const gone = changes.filter(({ ref }) => !there.has(ref.value))
  return [...items, ...gone.flatMap(({ ref }) => goneItem(ref))]
}

/** Machines that changed, and those whose tags may have. */
export async function* changedInstances(
  session: Session,
  call: Call,
  cursor: InventoryCursor,
  found: { readonly changed: Changed; readonly surroundings: InstanceSurroundings },
): AsyncGenerator<readonly InventoryItem[], void> {
  const refs = new Map<string, Ref>()
  const gone: Ref[] = []
  for (const { ref, kind } of found.changed.values()) {
    if (ref.type !== 'VirtualMachine') continue
    if (kind === 'leave') gone.push(ref)
    else refs.set(ref.value, ref)
  }
  const { tags } = found.surroundings
  const mayDiffer = tagsMayDiffer(Buffer.from(cursor.tags, 'base64'), digestTags(tags))
  if (mayDiffer)
    for (const ref of await machinesIn(session, call, cursor.machines))
      if (mayDiffer(ref.value)) refs.set(ref.value, ref)
  const left = [...refs.values()]
  for (let from = 0; from < left.length; from += chunk) {
    const asked = left.slice(from, from + chunk)
    const there = new Set<string>()
    for await (const items of readInstances(session, call, [{ refs: asked }], found.surroundings)) {
      for (const item of items) there.add('facts' in item ? item.facts.ref : item.ref)
      yield items
    }
    gone.push(...asked.filter(({ value }) => !there.has(value)))
  }
  if (gone.length > 0) yield gone.flatMap(goneItem)
}

const chunk = 200

const machinesIn = async (session: Session, call: Call, views: readonly string[]): Promise<Ref[]> => {
  const found: Ref[] = []
  for (const value of views) {
    const view = await retrieveOne(session, call, { type: 'ContainerView', value }, ['view'])
    if (!view.found) throw cursorLost('the server forgot what it was to notice')
    found.push(...refsIn(view.value.properties.get('view')).filter(({ type }) => type === 'VirtualMachine'))
  }
  return found
}

const goneItem = (ref: Ref): readonly InventoryItem[] => {
  const of = kindOf(ref)
  return of ? [{ type: 'gone', of, ref: ref.value }] : []
}
