/** A descriptor of one machine with one network and these disks, each in a file of its own. */
export const testOvf = (
  disks: readonly { readonly id: string; readonly capacity: number; readonly size: number }[],
) => {
  const files = disks.map(
    (disk) => `<File ovf:href="${disk.id}.vmdk" ovf:id="file-${disk.id}" ovf:size="${disk.size}"/>`,
  )
  const sections = disks.map(
    (disk) =>
      `<Disk ovf:capacity="${disk.capacity}" ovf:capacityAllocationUnits="byte" ovf:diskId="${disk.id}"` +
      ` ovf:fileRef="file-${disk.id}"` +
      ' ovf:format="http://www.vmware.com/interfaces/specifications/vmdk.html#streamOptimized"/>',
  )
  const items = disks.map((disk, index) =>
    item(10 + index, 17, `Disk ${index}`, {
      AddressOnParent: String(index),
      HostResource: `ovf:/disk/${disk.id}`,
      Parent: '3',
    }),
  )
  return `<?xml version="1.0" encoding="UTF-8"?>
<Envelope xmlns="http://schemas.dmtf.org/ovf/envelope/1" xmlns:ovf="http://schemas.dmtf.org/ovf/envelope/1"
 xmlns:rasd="http://schemas.dmtf.org/wbem/wscim/1/cim-schema/2/CIM_ResourceAllocationSettingData"
 xmlns:vssd="http://schemas.dmtf.org/wbem/wscim/1/cim-schema/2/CIM_VirtualSystemSettingData">
<References>${files.join('')}</References>
<DiskSection><Info>Disks</Info>${sections.join('')}</DiskSection>
<NetworkSection><Info>Networks</Info><Network ovf:name="inside"><Description>One</Description></Network></NetworkSection>
<VirtualSystem ovf:id="image"><Info>A machine</Info>
<OperatingSystemSection ovf:id="96"><Info>Its system</Info></OperatingSystemSection>
<VirtualHardwareSection><Info>Its hardware</Info>
<System><vssd:ElementName>Hardware</vssd:ElementName><vssd:InstanceID>0</vssd:InstanceID>
<vssd:VirtualSystemType>vmx-13</vssd:VirtualSystemType></System>
${item(1, 3, 'Processors', { VirtualQuantity: '2' })}
${item(2, 4, 'Memory', { AllocationUnits: 'byte * 2^20', VirtualQuantity: '512' })}
${item(3, 6, 'SCSI controller', { Address: '0', ResourceSubType: 'VirtualSCSI' })}
${item(4, 10, 'Network card', { Connection: 'inside', ResourceSubType: 'VmxNet3' })}
${items.join('')}
</VirtualHardwareSection></VirtualSystem></Envelope>`
}

/** Elements of an item stand in the order of their names. */
const item = (id: number, type: number, name: string, more: Readonly<Record<string, string>>): string => {
  const all = { ...more, ElementName: name, InstanceID: String(id), ResourceType: String(type) }
  const elements = Object.entries(all).sort(([left], [right]) => (left < right ? -1 : 1))
  return `<Item>${elements.map(([key, value]) => `<rasd:${key}>${value}</rasd:${key}>`).join('')}</Item>`
}
