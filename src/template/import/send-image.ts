import { z } from 'zod'
import { type Ova, type OvaDisk, openOva } from '../../disks/open-ova.ts'
import { ImageRefusal } from '../../disks/stream/image-refusal.ts'
import type { ImageRead, ImageSource } from '../../domain/template/image.ts'
import { ownerOfImage } from '../../domain/template/names.ts'
import { FencedError } from '../../errors.ts'
import { CancelRequest, callBy, type JobCall, type JobContext } from '../../ledger/job.ts'
import { unsupported } from '../../platforms/ports/platform-error.ts'
import type { ImageDisk, TemplatesPort } from '../../platforms/ports/templates.ts'
import { destroyObject } from '../remove/our-object.ts'
import type { ImportAsked } from '../swap/swap-work.ts'
import { openFile } from './file-source.ts'
import { importName } from './import-name.ts'
import { findImported, type ImportPlace } from './leftovers.ts'
import { machineOf, readOf } from './read-facts.ts'
import { type Opening, type OpenSource, type SourceMeans, sourceError } from './source.ts'
import { openUrl } from './url-source.ts'

export interface Sending {
  readonly ctx: JobContext
  readonly means: SourceMeans
  readonly asked: ImportAsked
  readonly place: ImportPlace
  readonly templates: TemplatesPort
}

type Capacities = Readonly<Record<string, number>>

/** The time limit of a whole import. */
const importMs = 7 * 24 * 3_600_000
const callMs = 60_000

/**
 * Streams the archive into the platform. If the header of a later disk has another capacity than the descriptor, the
 * import begins again with that capacity, because the platform needs all capacities first.
 */
export const sendImage = async (
  sending: Sending,
): Promise<{ readonly ref: string; readonly read: ImageRead }> => {
  let capacities: Capacities = {}
  for (;;) {
    try {
      return await withOva(sending, capacities, (ova, source) =>
        sendOva(sending, { ova, source, capacities }),
      )
    } catch (error) {
      const learned = learnedFrom(error)
      if (!learned || learned.disk in capacities) throw error
      capacities = { ...capacities, [learned.disk]: learned.capacity }
    }
  }
}

/**
 * Reads the archive without sending it: for a complete object whose facts are not recorded. The archive must be the
 * same that was sent.
 */
export const readImage = (sending: Omit<Sending, 'place' | 'templates'>): Promise<ImageRead> =>
  withOva(sending, {}, async (ova, { mark }) => {
    const { ctx, asked } = sending
    const isProven =
      asked.image.expectedDigest !== null || (mark !== null && sentOf(ctx, asked)?.mark === mark)
    const read = readOf(ova, await ova.finish())
    if (isProven) return read
    throw sourceError('image-source-changed', {
      class: 'permanent',
      message: `The archive of ${asked.image.name} may be another by now than the one that was imported.`,
    })
  })

const sentSchema = z.object({ name: z.string(), mark: z.string().nullable() })

/** The import that this job has begun, with the mark of its archive. */
const sentOf = ({ checkpointed }: JobContext, { replica }: ImportAsked) =>
  sentSchema.safeParse(checkpointed?.[`import-${replica.id}`]).data

const withOva = async <Result>(
  { ctx, means, asked: { image } }: Omit<Sending, 'place' | 'templates'>,
  capacities: Capacities,
  work: (ova: Ova, source: OpenSource) => Promise<Result>,
): Promise<Result> => {
  const reading = new AbortController()
  const onAbort = () => reading.abort(ctx.signal.reason)
  ctx.signal.addEventListener('abort', onAbort, { once: true })
  ctx.signal.throwIfAborted()
  try {
    const source = await openSource(image.source, { means, signal: reading.signal, clock: ctx.clock })
    try {
      const expectedDigest = image.digest ?? image.expectedDigest
      const { requireManifest } = image
      const ova = await openOva(source.bytes, { expectedDigest, requireManifest, capacities })
      return await work(ova, source)
    } finally {
      await source.close()
    }
  } finally {
    ctx.signal.removeEventListener('abort', onAbort)
    // Stops readers of the source that are still running.
    reading.abort()
  }
}

const openSource = (source: ImageSource, opening: Opening): Promise<OpenSource> =>
  source.kind === 'url' ? openUrl(source, opening) : openFile(source.path, opening)

const learnedFrom = (error: unknown): { disk: string; capacity: number } | undefined => {
  if (!(error instanceof ImageRefusal) || error.code !== 'image-capacity-differs') return undefined
  const { disk, capacity } = error.detail ?? {}
  return { disk: String(disk), capacity: Number(capacity) }
}

const sendOva = async (
  sending: Sending,
  { ova, source, capacities }: { ova: Ova; source: OpenSource; capacities: Capacities },
): Promise<{ readonly ref: string; readonly read: ImageRead }> => {
  const { ctx, asked, templates, place } = sending
  const { image, replica, templateName } = asked
  const name = importName({
    ...{ jobId: ctx.job.id, replicaId: replica.id, capacities, mark: source.mark },
    digest: image.digest ?? image.expectedDigest,
  })
  const disks = disksFor(sending, ova)
  const whole = await clearAnother(sending, { name, mark: source.mark })
  if (whole !== undefined) return { ref: whole, read: readOf(ova, await ova.finish()) }
  const { folder, project, pool, host, network } = replica
  const begunMs = ctx.clock.monotonicMs()
  let first: number | undefined
  const signal = handingOver(ctx)
  const ref = await templates
    .importImage(
      { ...callBy(ctx, name, importMs), signal },
      {
        ...{ templateName, folder, project, pool, host, network, disks },
        ...machineOf(ova),
        ovf: ova.ovfText,
        owner: ownerOfImage(place),
      },
      ({ done, total }) => {
        first ??= done
        const seconds = (ctx.clock.monotonicMs() - begunMs) / 1_000
        const rate = seconds > 0 ? Math.round((done - first) / seconds) : null
        ctx.progress({ done, total, rate, phase: 'import' })
      },
    )
    .catch((error: unknown) => {
      ctx.signal.throwIfAborted()
      throw error
    })
  return { ref, read: readOf(ova, await ova.finish()) }
}

/** The disks in a format of the platform. Unsupported disks are refused before anything is sent. */
const disksFor = ({ asked, templates }: Sending, ova: Ova): readonly ImageDisk[] => {
  const takesRaw = templates.imageFormats.includes('raw')
  // A platform that reads the descriptor makes empty disks without a file.
  const disks = ova.disks.filter(({ href }) => takesRaw || href !== '')
  return disks.map((disk) => (takesRaw ? rawDisk(disk) : streamDisk(disk, asked.target.name)))
}

const rawDisk = ({ id, capacity, href, open }: OvaDisk): ImageDisk => ({
  ...{ id, capacity, format: 'raw', size: href === '' ? 0 : capacity },
  open: () => open('raw'),
})

const streamDisk = ({ id, capacity, size, format, open }: OvaDisk, target: string): ImageDisk => {
  if (format !== 'vmdk-stream' || size === null) throw unsupported(target, `take disk ${id} as ${format}`)
  return { id, capacity, size, format, open: () => open('vmdk-stream') }
}

/**
 * Removes the leftover of an import of other content under the name. The leftover of this import stays and is
 * continued. Returns the ref of a complete copy of an image that is already ready.
 */
const clearAnother = async (
  { ctx, templates, place, asked }: Sending,
  sent: z.infer<typeof sentSchema>,
): Promise<string | undefined> => {
  if (sentOf(ctx, asked)?.name === sent.name) return undefined
  const call: JobCall = callBy(ctx, `${sent.name}/clear`, callMs)
  const found = await findImported(templates, call, place)
  if (found?.complete && asked.image.state === 'ready') return found.ref
  if (found) await destroyObject(templates, { ...call, name: `${call.name}/${found.ref}` }, found.ref)
  await ctx.checkpoint({ ...ctx.checkpointed, [`import-${asked.replica.id}`]: sent })
  return undefined
}

/**
 * A worker that stops hands its import over: the partial object stays on the platform for the next turn. A cancelled
 * job leaves nothing.
 */
const handingOver = (ctx: JobContext): AbortSignal => {
  const handing = new AbortController()
  const onAbort = () => {
    const reason: unknown = ctx.signal.reason
    const kept = reason instanceof CancelRequest || reason instanceof FencedError
    handing.abort(kept ? reason : new FencedError(ctx.job.id, ctx.job.leaseEpoch))
  }
  if (ctx.signal.aborted) onAbort()
  else ctx.signal.addEventListener('abort', onAbort, { once: true })
  return handing.signal
}
