import type { Tx } from '../../../db/client.ts'
import { holdSites } from '../../../db/queries/entries/entries-using-site.ts'
import { findSiteByName, type SiteLine } from '../../../db/queries/sites/site-rows.ts'
import { DroverError } from '../../errors.ts'
import { refuse } from './refuse.ts'

const needed = ['templates', 'import-image']

/** The target, kept from removal until the transaction ends. Refused if its platform has no templates. */
export const requireTarget = async (tx: Tx, name: string): Promise<SiteLine> => {
  const target = await findSiteByName(tx, 'target', name)
  if (!target || !(await holdSites(tx, [target.id])).has(target.id))
    throw new DroverError({
      code: 'target-absent',
      class: 'config',
      message: `There is no target "${name}".`,
      remedy: 'Look at the list of targets.',
      field: 'target',
    })
  // No capabilities are known before the first successful check; then the job finds out.
  const lacks = needed.filter((one) => !target.capabilities.includes(one))
  if (target.capabilities.length > 0 && lacks.length > 0)
    throw refuse(
      'target-incapable',
      `The target ${name} has no templates that Drover could make: it lacks ${lacks.join(' and ')}.`,
      'Choose another target: its capabilities are listed with it.',
      { field: 'target' },
    )
  return target
}
