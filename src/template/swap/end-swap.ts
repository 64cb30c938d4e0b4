import type { Tx } from '../../../db/client.ts'
import type { ImageReplicaRow } from '../../../db/schema/template.ts'
import { isShelfName } from '../../domain/template/names.ts'
import { DroverError, type RecordedError } from '../../errors.ts'
import { actorOf, callBy, type Done, done } from '../../ledger/job.ts'
import { again } from '../../platforms/ports/bounded-wait.ts'
import type { TemplateFacts } from '../../platforms/ports/templates.ts'
import { storableJson } from '../../storable.ts'
import type { Look } from './look.ts'
import { oweSurplus } from './removal.ts'
import type { SwapTurn } from './swap-task.ts'
import type { SwapWork } from './swap-work.ts'

interface Owed {
  readonly effectId: string
  readonly error: RecordedError
}

const debtMs = 30_000
const lookMs = 30_000

/**
 * The name points at the wanted image. Owes the removal of versions that are no longer kept, and of leftovers that
 * could not be removed.
 */
export const endSwap = async (
  turn: SwapTurn,
  { look, owed }: { readonly look: Look; readonly owed?: Owed },
): Promise<Done> => {
  const { ctx, work } = turn
  const { rows, template, version, image } = work
  const actor = actorOf(ctx)
  const back = await findBack(turn, look)
  const gone = await findGone(turn, { look, back })
  const result = {
    version: version.number,
    image: image.name,
    ref: look.found.production?.ref ?? null,
    strangers: look.strangers.map(({ ref, name }) => ({ ref, name })),
    left_over: owed?.error.message ?? null,
  }
  return done(result, {
    lock: async (tx) => void (await rows.lockTemplateById(tx, template.id)),
    change: async (tx) => {
      for (const id of gone) await rows.writeReplica(tx, id, { state: 'gone' })
      for (const { id } of back) await rows.shelveReplica(tx, id)
      await rows.dropBegunReplicas(tx, template.id)
      await oweSurplus(tx, { work, jobId: ctx.job.id, actor })
      if (owed) {
        const error = storableJson(owed.error)
        await rows.settleEffect(tx, { id: owed.effectId, actor, outcome: 'debt', error, delayMs: debtMs })
      }
      await followUp(tx, actor, work)
    },
  })
}

/** Objects that are back on the shelf and that the template still has in its rows, as another seems to be there. */
const findBack = async ({ ctx, work }: SwapTurn, { all }: Look): Promise<readonly ImageReplicaRow[]> => {
  const own = await work.rows.listReplicasOfTemplate(ctx.db, work.template.id)
  return own.filter(({ ref }) => all.some((object) => object.ref === ref && isShelfName(object.name)))
}

/** Objects of the template that somebody has taken away: not in the folder, and not anywhere else. */
const findGone = async (
  { ctx, templates, work: { rows, template } }: SwapTurn,
  { look: { all }, back }: { readonly look: Look; readonly back: readonly ImageReplicaRow[] },
): Promise<string[]> => {
  const call = callBy(ctx, 'look', lookMs)
  const gone: string[] = []
  const own = await rows.listReplicasOfTemplate(ctx.db, template.id)
  const inTheWay = await Promise.all(back.map((row) => rows.findShelfReplica(ctx.db, row)))
  for (const { id, ref } of [...own, ...inTheWay.flatMap((row) => row ?? [])]) {
    if (ref === null || all.some((object) => object.ref === ref)) continue
    const found = await again(call, () => templates.template(call, ref))
    if (!found.found) gone.push(id)
  }
  return gone
}

/** Sends another job if a newer version was requested while this job was still counted as running. */
const followUp = async (
  tx: Tx,
  actor: string,
  { rows, template, version, target }: SwapWork,
): Promise<void> => {
  const now = await rows.lockTemplateById(tx, template.id)
  if (!now || now.deletedAt !== null || now.versionWanted === version.number) return
  const jobId = await rows.sendSwap(tx, { templateId: template.id, target: target.name, by: actor })
  const message = `Version ${now.versionWanted} is wanted.`
  await rows.moveTemplate(tx, now, { event: 'swap', reason: 'asked', message, actor, jobId })
}

/** An object that is not ours has one of our names. */
export const nameTaken = (
  { template, target }: SwapWork,
  strangers: readonly TemplateFacts[],
): DroverError => {
  const named = strangers.map(({ name, ref }) => `"${name}" (${ref})`)
  return new DroverError({
    code: 'template-name-taken',
    class: 'conflict',
    message: `In the folder "${template.folder}" of ${target.name}, ${named.join(' and ')} ${named.length === 1 ? 'is' : 'are'} not ours: ${template.name} cannot be swapped.`,
    remedy: 'Rename or move what is not ours, then recover the template.',
    detail: { strangers: strangers.map(({ ref, name }) => ({ ref, name })) },
  })
}

/**
 * The platform refused the production name to the new object; the previous object has the name again, if there was
 * one.
 */
export const givenUp = ({ template, target }: SwapWork, refused: RecordedError | null): DroverError =>
  new DroverError({
    code: refused?.code ?? 'template-not-promoted',
    class: refused?.class ?? 'transient',
    message: `${target.name} does not give the new object the name "${template.production}": ${refused?.message ?? 'no reason given'}`,
    remedy: refused?.remedy ?? 'See the tasks of the platform, then recover the template.',
  })
