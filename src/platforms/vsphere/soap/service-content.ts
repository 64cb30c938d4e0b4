import { child, type Ref, refOf, textOf, type XmlNode } from '../../../xml/xml-node.ts'
import { PlatformError, unsupported } from '../../ports/platform-error.ts'

/** What a server says of itself before anybody signs in. */
export interface ServiceContent {
  readonly product: string
  readonly version: string
  readonly build: string
  /** A vCenter, or else a single ESXi host. */
  readonly isVcenter: boolean
  /** Dotted: `8.0.2.0`. */
  readonly apiVersion: string
  /** Empty on ESXi. */
  readonly instanceUuid: string
  /** Managers by their name in the API: `rootFolder`, `propertyCollector`, `taskManager`, … */
  readonly refs: ReadonlyMap<string, Ref>
}

export const serviceInstance: Ref = { type: 'ServiceInstance', value: 'ServiceInstance' }

export const readServiceContent = (returnval: XmlNode | undefined): ServiceContent => {
  const about = child(returnval, 'about')
  const refs = new Map<string, Ref>()
  for (const one of returnval?.children ?? []) {
    const ref = one.refType === '' ? undefined : refOf(one)
    if (ref) refs.set(one.name, ref)
  }
  return {
    product: textOf(about, 'name'),
    version: textOf(about, 'version'),
    build: textOf(about, 'build'),
    isVcenter: textOf(about, 'apiType') === 'VirtualCenter',
    apiVersion: textOf(about, 'apiVersion'),
    instanceUuid: textOf(about, 'instanceUuid'),
    refs,
  }
}

/** The manager of that name. ESXi lacks some that vCenter has. */
export const managerOf = (content: ServiceContent, name: string): Ref => {
  const ref = content.refs.get(name)
  if (ref) return ref
  throw new PlatformError({
    code: 'platform-unsupported',
    failure: 'unsupported',
    message: `${content.product || 'This server'} has no ${name}.`,
    remedy: content.isVcenter
      ? 'This version of vCenter cannot do it.'
      : 'A single ESXi host cannot do it: connect to its vCenter instead.',
    detail: { manager: name },
  })
}

/** Refuses what a vCenter alone can do, before anything of it is begun. */
export const requireVcenter = (content: ServiceContent, what: string): void => {
  if (!content.isVcenter) throw unsupported('A single ESXi host', what)
}
