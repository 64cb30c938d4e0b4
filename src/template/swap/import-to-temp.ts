import { v7 as uuidv7 } from 'uuid'
import type { ImageReplicaRow } from '../../../db/schema/template.ts'
import { readSwap, writeSwap } from './swap-record.ts'
import type { SwapTurn } from './swap-task.ts'
import type { ImportImage } from './swap-work.ts'

/** Imports the wanted image under the temporary name, and continues an interrupted import. */
export const importToTemp = async (turn: SwapTurn, importImage: ImportImage): Promise<void> => {
  const { ctx, work } = turn
  const { rows, image, target, names } = work
  const replica = (await begunReplica(turn)) ?? (await newReplica(turn))
  const { ref } = await importImage(ctx, { image, replica, target, templateName: names.temp })
  await ctx.transaction((tx) => rows.writeReplica(tx, replica.id, { state: 'ready', ref }))
}

const begunReplica = async ({ ctx, work }: SwapTurn): Promise<ImageReplicaRow | undefined> => {
  const { importing } = readSwap(ctx)
  if (importing?.image !== work.image.id) return undefined
  return work.rows.findBegunReplica(ctx.db, { id: importing.replica, templateId: work.template.id })
}

const newReplica = async ({ ctx, work }: SwapTurn): Promise<ImageReplicaRow> => {
  const { rows, template, image } = work
  const { targetId, folder, project, pool, host, network, id: templateId } = template
  const replica = await ctx.transaction(async (tx) => {
    await rows.dropBegunReplicas(tx, templateId)
    const place = { targetId, folder, project, pool, host, network }
    return rows.insertReplica(tx, { id: uuidv7(), imageId: image.id, templateId, ...place })
  })
  await writeSwap(ctx, { importing: { replica: replica.id, image: image.id } })
  return replica
}
