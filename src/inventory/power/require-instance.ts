import type { Db } from '../../../db/client.ts'
import { findInstanceById } from '../../../db/queries/instances/find-instance.ts'
import { findLiveInstanceJob } from '../../../db/queries/instances/list-instances.ts'
import { findHeldOff } from '../../../db/queries/sites/find-held-off.ts'
import { loadSiteById } from '../../../db/queries/sites/load-site.ts'
import type { InstanceRow, SiteRow } from '../../../db/schema/inventory.ts'
import { actsOnInstance } from '../../domain/job/kinds/power-instance.ts'
import { DroverError } from '../../errors.ts'
import { requireTrusted } from '../connection/connectivity.ts'

export interface ActionableInstance {
  readonly instance: InstanceRow
  readonly site: SiteRow
}

export interface ActingJob {
  readonly db: Db
  readonly job: { readonly id: string; readonly subjectType: string; readonly subjectId: string }
}

/**
 * The instance, if this job may change its machine now; otherwise throws the reason. The API has checked the same, but
 * a job can be made without the API, and things change while a job waits.
 */
export const requireActionable = async ({ db, job }: ActingJob, id: string): Promise<ActionableInstance> => {
  if (job.subjectType !== 'instance' || job.subjectId !== id)
    throw refusal('subject-differs', 'permanent', {
      message: `This job acts on instance ${id} and says that it is about ${job.subjectType} ${job.subjectId}.`,
      remedy: 'Use the verbs of the instance, or name the instance as the subject of the job.',
    })
  const instance = await findInstanceById(db, id)
  const site = instance && (await loadSiteById(db, instance.siteId))
  if (!instance || !site || instance.goneAt !== null)
    throw refusal('instance-absent', 'permanent', {
      message: `Its source has no machine for instance ${instance?.name ?? id} any more.`,
      remedy: 'Sync the source, then look for the instance.',
    })
  if (instance.frozenBy !== null)
    throw refusal('instance-frozen', 'conflict', {
      message: `${instance.name} is held by ${instance.frozenBy}, which is migrating it.`,
      remedy: 'Wait for the batch, or stop it first.',
    })
  if (instance.ignored !== null)
    throw refusal('instance-ignored', 'conflict', {
      message: `${instance.name} is ignored: ${instance.ignoredDetail ?? instance.ignored}`,
      remedy: 'Drover leaves alone what it ignores. Use the tools of the platform.',
    })
  const held = await findHeldOff(db, id)
  if (held)
    throw refusal('instance-held-off', 'conflict', {
      message: `${instance.name} was switched off by batch ${held.batch} for its cutover.`,
      remedy: 'Wait for the migration, or cancel its entry: then it is started again.',
    })
  const other = await findLiveInstanceJob(db, { instance: id, kinds: actsOnInstance, before: job.id })
  if (other)
    throw refusal('instance-busy', 'conflict', {
      message: `${other.kind} ${other.id} (${String(other.payload.verb)}) is under way for ${instance.name}.`,
      remedy: 'Wait until it has ended, or cancel it, then ask again.',
    })
  requireTrusted(site)
  return { instance, site }
}

const refusal = (
  code: string,
  errorClass: 'permanent' | 'conflict',
  text: { readonly message: string; readonly remedy: string },
): DroverError => new DroverError({ code, class: errorClass, ...text })
