import { child, childrenOf, flagOf, type Ref, refOf, textOf, type XmlNode } from '../../../xml/xml-node.ts'
import type { Call } from '../../ports/call.ts'
import { oddAnswer, readingLimits, wantedRef } from './odd-answer.ts'
import type { ObjectSet, PropertyPaths } from './property-read.ts'
import { filterSpec, objectBytes } from './property-read.ts'
import type { Session } from './session.ts'
import { element, wrap } from './soap-request.ts'

/** A collector at the server that notices changes, and how far it has told us of them. */
export interface Watch {
  readonly collector: Ref
  readonly version: string
  /** A filter without meaning that goes with this version: whoever removes it may read on from here. */
  readonly turn: string
}

export interface ObjectChange {
  readonly ref: Ref
  readonly kind: 'enter' | 'modify' | 'leave'
  /** Paths that changed, as the server names them. */
  readonly paths: readonly string[]
}

const pageSize = 500
/** A large server thinks for long before it says all; the call's own deadline ends it. */
const answerMs = 600_000

/**
 * Has the server notice changes of these objects from now on. It lives as long as the session does, also without
 * this process.
 */
export const openWatch = async (
  session: Session,
  call: Call,
  watched: readonly { readonly objects: ObjectSet; readonly properties: readonly PropertyPaths[] }[],
): Promise<Watch> => {
  const on = await session.manager(call, 'propertyCollector')
  const made = await session.call(call, { on, method: 'CreatePropertyCollector' })
  const collector = wantedRef(session.http, child(made, 'returnval'), 'a collector')
  for (const one of watched) {
    const body = filterSpec('spec', one) + element('partialUpdates', false)
    await session.call(call, { on: collector, method: 'CreateFilter', body })
  }
  // The first answers tell everything as it is; that is read elsewhere, with more of it.
  const first = changesSince(session, call, { collector, version: '' })
  let step = await first.next()
  while (!step.done) step = await first.next()
  return { collector, version: step.value, turn: await markTurn(session, call, collector) }
}

/**
 * Takes the turn: a server tells each change once and then forgets it, so that one version must not be read from
 * twice, not after a crash and not by two at the same time. Throws `platform-absent` when it has been taken.
 */
export const takeTurn = async (session: Session, call: Call, watch: Watch): Promise<Watch> => {
  const on = { type: 'PropertyFilter', value: watch.turn }
  await session.call(call, { on, method: 'DestroyPropertyFilter' })
  return { ...watch, turn: await markTurn(session, call, watch.collector) }
}

const markTurn = async (session: Session, call: Call, collector: Ref): Promise<string> => {
  const root = await session.manager(call, 'rootFolder')
  const watched = { objects: { refs: [root] }, properties: [{ type: root.type, paths: ['name'] }] }
  const body = filterSpec('spec', watched) + element('partialUpdates', false)
  const made = await session.call(call, { on: collector, method: 'CreateFilter', body })
  return refOf(child(made, 'returnval'))?.value ?? ''
}

/** What changed since; returns the version to go on from. Does not wait for changes to come. */
export async function* changesSince(
  session: Session,
  call: Call,
  watch: Omit<Watch, 'turn'>,
): AsyncGenerator<readonly ObjectChange[], string> {
  let { version } = watch
  const room = { bytes: readingLimits.flowingBytes, objects: readingLimits.flowingObjects }
  for (;;) {
    const before = room.objects
    const answer = yield* nextChanges(session, call, { ...watch, version }, room)
    const set = child(answer, 'returnval')
    // No answer means that nothing changed.
    if (!set) return version
    version = textOf(set, 'version')
    if (!flagOf(set, 'truncated')) return version
    if (room.objects === before)
      throw oddAnswer(session.http, 'a part without any change says that another one follows')
  }
}

async function* nextChanges(
  session: Session,
  call: Call,
  { collector, version }: Omit<Watch, 'turn'>,
  room: { bytes: number; objects: number },
): AsyncGenerator<readonly ObjectChange[], XmlNode> {
  const options = element('maxWaitSeconds', 0) + element('maxObjectUpdates', pageSize)
  const body = element('version', version) + wrap('options', options)
  const request = { on: collector, method: 'WaitForUpdatesEx', body }
  const updates = session.stream(call, request, {
    items: { name: 'objectSet', depth: 5 },
    limits: { totalBytes: room.bytes, depth: 64, itemBytes: objectBytes },
    answerMs,
    heard: (bytes) => {
      room.bytes -= bytes
    },
  })
  try {
    let step = await updates.next()
    while (!step.done) {
      room.objects -= step.value.length
      if (room.objects < 0) throw oddAnswer(session.http, 'it tells of more changes than there can be')
      if (version !== '') yield step.value.map((update) => readChange(session, update))
      step = await updates.next()
    }
    return step.value
  } finally {
    await updates.return(undefined as unknown as XmlNode)
  }
}

/** An ObjectUpdate. */
const readChange = (session: Session, update: XmlNode): ObjectChange => ({
  ref: wantedRef(session.http, child(update, 'obj'), 'a change'),
  kind: textOf(update, 'kind') as ObjectChange['kind'],
  paths: childrenOf(update, 'changeSet').map((change) => textOf(change, 'name')),
})
