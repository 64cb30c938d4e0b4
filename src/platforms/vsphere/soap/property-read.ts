import { child, childrenOf, type Ref, sameRef, textOf, type XmlNode } from '../../../xml/xml-node.ts'
import type { Call } from '../../ports/call.ts'
import { PlatformError } from '../../ports/platform-error.ts'
import type { Found } from '../../ports/task.ts'
import { oddAnswer, readingLimits, wantedRef } from './odd-answer.ts'
import { isSessionLost, type Session, sessionLost } from './session.ts'
import { localizedFault, type VsphereFault } from './soap-fault.ts'
import { element, refElement, type SoapRequest, wrap } from './soap-request.ts'

/** One managed object as far as it could be read. */
export interface ObjectRead {
  readonly ref: Ref
  /** By path; what is unset on the server is not there. */
  readonly properties: ReadonlyMap<string, XmlNode>
  /** By path, what could not be read and why. */
  readonly missing: ReadonlyMap<string, VsphereFault>
}

export interface PropertyPaths {
  readonly type: string
  readonly paths: readonly string[]
}

/** Which objects: these, or all that a view holds. */
export type ObjectSet = { readonly refs: readonly Ref[] } | { readonly view: Ref }

export interface RetrieveOptions {
  readonly objects: ObjectSet
  readonly properties: readonly PropertyPaths[]
  /** How many objects a page may have; a server may send more, or all. */
  readonly pageSize?: number
  /** It flows, machine by machine, and nobody holds all of it. */
  readonly flows?: true
}

const usualPage = 500
/** A large server thinks for long before it says all; the call's own deadline ends it. */
const answerMs = 600_000
/** One object: a machine with hundreds of snapshots and devices stays well below. */
export const objectBytes = 32 * 1024 ** 2

/** What is left of a reading, over all its pages. */
interface Room {
  bytes: number
  objects: number
}

const roomFor = ({ objects, flows }: RetrieveOptions): Room => {
  if (flows) return { bytes: readingLimits.flowingBytes, objects: readingLimits.flowingObjects }
  const most = 'refs' in objects ? objects.refs.length : readingLimits.heldObjects
  return { bytes: readingLimits.heldBytes, objects: most }
}

/**
 * Reads properties of many objects as a stream. A consumer that stops early frees what the server holds for it.
 * Objects that are gone do not come.
 */
export async function* retrieve(
  session: Session,
  call: Call,
  options: RetrieveOptions,
): AsyncGenerator<readonly ObjectRead[], void> {
  const on = await session.manager(call, 'propertyCollector')
  const { pageSize = usualPage } = options
  const room = roomFor(options)
  const body = filterSpec('specSet', options) + wrap('options', element('maxObjects', pageSize))
  let request: SoapRequest = { on, method: 'RetrievePropertiesEx', body, repeatable: true }
  let token = ''
  try {
    for (;;) {
      token = yield* page(session, call, request, room)
      if (token === '') return
      // Not repeatable: the server moves on with each.
      request = { on, method: 'ContinueRetrievePropertiesEx', body: element('token', token) }
    }
  } finally {
    if (token !== '') await cancel(session, on, token)
  }
}

/** Some objects of one type, in no order. Those that are gone are not in it. */
export const retrieveSome = async (
  session: Session,
  call: Call,
  refs: readonly Ref[],
  properties: PropertyPaths,
): Promise<readonly ObjectRead[]> => {
  if (refs.length === 0) return []
  const read = async () => {
    const found: ObjectRead[] = []
    for await (const objects of retrieve(session, call, { objects: { refs }, properties: [properties] }))
      found.push(...objects)
    return found
  }
  try {
    return await read()
  } catch (error) {
    if (!isSessionLost(error)) throw error
    session.forget()
    return await read()
  }
}

/** One object; `found: false` is the server's clear word that there is none. */
export const retrieveOne = async (
  session: Session,
  call: Call,
  ref: Ref,
  paths: readonly string[],
): Promise<Found<ObjectRead>> => {
  try {
    const all = await retrieveSome(session, call, [ref], { type: ref.type, paths })
    const value = all.find((one) => sameRef(one.ref, ref))
    return value && !isGone(value) ? { found: true, value } : { found: false }
  } catch (error) {
    if (error instanceof PlatformError && error.failure === 'absent') return { found: false }
    throw error
  }
}

/** It went while it was read: the server names it, and says of each property that there is no such object. */
const isGone = ({ properties, missing }: ObjectRead): boolean =>
  properties.size === 0 &&
  missing.size > 0 &&
  [...missing.values()].every(({ type }) => type === 'ManagedObjectNotFound')

/** A view of everything of these types below a container; it lives as long as the session or until destroyed. */
export const createView = async (
  session: Session,
  call: Call,
  container: Ref,
  types: readonly string[],
): Promise<Ref> => {
  const on = await session.manager(call, 'viewManager')
  const body =
    refElement('container', container) +
    types.map((type) => element('type', type)).join('') +
    element('recursive', true)
  const answer = await session.call(call, { on, method: 'CreateContainerView', body })
  return wantedRef(session.http, child(answer, 'returnval'), 'a view')
}

/** Never throws: the server drops views with their session. */
export const destroyView = async (session: Session, view: Ref): Promise<void> => {
  try {
    await session.call(cleanUp(), { on: view, method: 'DestroyView' })
  } catch {
    // It goes with the session.
  }
}

/** Under its own short deadline: the call that it cleans up after may have ended already. */
export const cleanUp = (): Call => ({
  signal: new AbortController().signal,
  timeoutMs: 5_000,
  name: 'clean-up',
})

/** `PropertyFilterSpec`, as an element of the given name. */
export const filterSpec = (
  name: string,
  { objects, properties }: Pick<RetrieveOptions, 'objects' | 'properties'>,
): string =>
  wrap(
    name,
    properties
      .map(({ type, paths }) =>
        wrap('propSet', element('type', type) + paths.map((path) => element('pathSet', path)).join('')),
      )
      .join('') +
      objectSets(objects) +
      element('reportMissingObjectsInResults', true),
  )

const objectSets = (objects: ObjectSet): string =>
  'refs' in objects
    ? objects.refs.map((ref) => wrap('objectSet', refElement('obj', ref))).join('')
    : wrap(
        'objectSet',
        refElement('obj', objects.view) +
          element('skip', true) +
          wrap('selectSet', element('type', 'ContainerView') + element('path', 'view'), 'TraversalSpec'),
      )

async function* page(
  session: Session,
  call: Call,
  request: SoapRequest,
  room: Room,
): AsyncGenerator<readonly ObjectRead[], string> {
  const before = room.objects
  const objects = session.stream(call, request, {
    items: { name: 'objects', depth: 4 },
    limits: { totalBytes: room.bytes, depth: 64, itemBytes: objectBytes },
    answerMs,
    heard: (bytes) => {
      room.bytes -= bytes
    },
  })
  try {
    let step = await objects.next()
    while (!step.done) {
      room.objects -= step.value.length
      if (room.objects < 0) throw oddAnswer(session.http, 'it holds more objects than were asked for')
      yield step.value.map((content) => readObject(content, session))
      step = await objects.next()
    }
    const token = textOf(child(step.value, 'returnval'), 'token')
    // Else it could go on like that for ever.
    if (token !== '' && room.objects === before)
      throw oddAnswer(session.http, 'a page without any object says that another one follows')
    return token
  } finally {
    await objects.return(undefined as unknown as XmlNode)
  }
}

/** An ObjectContent. */
const readObject = (content: XmlNode, session: Session): ObjectRead => {
  const properties = new Map<string, XmlNode>()
  for (const one of content.children) {
    if (one.name !== 'propSet') continue
    const value = child(one, 'val')
    if (value) properties.set(textOf(one, 'name'), value)
  }
  return {
    ref: wantedRef(session.http, child(content, 'obj'), 'an object'),
    properties,
    missing: readMissing(childrenOf(content, 'missingSet'), session),
  }
}

const nothingMissing: ReadonlyMap<string, VsphereFault> = new Map()

const readMissing = (missingSet: readonly XmlNode[], session: Session): ReadonlyMap<string, VsphereFault> => {
  if (missingSet.length === 0) return nothingMissing
  const missing = new Map<string, VsphereFault>()
  for (const one of missingSet) {
    const node = child(one, 'fault')
    const fault = node ? localizedFault(node) : { type: '', message: '' }
    // Some servers answer a forgotten session with objects of which nothing may be read.
    if (fault.type === 'NotAuthenticated') throw sessionLost(session.http)
    missing.set(textOf(one, 'path'), fault)
  }
  return missing
}

const cancel = async (session: Session, on: Ref, token: string): Promise<void> => {
  try {
    const body = element('token', token)
    await session.call(cleanUp(), { on, method: 'CancelRetrievePropertiesEx', body })
  } catch {
    // The server drops it with the session.
  }
}
