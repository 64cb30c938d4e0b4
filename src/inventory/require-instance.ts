import type { Db } from '../../db/client.ts'
import { findInstanceById } from '../../db/queries/find-instance.ts'
import { loadSiteById } from '../../db/queries/load-site.ts'
import type { InstanceRow, SiteRow } from '../../db/schema/inventory.ts'
import { DroverError } from '../errors.ts'
import { requireTrusted } from './connectivity.ts'

export interface ActionableInstance {
  readonly instance: InstanceRow
  readonly site: SiteRow
}

/** The instance, if anything may be done to its machine now; else an error that says why not. */
export const requireActionable = async (db: Db, id: string): Promise<ActionableInstance> => {
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
  requireTrusted(site)
  return { instance, site }
}

const refusal = (
  code: string,
  errorClass: 'permanent' | 'conflict',
  text: { readonly message: string; readonly remedy: string },
): DroverError => new DroverError({ code, class: errorClass, ...text })
