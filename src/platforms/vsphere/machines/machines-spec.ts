import type { Ref } from '../../../xml/xml-node.ts'
import type { NewDisk, NewNic } from '../../ports/machines.ts'
import { element, refElement, wrap } from '../soap/soap-request.ts'

/** How a network card is plugged in: three kinds of networks, three kinds of backings. */
export type NicBacking =
  | { readonly kind: 'standard'; readonly network: Ref; readonly name: string }
  | { readonly kind: 'distributed'; readonly switchUuid: string; readonly portgroupKey: string }
  | { readonly kind: 'opaque'; readonly networkId: string; readonly networkType: string }

export interface PlacedNic {
  readonly nic: NewNic
  readonly backing: NicBacking
}

export interface PlacedDisk {
  readonly disk: NewDisk
  readonly datastore: Ref
  readonly datastoreName: string
}

/** What is changed in a machine, or what a new one is made of. Empty fields are left as they are. */
export interface ConfigChange {
  readonly machineName?: string
  readonly instanceUuid?: string
  readonly annotation?: string
  readonly directory?: string
  readonly guestId?: string
  readonly cpus?: number
  readonly memoryMb?: number
  /** Device changes as XML, made here. */
  readonly devices?: readonly string[]
  readonly extraConfig?: Readonly<Record<string, string>>
  readonly secureBoot?: boolean
  readonly changeTracking?: boolean
  readonly firmware?: 'bios' | 'efi'
}

/** The inside of a VirtualMachineConfigSpec; vSphere wants the elements in the order of its schema. */
export const configSpec = (change: ConfigChange): string =>
  [
    optional('name', change.machineName),
    optional('instanceUuid', change.instanceUuid),
    optional('guestId', change.guestId),
    optional('annotation', change.annotation),
    change.directory === undefined ? '' : wrap('files', element('vmPathName', change.directory)),
    optional('numCPUs', change.cpus),
    optional('memoryMB', change.memoryMb),
    ...(change.devices ?? []),
    ...optionValues(change.extraConfig ?? {}),
    change.secureBoot === undefined
      ? ''
      : wrap('bootOptions', element('efiSecureBootEnabled', change.secureBoot)),
    optional('changeTrackingEnabled', change.changeTracking),
    optional('firmware', change.firmware),
  ].join('')

/** What stands up to and with `extraConfig` in the schema: an entry of ours goes behind the last of these. */
export const upToExtraConfig: ReadonlySet<string> = new Set([
  ...['changeVersion', 'name', 'version', 'createDate', 'uuid', 'instanceUuid', 'npivNodeWorldWideName'],
  ...['npivPortWorldWideName', 'npivWorldWideNameType', 'npivDesiredNodeWwns', 'npivDesiredPortWwns'],
  ...['npivTemporaryDisabled', 'npivOnNonRdmDisks', 'npivWorldWideNameOp', 'locationId', 'guestId'],
  ...['alternateGuestName', 'annotation', 'files', 'tools', 'flags', 'consolePreferences', 'powerOpInfo'],
  ...['rebootPowerOff', 'numCPUs', 'vcpuConfig', 'numCoresPerSocket', 'memoryMB', 'memoryHotAddEnabled'],
  ...['cpuHotAddEnabled', 'cpuHotRemoveEnabled', 'virtualICH7MPresent', 'virtualSMCPresent', 'deviceChange'],
  ...['cpuAllocation', 'memoryAllocation', 'latencySensitivity', 'cpuAffinity', 'memoryAffinity'],
  ...['networkShaper', 'cpuFeatureMask', 'extraConfig'],
])

export const optionValues = (options: Readonly<Record<string, string>>): readonly string[] =>
  Object.entries(options).map(([key, value]) =>
    wrap('extraConfig', element('key', key) + element('value', value, 'xsd:string'), 'OptionValue'),
  )

/** Keys of devices that do not exist yet are negative; the server gives them theirs. */
const controllerKey = -100
const firstDiskKey = -200
const firstNicKey = -300
/** Unit 7 of a SCSI bus is the controller's own. */
const ownUnit = 7
const mostUnits = 16

/** One SCSI controller with the disks on it, at most 15: what a single controller takes. */
export const diskDevices = (disks: readonly PlacedDisk[]): readonly string[] =>
  disks.length === 0 ? [] : [scsiController(), ...disks.map(newDisk)]

export const mostDisks = mostUnits - 1

const scsiController = (): string =>
  deviceChange(
    'add',
    'ParaVirtualSCSIController',
    element('key', controllerKey) + element('busNumber', 0) + element('sharedBus', 'noSharing'),
  )

const newDisk = ({ disk, datastore, datastoreName }: PlacedDisk, index: number): string => {
  const backing = wrap(
    'backing',
    element('fileName', `[${datastoreName}]`) +
      refElement('datastore', datastore) +
      element('diskMode', 'persistent') +
      element('thinProvisioned', true),
    'VirtualDiskFlatVer2BackingInfo',
  )
  return deviceChange(
    'add',
    'VirtualDisk',
    element('key', firstDiskKey - index) +
      backing +
      element('controllerKey', controllerKey) +
      element('unitNumber', index < ownUnit ? index : index + 1) +
      element('capacityInKB', Math.ceil(disk.capacity / 1024)) +
      element('capacityInBytes', disk.capacity),
    'create',
  )
}

export const nicDevices = (nics: readonly PlacedNic[]): readonly string[] =>
  nics.map((placed, index) => deviceChange('add', 'VirtualVmxnet3', nicBody(firstNicKey - index, placed)))

export const removedDevice = (key: number, type: string): string =>
  deviceChange('remove', type, element('key', key))

const nicBody = (key: number, { nic, backing }: PlacedNic): string =>
  element('key', key) +
  nicBacking(backing) +
  wrap(
    'connectable',
    element('startConnected', true) + element('allowGuestControl', true) + element('connected', true),
  ) +
  (nic.mac === '' ? '' : element('addressType', 'manual') + element('macAddress', nic.mac))

const nicBacking = (backing: NicBacking): string => {
  switch (backing.kind) {
    case 'standard':
      return wrap(
        'backing',
        element('deviceName', backing.name) + refElement('network', backing.network),
        'VirtualEthernetCardNetworkBackingInfo',
      )
    case 'distributed':
      return wrap(
        'backing',
        wrap(
          'port',
          element('switchUuid', backing.switchUuid) + element('portgroupKey', backing.portgroupKey),
        ),
        'VirtualEthernetCardDistributedVirtualPortBackingInfo',
      )
    case 'opaque':
      return wrap(
        'backing',
        element('opaqueNetworkId', backing.networkId) + element('opaqueNetworkType', backing.networkType),
        'VirtualEthernetCardOpaqueNetworkBackingInfo',
      )
  }
}

const deviceChange = (
  operation: 'add' | 'remove',
  type: string,
  device: string,
  fileOperation?: 'create',
): string =>
  wrap(
    'deviceChange',
    element('operation', operation) + optional('fileOperation', fileOperation) + wrap('device', device, type),
    'VirtualDeviceConfigSpec',
  )

const optional = (name: string, value: string | number | boolean | undefined): string =>
  value === undefined ? '' : element(name, value)
