import { expect, test } from 'vitest'
import { readOvf } from '../../../src/disks/ovf/ovf-descriptor.ts'
import { bytesOf } from '../../../src/disks/ovf/units.ts'
import { ovfOf, vmdkDisk } from '../../support/ova/ova.ts'

const disk = vmdkDisk('d0', Buffer.alloc(4_096))
const ovf = ovfOf({
  disks: [disk],
  sections: '<EulaSection><Info/><License>Be kind.</License></EulaSection>',
})

const read = (change: (text: string) => string = (text) => text) => readOvf(Buffer.from(change(ovf)))

test('a descriptor says what machine it is', () => {
  expect(read()).toMatchObject({
    ...{ product: 'Golden', vendor: 'Example', version: '1.2', os: 'debian12_64Guest' },
    ...{ cpus: 2, memory: 512 * 1024 ** 2, firmware: 'efi', secureBoot: false },
    ...{ networks: ['inside'], eula: 'Be kind.' },
    disks: [{ id: 'd0', capacity: 4_096, format: 'vmdk', file: { href: 'd0.vmdk', isGzip: false } }],
  })
})

test('secure boot is told, and hardware of OVF 2 is found', () => {
  const secure = '<vmw:Config vmw:key="bootOptions.efiSecureBootEnabled" vmw:value="true"/>'
  const changed = read((text) =>
    text
      .replace('<vmw:Config', `${secure}<vmw:Config`)
      .replace(/<Item>(.*?17.*?)<\/Item>/, '<StorageItem>$1</StorageItem>'),
  )
  expect(changed).toMatchObject({ secureBoot: true, disks: [{ id: 'd0' }] })
})

test('a disk without a file is an empty disk', () => {
  expect(read((text) => text.replace('ovf:fileRef="file-d0"', '')).disks).toMatchObject([
    { id: 'd0', file: null, capacity: 4_096 },
  ])
})

test.each([
  ['4', 'byte * 2^30', 4 * 1024 ** 3],
  ['4', 'byte * 10^9', 4e9],
  ['2', 'byte * 1024', 2_048],
  ['16', 'GigaBytes', 16 * 1024 ** 3],
  ['7', '', 7],
  ['7', 'furlong', null],
  ['', 'byte', null],
  ['-1', 'byte', null],
  ['9', 'byte * 2^99', null],
])('%s %s are %s bytes', (amount, units, bytes) => {
  expect(bytesOf(amount, units)).toBe(bytes)
})
