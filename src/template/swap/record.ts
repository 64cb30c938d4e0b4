import { v7 as uuidv7 } from 'uuid'
import type { Tx } from '../../../db/client.ts'
import type { TemplateRow } from '../../../db/schema/template.ts'
import { isShelfName, ownedImage } from '../../domain/template/names.ts'
import { type SwapStep, swapSteps } from '../../domain/template/swap-step.ts'
import type { TemplateFacts } from '../../platforms/ports/templates.ts'
import type { Look } from './look.ts'
import { oweReplica } from './removal.ts'
import { observeSwap } from './swap-metrics.ts'
import type { SwapRecord } from './swap-record.ts'
import type { SwapWork } from './swap-work.ts'

interface Recorded {
  readonly work: SwapWork
  readonly look: Look
  readonly record: SwapRecord
  readonly jobId: string
  readonly actor: string
  readonly now: number
}

/** Records a look: rows follow the platform, so a crash between a step and its record loses nothing. */
export const recordLook = async (tx: Tx, seen: Recorded): Promise<void> => {
  const template = await seen.work.rows.lockTemplateById(tx, seen.work.template.id)
  if (!template) return
  await recordReplicas(tx, seen)
  if (seen.look.seen.production !== 'wanted') return
  // If a newer version was requested meanwhile, this version is no longer wanted.
  if (template.versionWanted === seen.work.version.number) await recordLive(tx, template, seen)
}

const recordReplicas = async (tx: Tx, { work, look, record, jobId, actor }: Recorded): Promise<void> => {
  const { rows, template, installation } = work
  for (const object of look.ours) {
    const row = look.replicas.get(object.ref)
    const holder = isAtTemplate(object, work) ? template.id : null
    if (!row) {
      if (holder !== null)
        await recordFound(tx, { work, object, importing: record.importing?.replica ?? null, installation })
      continue
    }
    if (row.state !== 'ready') continue
    if (holder !== null && row.templateId !== holder)
      await rows.writeReplica(tx, row.id, { templateId: holder })
    const isBack = row.templateId === template.id && isShelfName(object.name)
    // What a pending task is about to take from the shelf stays claimed.
    if (!isBack || record.task?.ref === object.ref || (await rows.shelveReplica(tx, row.id))) continue
    // Only of what is seen there twice a copy goes: the other may be a row whose object was taken away.
    const twin = await rows.findShelfReplica(tx, row)
    if (!look.ours.some(({ ref }) => ref === twin?.ref)) continue
    await rows.writeReplica(tx, row.id, { state: 'removing', templateId: null })
    await oweReplica(tx, row, { work, jobId, actor })
  }
}

const isAtTemplate = ({ name }: TemplateFacts, { names }: SwapWork): boolean =>
  Object.values(names).includes(name)

/** Records an import that ended without its record, or an object whose row is lost. */
const recordFound = async (
  tx: Tx,
  found: {
    readonly work: SwapWork
    readonly object: TemplateFacts
    readonly importing: string | null
    readonly installation: string
  },
): Promise<void> => {
  const { work, object, importing, installation } = found
  const { rows } = work
  const { id: templateId, targetId, folder } = work.template
  const { ref, owner } = object
  const imageId = ownedImage(owner, installation) ?? ''
  const begun =
    importing === null ? undefined : await rows.findBegunReplica(tx, { id: importing, templateId })
  if (begun?.imageId === imageId && object.name === work.names.temp)
    await rows.writeReplica(tx, begun.id, { state: 'ready', ref })
  else await rows.recordFoundReplica(tx, { id: uuidv7(), imageId, targetId, folder, ref, templateId })
}

const recordLive = async (
  tx: Tx,
  template: TemplateRow,
  { work, look, record, actor, now }: Recorded,
): Promise<void> => {
  const { rows, version, target, image } = work
  const of = (number: number) => ({ templateId: template.id, number })
  const refs = [look.found.production?.ref ?? '']
  const [replica] = await rows.findReplicasByRef(tx, { targetId: target.id, refs })
  if (!replica) throw new Error(`The production of ${template.name} has no row.`)
  if (template.versionLive === version.number) {
    if (version.replicaId !== replica.id) await rows.moveVersion(tx, of(version.number), replica.id)
    if (template.state === 'live') return
  } else {
    if (template.versionLive !== null) await rows.retireVersion(tx, of(template.versionLive))
    const swapMs = record.begun === null ? 0 : Math.max(0, now - record.begun.at)
    await rows.makeVersionLive(tx, of(version.number), {
      ...{ replicaId: replica.id, swapMs, gapMs: record.gap_ms },
    })
    observeSwap({ swapMs, gapMs: record.gap_ms })
  }
  await rows.moveTemplate(tx, await inSwap(tx, work, template, actor), {
    event: 'finish',
    reason: 'live',
    message: `Version ${version.number} is live: ${image.name}.`,
    actor,
    versionLive: version.number,
  })
}

/** Moves the template to `swapping`, if it is not there already. */
export const inSwap = async (
  tx: Tx,
  { rows }: SwapWork,
  template: TemplateRow,
  actor: string,
): Promise<TemplateRow> =>
  template.state === 'swapping'
    ? template
    : rows.moveTemplate(tx, template, {
        event: 'swap',
        reason: 'swapping',
        message: 'The names on the platform are checked, and corrected where necessary.',
        actor,
      })

/** Shows the current step to people. */
export const noteStep = async (
  tx: Tx,
  { rows, template: { id } }: SwapWork,
  step: SwapStep,
): Promise<void> => {
  const template = await rows.lockTemplateById(tx, id)
  if (template?.state === 'swapping' && template.reason !== step)
    await rows.noteTemplate(tx, id, { reason: step, message: swapSteps[step] })
}
