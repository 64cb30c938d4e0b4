import { Readable } from 'node:stream'
import { z } from 'zod'
import { loadSiteById } from '../../db/queries/sites/load-site.ts'
import type { SiteRow } from '../../db/schema/inventory.ts'
import { ownedImage, ownerOfImage } from '../../src/domain/template/names.ts'
import { callBy, type Undoer } from '../../src/ledger/job.ts'
import { again } from '../../src/platforms/ports/bounded-wait.ts'
import { portOf } from '../../src/platforms/ports/ports.ts'
import type { ImageDisk } from '../../src/platforms/ports/templates.ts'
import type { ImportImage } from '../../src/template/swap/swap-work.ts'

export interface PlainImporter {
  readonly importImage: ImportImage
  readonly undoer: Undoer
}

export interface PlainImport {
  readonly installation: string
  readonly disks?: readonly ImageDisk[]
  /** Where the undo finds the site; not given: in Postgres. */
  readonly site?: SiteRow
}

const undoSchema = z.object({ target_id: z.string(), folder: z.string(), name: z.string() })
export const plainImportKind = 'plain-import'

/** A disk of so many bytes, all the same. */
export const plainDisk = (bytes: number): ImageDisk => ({
  ...{ id: 'disk-0', capacity: bytes, size: bytes, format: 'raw' },
  open: async () => Readable.from([Buffer.alloc(bytes, 7)]),
})

/** The least that an importer is: one effect, its name by the replica, undone where it is not whole. */
export const plainImporter = ({ installation, disks = [], site }: PlainImport): PlainImporter => ({
  importImage: (ctx, { image, replica, target, templateName }) =>
    ctx.usePlatform(target, async (platform) => {
      const templates = portOf(platform, 'templates')
      const { folder, project, pool, host, network } = replica
      const call = callBy(ctx, `${ctx.job.id}/import/${replica.id}`, 60_000)
      const owner = ownerOfImage({ imageId: image.id, installation })
      const { externalId } = await ctx.effect({
        kind: plainImportKind,
        platform: target.name,
        name: `import ${replica.id}`,
        undo: { target_id: target.id, folder, name: templateName },
        observe: async () => {
          const all = await again(call, () => templates.templates(call, folder))
          const there = all.find(({ name, complete }) => name === templateName && complete)
          const isOurs = there !== undefined && ownedImage(there.owner, installation) === image.id
          return isOurs ? { found: true, externalId: there.ref } : { found: false }
        },
        act: async () => {
          const place = { folder, project, pool, host, network }
          const wanted = { ...place, templateName, ovf: '', cpus: 1, memory: 1024 ** 3, disks, owner }
          return { externalId: await templates.importImage(call, wanted, () => {}) }
        },
      })
      const read = { digest: '0'.repeat(64), sizeBytes: 1, verified: 'none' } as const
      const facts = image.facts ?? {
        ...{ product: '', version: '', vendor: '', os: '', cpus: 1, memory: 1, firmware: '' },
        ...{ disks: [], networks: [] },
      }
      return { ref: externalId ?? '', read: { ...read, facts, ovf: '' } }
    }),
  undoer: async (undoing) => {
    const { target_id: targetId, folder, name } = undoSchema.parse(undoing.effect.undo)
    const target = site ?? (await loadSiteById(undoing.db, targetId))
    if (!target) return
    await undoing.usePlatform(target, async (platform) => {
      const templates = portOf(platform, 'templates')
      const { effect } = undoing
      const call = callBy(undoing, `${effect.id}/undo/${effect.attempts}`, 30_000)
      const all = await again(call, () => templates.templates(call, folder))
      const rest = all.find((one) => one.name === name && !one.complete)
      if (!rest || ownedImage(rest.owner, installation) === undefined) return
      call.confirm()
      const task = await templates.destroyTemplate(call, rest.ref)
      await task.wait(call)
    })
  },
})
