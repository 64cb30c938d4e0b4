import { expect, test } from 'vitest'
import type { ImageDisk } from '../../../src/platforms/ports/templates.ts'
import {
  matchDisks,
  networkNames,
  resend,
  specWithEntries,
} from '../../../src/platforms/vsphere/templates/templates-ovf.ts'
import { xmlNode } from '../../support/soap-answers.ts'

const disk = (id: string): ImageDisk => ({
  id,
  capacity: 1,
  size: 1,
  format: 'vmdk-stream',
  open: () => Promise.reject(new Error('Nobody reads it here.')),
})

const wanted = (path: string) => ({ deviceId: `/x/${path}`, path, isNew: false })

const ovf = `<ovf:Envelope>
<ovf:References>
  <ovf:File ovf:id="file1" ovf:href="root &amp; boot.vmdk" ovf:size="5" />
  <ovf:File ovf:href='data.vmdk' ovf:id='file2'/>
</ovf:References>
<ovf:DiskSection><ovf:Disk ovf:diskId="vmdisk2" ovf:fileRef="file2" ovf:capacity="1"/>
<ovf:Disk ovf:diskId="vmdisk1" ovf:fileRef="file1" ovf:capacity="1"/></ovf:DiskSection>
<ovf:NetworkSection><ovf:Network ovf:name="A &lt; B"/><ovf:Network ovf:name='inside'></ovf:Network>
<ovf:Network ovf:name="inside"/></ovf:NetworkSection></ovf:Envelope>`

test('a disk of an image is known by its file, by the id of that, or by its own id', () => {
  const files = [wanted('root & boot.vmdk'), wanted('data.vmdk')]
  for (const [root, data] of [
    ['root & boot.vmdk', 'data.vmdk'],
    ['file1', 'file2'],
    ['vmdisk1', 'vmdisk2'],
  ] as const) {
    const disks = [disk(data), disk(root)]
    expect(matchDisks(ovf, files, disks).map((pair) => [pair.file.path, pair.disk.id])).toEqual([
      ['root & boot.vmdk', root],
      ['data.vmdk', data],
    ])
  }
})

test('a file without a disk and a disk without a file are refused by name', () => {
  const files = [wanted('root & boot.vmdk'), wanted('data.vmdk')]
  expect(() => matchDisks(ovf, files, [disk('file1')])).toThrow('no disk for data.vmdk')
  const one = [wanted('data.vmdk')]
  expect(() => matchDisks(ovf, one, [disk('file2'), disk('odd')])).toThrow('does not name its disk odd')
  expect(matchDisks('', [], [])).toEqual([])
})

test('the networks of a descriptor are each named once', () => {
  expect(networkNames(ovf)).toEqual(['A < B', 'inside'])
  expect(networkNames('<NetworkConnection name="no"/>')).toEqual([])
})

test('what vSphere wrote is sent back with its types and references', () => {
  const text =
    '<configSpec xsi:type="VirtualMachineConfigSpec"><name>a &amp; b</name><empty></empty>' +
    '<value xsi:type="xsd:boolean">true</value><net type="Network">network-1</net>' +
    '<any xsi:type="ManagedObjectReference" type="Datastore">ds-1</any></configSpec>'
  const named = `xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"`
  const node = xmlNode(text.replace('<configSpec', `<configSpec ${named}`))
  const again = resend(node)
  expect(
    again.replace(
      '<any type="Datastore" xsi:type="ManagedObjectReference">',
      '<any xsi:type="ManagedObjectReference" type="Datastore">',
    ),
  ).toBe(text)
  expect(resend(node, 'spec')).toMatch(/^<spec xsi:type="VirtualMachineConfigSpec">.*<\/spec>$/)
})

test('entries of ours go where the schema has them, with or without others before and after', () => {
  const place = (inner: string) =>
    specWithEntries(
      xmlNode(
        `<importSpec xsi:type="VirtualMachineImportSpec"><configSpec>${inner}</configSpec></importSpec>`,
      ),
      ['<ours/>'],
    )
  const wrapped = (inner: string) =>
    `<spec xsi:type="VirtualMachineImportSpec"><configSpec>${inner}</configSpec></spec>`
  expect(place('<name>x</name><firmware>efi</firmware>')).toBe(
    wrapped('<name>x</name><ours/><firmware>efi</firmware>'),
  )
  expect(place('<extraConfig>1</extraConfig><vAppConfig>2</vAppConfig>')).toBe(
    wrapped('<extraConfig>1</extraConfig><ours/><vAppConfig>2</vAppConfig>'),
  )
  expect(place('<sevEnabled>true</sevEnabled>')).toBe(wrapped('<ours/><sevEnabled>true</sevEnabled>'))
  expect(place('')).toBe(wrapped('<ours/>'))
  const several = xmlNode('<importSpec xsi:type="VirtualAppImportSpec"></importSpec>')
  expect(() => specWithEntries(several, [])).toThrow('not one machine')
})
