import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { shelfName } from '../../src/domain/template/names.ts'
import { jobOf } from '../support/ledger.ts'
import { serveArchive } from '../support/ova/archive-server.ts'
import { createImporter } from '../support/ova/image-world.ts'
import { ovaOf, vmdkDisk } from '../support/ova/ova.ts'
import { testOvf } from '../support/test-ovf.ts'
import { anyCall, startVsphere, vmFolder } from '../support/vsphere-machines.ts'

const { vcsim, ports } = await startVsphere()
const place = { project: '', pool: '', host: '', network: 'DC0_DVPG0' }
const importer = await createImporter(
  { name: 'cloud', ...vcsim.connection, kind: 'vsphere' },
  { folder: vmFolder, place },
)

const disks = [0, 1].map((index) => vmdkDisk(`disk-${index}`, randomBytes(1_048_576 * (index + 1))))
const ovf = testOvf(disks.map(({ id, capacity, bytes }) => ({ id, capacity, size: bytes.length })))
const archive = ovaOf({ disks, ovf, manifestLast: true })

const named = async (imageId: string) => {
  const name = shelfName({ imageId, folder: vmFolder })
  return (await ports.templates.templates(anyCall(), vmFolder)).filter((one) => one.name === name)
}

test('an archive is imported into vSphere with the bytes of its disks as they are', async () => {
  const server = await serveArchive(archive)
  const image = await importer.ask({ kind: 'url', url: server.url }, { requireManifest: true })
  await importer.worker().follow(image.jobId)
  expect(await jobOf(importer.db, image.jobId)).toMatchObject({ state: 'succeeded', error: null })
  const { ref } = await image.replica()
  expect(await named(image.id)).toMatchObject([{ ref, complete: true }])
  expect(await image.row()).toMatchObject({ state: 'ready', verified: 'manifest' })
})

test('an archive with a wrong hash at its very end leaves nothing in vSphere', async () => {
  const wrong = Buffer.from(archive)
  wrong.write('00000000', wrong.indexOf('SHA256(disk-1.vmdk)') + 22)
  const server = await serveArchive(wrong)
  const image = await importer.ask({ kind: 'url', url: server.url })
  await importer.worker().follow(image.jobId)
  expect(await jobOf(importer.db, image.jobId)).toMatchObject({
    state: 'failed',
    error: { code: 'image-hash-mismatch' },
  })
  expect(await named(image.id)).toEqual([])
})
