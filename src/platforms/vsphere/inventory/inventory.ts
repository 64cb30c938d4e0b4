import type { InstanceFacts } from '../../../domain/inventory/facts.ts'
import type { Ref } from '../../../xml/xml-node.ts'
import type { PlatformHttp } from '../../http/platform-http.ts'
import { beginCall, type Call, withinCall } from '../../ports/call.ts'
import type { InventoryPort, Scan, ScanOptions } from '../../ports/inventory.ts'
import type { Found } from '../../ports/task.ts'
import { retrieveOne } from '../soap/property-read.ts'
import { openWatch } from '../soap/property-wait.ts'
import { Session, type SessionAccount } from '../soap/session.ts'
import type { Vapi } from '../soap/vapi.ts'
import { type InstanceSurroundings, readInstance } from './instance-facts.ts'
import { digestTags, noTags, readTags, readTagsOf } from './instance-tags.ts'
import { changedInstances, changedSites, claimCursor, collectChanges } from './inventory-changes.ts'
import { cursorLost, digestOf, packCursor, unpackCursor } from './inventory-cursor.ts'
import {
  instanceProperties,
  readAttributeNames,
  readInstances,
  readSite,
  siteItems,
} from './inventory-read.ts'
import { normalScopes, openViews } from './inventory-scopes.ts'
import { readTree } from './inventory-tree.ts'
import { watchedMachines, watchedSites } from './inventory-watched.ts'

export interface InventoryParts {
  readonly http: PlatformHttp
  readonly account: SessionAccount
  /** For single questions; readings have sessions of their own, which outlive us when a delta is to follow. */
  readonly session: Session
  readonly vapi: Vapi
}

export const inventoryPort = (parts: InventoryParts): InventoryPort => ({
  scan: (call, options) => withDeadline(call, (own) => scan(parts, own, options)),
  changes: (call, options) => withDeadline(call, (own) => changes(parts, own, options)),
  instance: (call, ref) =>
    withinCall(call, (signal) => readOne(parts, { ...call, signal }, { type: 'VirtualMachine', value: ref })),
})

const readOne = async (
  { session, vapi }: InventoryParts,
  call: Call,
  ref: Ref,
): Promise<Found<InstanceFacts>> => {
  const read = await retrieveOne(session, call, ref, instanceProperties.paths)
  if (!read.found) return { found: false }
  const surroundings = {
    tree: await readTree(session, call),
    attributes: await readAttributeNames(session, call),
    tags: (await session.content(call)).isVcenter ? await readTagsOf(vapi, call, ref.value) : noTags,
  }
  return { found: true, value: readInstance(read.value, surroundings) }
}

/** One deadline over all that a reading asks, not one for each question. */
async function* withDeadline(call: Call, read: (own: Call) => Scan): Scan {
  const begun = beginCall(call)
  try {
    return yield* read({ ...call, signal: begun.signal })
  } finally {
    begun.end()
  }
}

async function* scan(parts: InventoryParts, call: Call, options: ScanOptions): Scan {
  const session = new Session(parts.http, parts.account)
  let isKept = false
  try {
    const views = await openViews(session, call, options.scopes, () => readTree(session, call))
    // First the watching, then the reading: what changes in between is in the next delta.
    const watch = await openWatch(session, call, [
      ...views.machines.map((view) => ({ objects: { view }, properties: watchedMachines })),
      ...views.around.map((view) => ({ objects: { view }, properties: watchedSites })),
    ])
    const surroundings = await readSurroundings(parts, session, call)
    yield siteItems(await readSite(session, call, views.around), surroundings.tree)
    const sets = views.machines.map((view) => ({ view }))
    yield* readInstances(session, call, sets, surroundings)
    const cursor = packCursor({
      instance: (await session.content(call)).instanceUuid,
      cookie: session.cookie,
      collector: watch.collector.value,
      version: watch.version,
      turn: watch.turn,
      machines: views.machines.map((view) => view.value),
      around: views.around.map((view) => view.value),
      scopes: digestOf(normalScopes(options.scopes)),
      ...digests(surroundings),
    })
    isKept = cursor !== null
    return { cursor }
  } finally {
    if (!isKept) await session.logout()
  }
}

async function* changes(
  parts: InventoryParts,
  call: Call,
  options: ScanOptions & { readonly cursor: string },
): Scan {
  const cursor = unpackCursor(options.cursor)
  if (cursor.scopes !== digestOf(normalScopes(options.scopes))) throw cursorLost('the scopes are others now')
  const session = new Session(parts.http, parts.account, cursor.cookie)
  if ((await session.content(call)).instanceUuid !== cursor.instance)
    throw cursorLost('another server answers at this address')
  // Until here the session may be somebody else's, who reads on from the same cursor.
  const watch = await claimCursor(session, call, cursor)
  let isKept = false
  try {
    const { changed, version } = await collectChanges(session, call, watch)
    const surroundings = await readSurroundings(parts, session, call)
    const now = digests(surroundings)
    if (now.attributes !== cursor.attributes) throw cursorLost('custom attributes have other names now')
    const views = cursor.around.map((value) => ({ type: 'ContainerView', value }))
    const sites = await changedSites(session, call, views, { changed, tree: surroundings.tree })
    if (sites.length > 0) yield sites
    yield* changedInstances(session, call, cursor, { changed, surroundings })
    isKept = true
    return { cursor: packCursor({ ...cursor, ...now, version, turn: watch.turn }) }
  } finally {
    if (!isKept) await session.logout()
  }
}

const digests = ({ attributes, tags }: InstanceSurroundings) => ({
  attributes: digestOf([...attributes]),
  tags: digestTags(tags).toString('base64'),
})

const readSurroundings = async (
  { vapi }: InventoryParts,
  session: Session,
  call: Call,
): Promise<InstanceSurroundings> => ({
  tree: await readTree(session, call),
  attributes: await readAttributeNames(session, call),
  tags: (await session.content(call)).isVcenter ? await readTags(vapi, call) : noTags,
})
