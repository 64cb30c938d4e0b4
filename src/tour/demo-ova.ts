import { createHash } from 'node:crypto'
import { mkdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

const block = 512
const diskBytes = 4 * 1024 ** 2

/**
 * Writes an OVA of a small machine for the demonstration: descriptor, manifest and one raw disk. The same version has
 * the same bytes at every start. Returns its path.
 */
export const writeDemoOva = async (dir: string, version: string): Promise<string> => {
  await mkdir(dir, { recursive: true, mode: 0o700 })
  const path = join(dir, `golden-${version}.ova`)
  // Written under another name first, so a worker never reads half an archive.
  await writeFile(`${path}.part`, demoOva(version), { mode: 0o600 })
  await rename(`${path}.part`, path)
  return path
}

export const demoOva = (version: string): Buffer => {
  const disk = demoDisk(version)
  const descriptor = Buffer.from(demoDescriptor(version))
  const digest = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')
  const manifest = `SHA256(golden.ovf)= ${digest(descriptor)}\nSHA256(golden-disk1.img)= ${digest(disk)}\n`
  return Buffer.concat([
    tarEntry('golden.ovf', descriptor),
    tarEntry('golden.mf', Buffer.from(manifest)),
    tarEntry('golden-disk1.img', disk),
    Buffer.alloc(2 * block),
  ])
}

/** A quarter of the disk holds data, as in a real image. */
const demoDisk = (version: string): Buffer => {
  const disk = Buffer.alloc(diskBytes)
  let piece = createHash('sha256').update(`golden ${version}`).digest()
  for (let at = 0; at < diskBytes / 4; at += piece.length) {
    piece.copy(disk, at)
    piece = createHash('sha256').update(piece).digest()
  }
  return disk
}

const demoDescriptor = (version: string): string => `<?xml version="1.0" encoding="UTF-8"?>
<Envelope xmlns="http://schemas.dmtf.org/ovf/envelope/1" xmlns:ovf="http://schemas.dmtf.org/ovf/envelope/1"
  xmlns:rasd="http://schemas.dmtf.org/wbem/wscim/1/cim-schema/2/CIM_ResourceAllocationSettingData">
  <References><File ovf:href="golden-disk1.img" ovf:id="file1" ovf:size="${diskBytes}"/></References>
  <DiskSection><Info>Disks</Info>
    <Disk ovf:diskId="disk1" ovf:fileRef="file1" ovf:capacity="${diskBytes}" ovf:capacityAllocationUnits="byte" ovf:format="raw"/>
  </DiskSection>
  <NetworkSection><Info>Networks</Info><Network ovf:name="office"/></NetworkSection>
  <VirtualSystem ovf:id="golden"><Info>A golden image of the lab</Info>
    <ProductSection><Info>Product</Info><Product>Golden lab image</Product><Version>${version}</Version></ProductSection>
    <OperatingSystemSection ovf:id="96"><Info>Debian</Info></OperatingSystemSection>
    <VirtualHardwareSection><Info>Hardware</Info>
      <Item><rasd:ElementName>cpu</rasd:ElementName><rasd:ResourceType>3</rasd:ResourceType><rasd:VirtualQuantity>1</rasd:VirtualQuantity></Item>
      <Item><rasd:ElementName>memory</rasd:ElementName><rasd:AllocationUnits>byte * 2^20</rasd:AllocationUnits><rasd:ResourceType>4</rasd:ResourceType><rasd:VirtualQuantity>512</rasd:VirtualQuantity></Item>
      <Item><rasd:ElementName>disk</rasd:ElementName><rasd:HostResource>ovf:/disk/disk1</rasd:HostResource><rasd:ResourceType>17</rasd:ResourceType></Item>
      <Item><rasd:Connection>office</rasd:Connection><rasd:ElementName>nic</rasd:ElementName><rasd:ResourceType>10</rasd:ResourceType></Item>
    </VirtualHardwareSection>
  </VirtualSystem>
</Envelope>
`

const tarEntry = (name: string, bytes: Buffer): Buffer => {
  const header = Buffer.alloc(block)
  header.write(name, 0, 100)
  header.write('0000644\0', 100)
  header.write(`${bytes.length.toString(8).padStart(11, '0')}\0`, 124)
  header.write('00000000000\0', 136)
  header.fill(0x20, 148, 156)
  header.write('0', 156)
  header.write('ustar\x0000', 257)
  const sum = header.reduce((all, byte) => all + byte, 0)
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  return Buffer.concat([header, bytes, Buffer.alloc((block - (bytes.length % block)) % block)])
}
