import type { Tx } from '../../../db/client.ts'
import { findShelfReplica } from '../../../db/queries/templates/replica-rows.ts'
import { findSwapJob } from '../../../db/queries/templates/swap-job.ts'
import { refuseImage } from '../../domain/template/ask-rules.ts'
import { planSwap, type SwapStep } from '../../domain/template/plan-swap.ts'
import type { DroverError } from '../../errors.ts'
import { explainRefusal } from './explain-refusal.ts'
import { findLiveImage, readTried, requireImage, requireTemplate, type TemplateAsk } from './want-image.ts'

export interface UpdatePlan {
  readonly image: { readonly id: string; readonly name: string }
  readonly steps: readonly SwapStep[]
  /** Why the update would be refused now. */
  readonly refusal: DroverError | null
}

/** What an update to an image would do, by what Drover knows. Changes nothing. */
export const planUpdate = async (
  tx: Tx,
  ask: Pick<TemplateAsk, 'name'> & { readonly image: string },
): Promise<UpdatePlan> => {
  const template = await requireTemplate(tx, ask.name)
  const image = await requireImage(tx, ask.image)
  const live = (await findLiveImage(tx, template)) ?? null
  const versions = await readTried(tx, template, await findSwapJob(tx, template.jobId))
  const { name, targetId, folder, production, keepVersions, graceSeconds, allowDowngrade } = template
  const isLive = live?.id === image.id
  const refusal = isLive ? null : refuseImage({ image, live, allowDowngrade, versions })
  const shelf = await findShelfReplica(tx, { imageId: image.id, targetId, folder })
  return {
    image,
    steps: planSwap({
      production,
      image,
      live,
      isLive,
      keepVersions,
      graceSeconds,
      onShelf: shelf !== undefined,
    }),
    refusal: refusal && explainRefusal(refusal, { template: name, image: image.name }),
  }
}
