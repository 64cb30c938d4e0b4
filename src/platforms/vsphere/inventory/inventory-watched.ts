import { PlatformError } from '../../ports/platform-error.ts'
import type { ObjectChange } from '../soap/property-wait.ts'
import { isSessionLost } from '../soap/session.ts'

/**
 * What tells that something changed. Few and small, as the server keeps and compares them: `changeVersion` moves
 * with every change of a machine's configuration. What changes is then read as a whole.
 */
export const watchedMachines = [
  {
    type: 'VirtualMachine',
    paths: [
      ...['name', 'parent', 'resourcePool', 'snapshot', 'customValue', 'config.changeVersion'],
      ...['config.template', 'runtime.powerState', 'runtime.host', 'runtime.connectionState'],
      ...['runtime.consolidationNeeded', 'runtime.faultToleranceState', 'guest.net', 'guest.hostName'],
      ...['guest.toolsRunningStatus', 'guest.toolsVersionStatus2'],
    ],
  },
]

/** The same for what is around machines. */
export const watchedSites = [
  {
    type: 'HostSystem',
    paths: [
      ...['name', 'parent', 'runtime.connectionState', 'runtime.inMaintenanceMode'],
      'config.network.portgroup',
    ],
  },
  { type: 'Datastore', paths: ['name', 'parent', 'summary.accessible', 'summary.capacity'] },
  { type: 'Network', paths: ['name', 'parent', 'summary.accessible'] },
  { type: 'OpaqueNetwork', paths: ['name', 'parent', 'summary.accessible'] },
  {
    type: 'DistributedVirtualPortgroup',
    paths: ['name', 'parent', 'summary.accessible', 'config.configVersion'],
  },
  { type: 'Folder', paths: ['name', 'parent'] },
  { type: 'Datacenter', paths: ['name', 'parent'] },
  { type: 'ComputeResource', paths: ['name', 'parent'] },
  { type: 'ClusterComputeResource', paths: ['name', 'parent'] },
  { type: 'ResourcePool', paths: ['name', 'parent'] },
  { type: 'VirtualApp', paths: ['name', 'parent'] },
]

/** The place or the name of something that many machines mention: who they are, only a full reading tells. */
export const concernsMany = ({ ref, kind, paths }: ObjectChange): boolean =>
  kind === 'modify' &&
  ref.type !== 'VirtualMachine' &&
  paths.some((path) => path === 'name' || path === 'parent')

/** The server has forgotten what it was to notice: session, collector, or how far it had told. */
export const isWatchLost = (error: unknown): boolean =>
  isSessionLost(error) ||
  (error instanceof PlatformError && (error.failure === 'absent' || error.code === 'platform-cursor-lost'))
