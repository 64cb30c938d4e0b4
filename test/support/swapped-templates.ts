import { randomBytes } from 'node:crypto'
import { v7 as uuidv7 } from 'uuid'
import { expect } from 'vitest'
import type { Db, Tx } from '../../db/client.ts'
import { wakeTimedOutWaits } from '../../db/queries/leases/wake-timed-out-waits.ts'
import { insertImage, moveImage } from '../../db/queries/templates/image-rows.ts'
import type { TemplateRow } from '../../db/schema/template.ts'
import { type TemplateNames, templateNames } from '../../src/domain/template/names.ts'
import { sweepDebts, sweepLeases } from '../../src/ledger/conductor/sweeps.ts'
import { installationId } from '../../src/ledger/installation.ts'
import type { UsePlatform } from '../../src/ledger/job.ts'
import { openLab } from '../../src/platforms/lab/lab.ts'
import type { Platform } from '../../src/platforms/ports/ports.ts'
import type { ImageDisk, TemplateFacts } from '../../src/platforms/ports/templates.ts'
import { addTemplate } from '../../src/template/ask/add-template.ts'
import { wantImage } from '../../src/template/ask/want-image.ts'
import { handleSettleDebt } from '../../workers/handlers/settle-debt.ts'
import { handleSwapTemplate } from '../../workers/handlers/swap-template.ts'
import { LeaseKeeper } from '../../workers/lease-keeper.ts'
import { Platforms } from '../../workers/platforms.ts'
import { Runner } from '../../workers/runner.ts'
import { Dead, type Fate, Life, liveAs, mortalDb } from '../simulation/operation/life.ts'
import { atEnd } from './cleanup.ts'
import { quietLog, testSealer } from './events.ts'
import { checkInvariants } from './invariants.ts'
import { makeSite } from './inventory.ts'
import { createLab, type SiteClient, type TestLab } from './lab.ts'
import { expire, jobOf, leaseMs, makeDue } from './ledger.ts'
import { plainDisk, plainImporter, plainImportKind } from './plain-importer.ts'
import { createDatabase } from './postgres.ts'

export const goldenFolder = '/cloud/templates'
const diskBytes = 3 * 1024 * 1024

/** Ends a process at a point: the first time that it comes there, or a later one. */
export const deathAt = (point: string, pass = 1): Fate => fateAt('death', point, pass)
/** The same, and it wakes up later. */
export const freezeAt = (point: string, pass = 1): Fate => fateAt('freeze', point, pass)
const noFate: Fate = { diesAfter: null, freezesAfter: null }

const fateAt = (how: 'death' | 'freeze', point: string, pass: number): Fate => {
  let left = pass
  const met = new (class extends Set<string> {
    override has(name: string): boolean {
      if (name !== point) return true
      left -= 1
      return left > 0
    }
  })()
  return { ...noFate, seeks: { for: how, met } }
}

/** The templates of a platform as a process reaches them: it dies or freezes before and after a call. */
const livedPlatform = (platform: Platform, life: Life): Platform => {
  const { templates } = platform.ports
  if (!templates) return platform
  const lived = new Proxy(templates, {
    get: (port, name) => {
      const call = Reflect.get(port, name)
      if (typeof call !== 'function') return call
      return async (...given: unknown[]) => {
        await life.rest(`before ${String(name)}`)
        const answer = await (call as (...args: unknown[]) => Promise<unknown>).apply(port, given)
        await life.rest(`after ${String(name)}`)
        return answer
      }
    },
  })
  return { ...platform, ports: { ...platform.ports, templates: lived } }
}

export interface Golden {
  readonly name: string
  readonly names: TemplateNames
  row(): Promise<TemplateRow>
  /** Wants an image; the first one of a template is wanted when it is added. */
  want(image: string): Promise<void>
  /** One turn of its job, as far as the fate lets it; gives a frozen process to be thawed. */
  turn(fate?: Fate): Promise<{ readonly life: Life; readonly end: Promise<unknown> }>
  /** The dead have lost their leases, and turns are taken until the job is over. */
  finish(): Promise<{ readonly state: string; readonly error: Record<string, unknown> | null }>
  /** What is under its names, and who is beside them. */
  seen(): Promise<Readonly<Record<'production' | 'temp' | 'old', TemplateFacts | undefined>>>
}

export interface SwapLab {
  readonly db: Db
  readonly lab: TestLab
  readonly site: SiteClient
  /** The disk that imports read; a test may have it end early. */
  disk: ImageDisk
  image(version?: string): Promise<string>
  golden(image: string, settings?: { keepVersions?: number; graceSeconds?: number }): Promise<Golden>
  fault(rule: Record<string, unknown>): Promise<void>
  /** Debts are due, and tried once each. */
  settleDebts(fate?: Fate): Promise<void>
  /** Jobs whose worker has died are open again. */
  takeBack(): Promise<void>
  objects(folder?: string): Promise<readonly TemplateFacts[]>
  /** One turn of any job. */
  run(jobId: string): Promise<void>
}

/** A lab with templates, the real ledger and the product's handler, in processes that die and freeze at any point. */
export const createSwapLab = async (): Promise<SwapLab> => {
  const { db } = await createDatabase()
  const lab = await createLab()
  await makeSite(db, {
    ...{ role: 'target', name: 'cloud', connectivity: 'ok', quiet: true },
    ...{ endpoint: lab.endpoint('cloud'), password: lab.password },
  })
  const site = await lab.signIn('cloud')
  const platforms = new Platforms({ sealer: testSealer, caller: 'drover/test', openers: { lab: openLab } })
  atEnd(() => platforms.close())
  const installation = await installationId(db)
  const world = { db, lab, site, disk: plainDisk(diskBytes) }
  const disk: ImageDisk = { ...world.disk, open: () => world.disk.open() }
  const importer = plainImporter({ installation, disks: [disk] })
  const follow = async (id: string, fate: Fate) => {
    const life = new Life(fate)
    const use: UsePlatform = (target, work) => platforms.use(target, (one) => work(livedPlatform(one, life)))
    const swap = handleSwapTemplate(importer.importImage)
    const undoers = new Map(Object.entries({ ...swap.undoers, [plainImportKind]: importer.undoer }))
    const handlers = [swap, handleSettleDebt(undoers)]
    const base = { workerId: uuidv7(), leaseMs, clock: life.clock, log: quietLog }
    const keeper = new LeaseKeeper({ ...base, db })
    life.beat = () => keeper.beat()
    const runner = new Runner({
      ...{ ...base, db: mortalDb(db, life), keeper, undoers, usePlatform: use },
      handlers: new Map(handlers.map((handler) => [handler.kind.kind, handler])),
    })
    await makeDue(db, id)
    const { kind, generation } = await jobOf(db, id)
    const end = liveAs(life, () => runner.follow(kind, { id, generation })).catch((error: unknown) => {
      if (!(error instanceof Dead)) throw error
    })
    await Promise.race([end, life.frozen])
    return { life, end }
  }
  const objects = async (folder = goldenFolder) => {
    const { json } = await site.call(`GET /templates?folder=${folder}`)
    return (json as { templates: TemplateFacts[] }).templates
  }
  return Object.assign(world, {
    image: (version = '1') => addImage(db, version),
    golden: (image: string, settings = {}) => addGolden({ db, follow, objects }, image, settings),
    fault: async (rule: Record<string, unknown>) => {
      const { status } = await lab.admin('POST /lab/faults', { times: 1, ...rule })
      if (status >= 300) throw new Error(`The lab refuses the fault: ${status}.`)
    },
    settleDebts: async (fate: Fate = noFate) => {
      await db`update effect set next_try_at = now() - interval '1 second' where state = 'debt'`
      await sweepDebts(db)
      const jobs = await db<
        { id: string }[]
      >`select id from job where kind = 'settle-debt' and finished_at is null`
      for (const { id } of jobs) await follow(id, fate)
    },
    takeBack: async () => {
      const running = await db<{ id: string }[]>`select id from job where state = 'running'`
      await expire(db, ...running.map(({ id }) => id))
      await sweepLeases(db)
    },
    objects,
    run: async (jobId: string) => void (await (await follow(jobId, noFate)).end),
  })
}

const addImage = async (db: Db, version: string): Promise<string> => {
  const id = uuidv7()
  const facts = {
    ...{ product: 'os', version, vendor: '', os: '', cpus: 1, memory: 1, firmware: '' },
    ...{ disks: [], networks: [] },
  }
  const digest = randomBytes(32).toString('hex')
  await db.begin(async (tx: Tx) => {
    await insertImage(tx, {
      ...{ id, name: `image-${id.slice(-12)}`, source: { kind: 'file', path: 'image.ova' } },
      ...{ expectedDigest: null, requireManifest: false, by: 'test' },
    })
    const read = { digest, sizeBytes: 1, verified: 'none', facts, ovf: '' } as const
    await moveImage(tx, id, { to: 'ready', read, actor: 'test' })
  })
  return id
}

interface Means {
  readonly db: Db
  readonly follow: (id: string, fate: Fate) => Promise<{ life: Life; end: Promise<unknown> }>
  readonly objects: () => Promise<readonly TemplateFacts[]>
}

const addGolden = async (
  { db, follow, objects }: Means,
  image: string,
  settings: { keepVersions?: number; graceSeconds?: number },
): Promise<Golden> => {
  const name = `golden-${uuidv7().slice(-12)}`
  const place = { project: 'default', pool: 'local', host: '', network: '' }
  await db.begin((tx: Tx) =>
    addTemplate(tx, {
      ...{ name, target: 'cloud', folder: goldenFolder, production: name, image, place, by: 'test' },
      ...{ keepVersions: 2, graceSeconds: 600, allowDowngrade: false, ...settings },
    }),
  )
  const row = async () => {
    const [found] = await db<TemplateRow[]>`select * from template where name = ${name}`
    if (!found) throw new Error('The template is gone.')
    return found
  }
  const names = templateNames({ folder: goldenFolder, production: name })
  const jobId = async () => (await row()).jobId ?? ''
  return {
    ...{ name, names, row },
    want: async (wanted) =>
      void (await db.begin((tx: Tx) => wantImage(tx, { name, image: wanted, by: 'test' }))),
    turn: async (fate = noFate) => {
      const turn = await follow(await jobId(), fate)
      if (fate.seeks?.met.size === 0) throw new Error('Nobody came to that point.')
      return turn
    },
    finish: async () => {
      for (let turns = 0; turns < 30; turns += 1) {
        const id = await jobId()
        const job = await jobOf(db, id)
        if (job.finishedAt !== null) return { state: job.state, error: job.error }
        await db`update job set wait_until = now() where id = ${id}::uuid and state = 'waiting'`
        await wakeTimedOutWaits(db, 100)
        await expire(db, id)
        await sweepLeases(db)
        await follow(id, noFate)
      }
      throw new Error('The job does not end.')
    },
    seen: async () => {
      const all = await objects()
      const named = (called: string) => all.find((one) => one.name === called)
      return { production: named(names.production), temp: named(names.temp), old: named(names.old) }
    },
  }
}

/** One whole production of that image, nothing beside it, and rows that say so. */
export const expectSwapped = async (db: Db, one: Golden, image: string): Promise<void> => {
  const { production, temp, old } = await one.seen()
  expect(production).toMatchObject({ complete: true, owner: { 'drover.image': image } })
  expect([temp, old]).toEqual([undefined, undefined])
  const row = await one.row()
  expect(row).toMatchObject({ state: 'live', versionLive: row.versionWanted, imageId: image })
  const rows = await db`
    select v.number from template_version v join image_replica r on r.id = v.replica_id
    where v.template_id = ${row.id}::uuid and v.state = 'live' and r.ref = ${production?.ref ?? ''} and r.state = 'ready'`
  expect(rows).toEqual([{ number: row.versionLive }])
  expect(await checkInvariants(db)).toEqual([])
}
