import type { Tx } from '../../../db/client.ts'
import { listReplicaLines } from '../../../db/queries/templates/list-images.ts'
import { findSwapJob } from '../../../db/queries/templates/swap-job.ts'
import { forgetTemplateRow } from '../../../db/queries/templates/template-rows.ts'
import type { TemplateRow } from '../../../db/schema/template.ts'
import { type Confirmed, refuse, requireDestroyConfirmed } from './refuse.ts'
import { removeReplicas } from './remove-image.ts'
import { requireTemplate, type TemplateAsk } from './want-image.ts'

export interface TemplateRemoval extends TemplateAsk, Confirmed {
  /** Also destroys the objects under the names of the template; otherwise they stay on the platform. */
  readonly destroy: boolean
  /** Throws if the caller has read another version of the row. */
  readonly check: (template: TemplateRow) => void
}

/**
 * Forgets a template without a running job. Returns the jobs that destroy its objects; objects on the shelf belong to
 * their images.
 */
export const forgetTemplate = async (
  tx: Tx,
  { name, destroy, confirmed, by, check }: TemplateRemoval,
): Promise<readonly string[]> => {
  const template = await requireTemplate(tx, name)
  check(template)
  const job = await findSwapJob(tx, template.jobId)
  if (job?.open)
    throw refuse(
      'template-busy',
      `The job ${job.id} is at ${name}.`,
      'Wait for its end, or cancel the job; then forget the template.',
      { detail: { blocker: job.id } },
    )
  const replicas = await listReplicaLines(tx, { templateId: template.id })
  const there = destroy ? replicas.filter(({ ref }) => ref !== null) : []
  requireDestroyConfirmed(there, { confirmed })
  const jobs = await removeReplicas(tx, replicas, { destroyed: there, by })
  await forgetTemplateRow(tx, template, by)
  return jobs
}
