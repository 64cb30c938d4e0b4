import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { readTemplate } from '../../../db/queries/templates/list-templates.ts'
import { sweepDebts } from '../../../src/ledger/conductor/sweeps.ts'
import { openLab } from '../../../src/platforms/lab/lab.ts'
import { addTemplate } from '../../../src/template/ask/add-template.ts'
import { forgetTemplate } from '../../../src/template/ask/forget-template.ts'
import { removeImage } from '../../../src/template/ask/remove-image.ts'
import { recoverTemplate, rollBack, wantImage } from '../../../src/template/ask/want-image.ts'
import { imageImporter } from '../../../src/template/import/import-image.ts'
import { handleImportOva } from '../../../workers/handlers/import-ova.ts'
import { handleRemoveReplica } from '../../../workers/handlers/remove-replica.ts'
import { handleSwapTemplate } from '../../../workers/handlers/swap-template.ts'
import { createEntryWorker } from '../../support/entry-world.ts'
import { createInventoryWorker } from '../../support/inventory.ts'
import { serveArchive } from '../../support/ova/archive-server.ts'
import { createImageWorld, imageFolder } from '../../support/ova/image-world.ts'
import { ovaOf, vmdkDisk } from '../../support/ova/ova.ts'

const world = await createImageWorld()
const { db } = world
const { use } = createInventoryWorker(db, openLab)
const importImage = imageImporter({ dir: undefined, allowPrivate: true })
const handlers = [handleImportOva(importImage), handleSwapTemplate(importImage), handleRemoveReplica]
const worker = createEntryWorker(db, handlers, use)
const place = { project: 'default', pool: 'local', host: '', network: '' }

/** An image of bytes of its own, imported to the shelf. */
const importNew = async () => {
  const content = randomBytes(262_144)
  const server = await serveArchive(ovaOf({ disks: [vmdkDisk('disk-0', content)] }))
  const image = await world.ask({ kind: 'url', url: server.url })
  expect((await worker.finish(image.jobId)).state).toBe('succeeded')
  return { id: image.id, content, server }
}

const at = async () => {
  const line = await readTemplate(db, 'golden')
  if (!line) throw new Error('The template is gone.')
  return line
}

const finish = async () => {
  const { jobId } = await at()
  expect(await worker.finish(jobId ?? '')).toMatchObject({ state: 'succeeded', error: null })
  return at()
}

/** What clones are made from now. */
const production = async () => {
  const named = (await world.templates()).filter(({ name }) => name === 'golden-web')
  expect(named).toMatchObject([{ complete: true }])
  return named[0]?.ref ?? ''
}

const expectContent = async (content: Buffer) =>
  expect((await world.content(await production(), 'disk-0', content.length)).equals(content)).toBe(true)

test('a template follows what is asked of it, by renames alone, and takes along only what was confirmed', async () => {
  const [first, second] = [await importNew(), await importNew()]
  const ask = { name: 'golden', by: 'test' }
  await db.begin((tx) =>
    addTemplate(tx, {
      ...{ ...ask, target: 'cloud', folder: imageFolder, production: 'golden-web', image: first.id, place },
      ...{ keepVersions: 2, graceSeconds: 0, allowDowngrade: false },
    }),
  )
  expect(await finish()).toMatchObject({ state: 'live', versionLive: 1, imageLive: (await at()).image })
  await expectContent(first.content)
  await db.begin((tx) => wantImage(tx, { ...ask, image: second.id }))
  expect(await finish()).toMatchObject({ state: 'live', versionLive: 2 })
  await expectContent(second.content)
  await db.begin((tx) => rollBack(tx, { ...ask, version: undefined }))
  expect(await finish()).toMatchObject({ state: 'live', versionLive: 3, imageId: first.id })
  await expectContent(first.content)
  await db.begin((tx) => recoverTemplate(tx, ask))
  expect(await finish()).toMatchObject({ state: 'live', versionLive: 3, versionWanted: 3 })
  // Each archive was read for its import, and never again.
  expect([first.server.asked.length, second.server.asked.length]).toEqual([1, 1])
  await sweepDebts(db)
  const check = () => {}
  const refused = db.begin((tx) =>
    removeImage(tx, { image: first.id, destroy: false, confirmed: undefined, by: 'test', check }),
  )
  await expect(refused).rejects.toMatchObject({ code: 'image-in-use' })
  const ref = await production()
  const jobs = (await db.begin((tx) =>
    forgetTemplate(tx, { ...ask, destroy: true, confirmed: 1, check }),
  )) as readonly string[]
  for (const id of jobs) expect((await worker.finish(id)).state).toBe('succeeded')
  const left = await world.templates()
  expect(left.some((one) => one.ref === ref)).toBe(false)
  // The other image waits on the shelf still, until it is deleted with its copy.
  expect(left).toMatchObject([{ complete: true }])
  const removals = (await db.begin((tx) =>
    removeImage(tx, { image: second.id, destroy: true, confirmed: 1, by: 'test', check }),
  )) as readonly string[]
  for (const id of removals) expect((await worker.finish(id)).state).toBe('succeeded')
  expect(await world.templates()).toEqual([])
})
