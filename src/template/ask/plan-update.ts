import type { Tx } from '../../../db/client.ts'
import { findShelfReplica } from '../../../db/queries/templates/replica-rows.ts'
import { findSwapJob } from '../../../db/queries/templates/swap-job.ts'
import { refuseImage } from '../../domain/template/ask-rules.ts'
import { planSwap } from '../../domain/template/plan-swap.ts'
import type { SwapStep } from '../../domain/template/swap-step.ts'
import type { DroverError } from '../../errors.ts'
import { explainRefusal } from './explain-refusal.ts'
import {
  findLiveImage,
  readTried,
  requireEarlier,
  requireImage,
  requireTemplate,
  type TemplateAsk,
} from './want-image.ts'

export interface UpdatePlan {
  readonly image: { readonly id: string; readonly name: string }
  readonly steps: readonly SwapStep[]
  /** The upload to the platform; null: unknown until the image is read. */
  readonly bytes: number | null
  /** Why the update would be refused now. */
  readonly refusal: DroverError | null
}

/**
 * The steps of an update to an image, or of a rollback if no image is given. Computed from recorded facts: the
 * platform is not asked. Changes nothing.
 */
export const planUpdate = async (
  tx: Tx,
  ask: Pick<TemplateAsk, 'name'> & {
    readonly image: string | undefined
    readonly version: number | undefined
  },
): Promise<UpdatePlan> => {
  const template = await requireTemplate(tx, ask.name)
  const job = await findSwapJob(tx, template.jobId)
  const back = ask.image === undefined
  const image = await requireImage(
    tx,
    ask.image ?? (await requireEarlier(tx, { template, job, version: ask.version })).imageId,
  )
  const live = (await findLiveImage(tx, template)) ?? null
  const versions = await readTried(tx, template, job)
  const { name, targetId, folder } = template
  const allowDowngrade = back || template.allowDowngrade
  const isLive = live?.id === image.id
  const refusal = isLive ? null : refuseImage({ image, live, allowDowngrade, versions })
  const shelf = await findShelfReplica(tx, { imageId: image.id, targetId, folder })
  const steps = planSwap({
    production: isLive ? 'wanted' : live ? 'other' : 'absent',
    ...{ temp: 'absent', old: 'absent', inputs: 'unseen', promotion: 'open' },
    shelf: shelf ? 'there' : 'absent',
  })
  return {
    ...{ image, steps },
    bytes: steps.includes('import') ? image.sizeBytes : 0,
    refusal: refusal && explainRefusal(refusal, { template: name, image: image.name }),
  }
}
