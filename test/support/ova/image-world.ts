import { v7 as uuidv7 } from 'uuid'
import type { Db } from '../../../db/client.ts'
import { findImage } from '../../../db/queries/templates/image-rows.ts'
import type { ImageReplicaRow, ImageRow } from '../../../db/schema/template.ts'
import { systemClock } from '../../../src/clock.ts'
import type { ImageSource } from '../../../src/domain/template/image.ts'
import { openLab } from '../../../src/platforms/lab/lab.ts'
import { openVsphere } from '../../../src/platforms/vsphere/vsphere.ts'
import { addImage } from '../../../src/template/ask/add-image.ts'
import { imageImporter } from '../../../src/template/import/import-image.ts'
import type { SourceMeans } from '../../../src/template/import/source.ts'
import { handleImportOva } from '../../../workers/handlers/import-ova.ts'
import { LeaseKeeper } from '../../../workers/lease-keeper.ts'
import { Platforms } from '../../../workers/platforms.ts'
import { Runner } from '../../../workers/runner.ts'
import { atEnd } from '../cleanup.ts'
import { quietLog, testSealer } from '../events.ts'
import { makeSite } from '../inventory.ts'
import { createLab, type TestLab } from '../lab.ts'
import { jobOf, leaseMs, makeDue } from '../ledger.ts'
import { createDatabase } from '../postgres.ts'

export const imageFolder = '/cloud/templates'

export interface ImageWorker {
  /** One turn of a job, as if its bell had been heard. */
  follow(id: string): Promise<void>
  readonly keeper: LeaseKeeper
}

export interface Importer {
  readonly db: Db
  worker(means?: Partial<SourceMeans>): ImageWorker
  /** An image and the job that imports it. */
  ask(source: ImageSource, over?: { sha256?: string; requireManifest?: boolean }): Promise<AskedImage>
}

export interface ImageWorld extends Importer {
  readonly lab: TestLab
  /** Templates of the folder by what the lab says, but for its own. */
  templates(): Promise<readonly { ref: string; name: string; complete: boolean }[]>
  /** The first bytes of a disk of a template. */
  content(ref: string, disk: string, length: number): Promise<Buffer>
}

export interface AskedImage {
  readonly id: string
  readonly jobId: string
  row(): Promise<ImageRow>
  replica(): Promise<ImageReplicaRow>
}

const noMeans: SourceMeans = { dir: undefined, allowPrivate: true }

/** A worker in this process that imports images to a target, which is called `cloud` here. */
export const createImporter = async (
  target: Parameters<typeof makeSite>[1],
  at: Pick<Parameters<typeof addImage>[1], 'folder' | 'place'>,
): Promise<Importer> => {
  const { db } = await createDatabase()
  await makeSite(db, { ...target, role: 'target', connectivity: 'ok', quiet: true })
  return {
    db,
    worker: (means = {}) => workerOf(db, { ...noMeans, ...means }),
    ask: (source, over) => ask(db, { ...at, source }, over),
  }
}

/** The same to a lab. */
export const createImageWorld = async (): Promise<ImageWorld> => {
  const lab = await createLab()
  const endpoint = lab.endpoint('cloud')
  const { password } = lab
  const place = { project: 'default', pool: 'local', host: '', network: '' }
  const importer = await createImporter({ name: 'cloud', endpoint, password }, { folder: imageFolder, place })
  const site = await lab.signIn('cloud')
  return {
    ...importer,
    lab,
    templates: async () => {
      const { json } = await site.call(`GET /templates?folder=${imageFolder}`)
      const { templates } = json as { templates: { ref: string; name: string; complete: boolean }[] }
      return templates.filter(({ name }) => name !== 'debian-12')
    },
    content: async (ref, disk, length) =>
      (await site.call(`GET /instances/${ref}/disks/${disk}/bytes?offset=0&length=${length}`)).bytes,
  }
}

const workerOf = (db: Db, means: SourceMeans): ImageWorker => {
  const platforms = new Platforms({
    sealer: testSealer,
    caller: 'drover/test',
    openers: { lab: openLab, vsphere: openVsphere },
  })
  atEnd(() => platforms.close())
  const handler = handleImportOva(imageImporter(means))
  const base = { db, workerId: uuidv7(), leaseMs, clock: systemClock, log: quietLog }
  const keeper = new LeaseKeeper(base)
  const runner = new Runner({
    ...base,
    keeper,
    usePlatform: platforms.use.bind(platforms),
    handlers: new Map([[handler.kind.kind, handler]]),
    undoers: new Map(Object.entries(handler.undoers ?? {})),
  })
  return {
    keeper,
    follow: async (id) => {
      await makeDue(db, id)
      const { kind, generation } = await jobOf(db, id)
      await runner.follow(kind, { id, generation })
    },
  }
}

const ask = async (
  db: Db,
  at: Pick<Parameters<typeof addImage>[1], 'folder' | 'place' | 'source'>,
  over: { sha256?: string; requireManifest?: boolean } = {},
): Promise<AskedImage> => {
  const { id } = (await db.begin((tx) =>
    addImage(tx, {
      ...{ name: `image-${uuidv7().slice(-8)}`, target: 'cloud', by: 'test', ...at },
      ...{ expectedDigest: over.sha256 ?? null, requireManifest: over.requireManifest ?? false },
    }),
  )) as { id: string }
  const row = async () => {
    const found = await findImage(db, id)
    if (!found) throw new Error('The image is gone.')
    return found
  }
  return {
    id,
    jobId: (await row()).jobId ?? '',
    row,
    replica: async () =>
      (
        await db<ImageReplicaRow[]>`select * from image_replica where image_id = ${id}::uuid`
      )[0] as ImageReplicaRow,
  }
}
