import type { DeviceFacts } from '../../../domain/inventory/facts.ts'
import { child, flagOf, meaningOf, textOf, type XmlNode } from '../../../xml/xml-node.ts'

/** Devices that matter when a machine moves; controllers, keyboards and screens every platform has. */
const kinds: Readonly<Record<string, DeviceFacts['kind']>> = {
  VirtualPCIPassthrough: 'pci-passthrough',
  VirtualUSB: 'usb',
  VirtualSriovEthernetCard: 'sriov-nic',
  VirtualSerialPort: 'serial',
  VirtualParallelPort: 'parallel',
  VirtualCdrom: 'cdrom',
  VirtualFloppy: 'floppy',
  VirtualTPM: 'tpm',
  VirtualNVDIMM: 'nvdimm',
  VirtualSCSIPassthrough: 'other',
  VirtualPrecisionClock: 'other',
  VirtualWDT: 'other',
}

export const readDevices = (devices: readonly XmlNode[]): DeviceFacts[] =>
  devices.flatMap((device) => {
    const kind = kindOf(device)
    if (!kind) return []
    const connectable = child(device, 'connectable')
    return {
      kind,
      label: textOf(child(device, 'deviceInfo'), 'label') || device.xsiType,
      // What cannot be unplugged is always in.
      connected: connectable ? flagOf(connectable, 'connected') : true,
    }
  })

const kindOf = (device: XmlNode): DeviceFacts['kind'] | undefined =>
  child(device, 'backing')?.xsiType === 'VirtualPCIPassthroughVmiopBackingInfo'
    ? 'vgpu'
    : meaningOf(kinds, device.xsiType)
