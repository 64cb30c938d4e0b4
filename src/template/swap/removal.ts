import { v7 as uuidv7 } from 'uuid'
import { z } from 'zod'
import type { Tx } from '../../../db/client.ts'
import type { ImageReplicaRow } from '../../../db/schema/template.ts'
import { removalKind } from '../../domain/template/version.ts'
import { awaitTasks } from '../../ledger/ended-task.ts'
import { callBy, type Undoer } from '../../ledger/job.ts'
import { again } from '../../platforms/ports/bounded-wait.ts'
import { destroyObject, requireOurs } from '../remove/our-object.ts'
import type { SwapRows } from './swap-rows.ts'
import type { SwapWork } from './swap-work.ts'
import { templatesOf } from './templates-of.ts'

interface Owing {
  readonly work: SwapWork
  readonly jobId: string
  readonly actor: string
}

/** Owes the removal of a replica on the shelf that is not kept. */
export const oweReplica = (tx: Tx, replica: ImageReplicaRow, { work, jobId, actor }: Owing): Promise<void> =>
  work.rows.oweRemoval(tx, {
    id: uuidv7(),
    jobId,
    kind: removalKind,
    platform: work.target.name,
    name: `replica ${replica.id}`,
    undo: { replica_id: replica.id, installation: work.installation },
    why: {
      code: 'template-grace',
      class: 'transient',
      message: `${work.template.name} does not keep this version. The object is removed when the grace period is over.`,
      remedy: 'Nothing to do. To keep the object, raise keep_versions of the template, or waive this debt.',
    },
    delaySeconds: work.template.graceSeconds,
    actor,
  })

/** Owes the removal of each object that the template no longer keeps. */
export const oweSurplus = async (tx: Tx, owing: Owing): Promise<void> => {
  const surplus = await owing.work.rows.findSurplusReplicas(tx, owing.work.template.id)
  for (const replica of surplus) await oweReplica(tx, replica, owing)
}

const undoSchema = z.object({ replica_id: z.string(), installation: z.string() })
const callMs = 50_000

/** Destroys by recorded ref and our tag, only on the shelf: an object that a template uses again stays. */
export const undoRemoval =
  (rows: SwapRows): Undoer =>
  async (undoing) => {
    const { db, effect, fenced } = undoing
    const { replica_id: id, installation } = undoSchema.parse(effect.undo)
    const replica = await rows.findReplica(db, id)
    if (!replica || replica.state === 'gone' || replica.ref === null) return
    const { ref, targetId } = replica
    let isOwed = false
    await fenced(async (tx) => {
      isOwed = await rows.beginRemoval(tx, id)
    })
    if (!isOwed) return
    await templatesOf(rows, undoing, targetId, async (templates) => {
      const call = callBy(undoing, `${effect.id}/undo/${effect.attempts}`, callMs)
      // A rename that is still running could give the object a name of a template after the look.
      await awaitTasks(templates, call, { machine: ref, begun: [{ name: call.name, taskId: null }] })
      const found = await again(call, () => templates.template(call, ref))
      if (found.found) {
        const { imageId } = replica
        requireOurs(found.value, { imageId, installation, target: effect.platform, onShelf: true })
        await destroyObject(templates, call, ref)
      }
      await fenced((tx) => rows.endRemoval(tx, id))
    })
  }
