import { type Ref, refOf, type XmlNode } from '../../../xml/xml-node.ts'
import type { PlatformHttp } from '../../http/platform-http.ts'
import { PlatformError } from '../../ports/platform-error.ts'

/**
 * How much is taken from a server that is broken or hostile. Far above what vSphere allows (2,500 hosts, 15,000
 * datastores, 60,000 ports of networks, 15,000 tags), and below what a process can hold.
 */
export const readingLimits = Object.freeze({
  /** Of an id: ids are keys of rows. */
  refChars: 512,
  /** All pages of what is held in memory as a whole: folders, hosts, networks, storage, single machines. */
  heldBytes: 128 * 1024 ** 2,
  heldObjects: 200_000,
  /** All pages of a reading of machines, which flows. */
  flowingBytes: 2 * 1024 ** 3,
  flowingObjects: 1_000_000,
  /** Of one delta; with more of them everything is read. */
  changes: 200_000,
  pathsOfChange: 1_000,
  tags: 20_000,
  taggedMachines: 1_000_000,
})

/** The server answered, and what it says makes no sense or would never end. */
export const oddAnswer = (http: PlatformHttp, why: string): PlatformError => {
  const { host } = new URL(http.origin)
  return new PlatformError({
    code: 'platform-answer-invalid',
    failure: 'unknown',
    message: `The answer of ${host} cannot be used: ${why}.`,
    remedy: 'Check that the address is that of a vCenter or an ESXi host and of nothing else.',
    detail: { host },
  })
}

/** The reference that must be there, and that can be kept. */
export const wantedRef = (http: PlatformHttp, node: XmlNode | undefined, what: string): Ref => {
  const ref = refOf(node)
  if (!ref) throw oddAnswer(http, `${what} has no id`)
  if (ref.value.length > readingLimits.refChars)
    throw oddAnswer(http, `the id of ${what} is longer than ${readingLimits.refChars} characters`)
  return ref
}
