import type { Change } from '../context.ts'

export const hideMachine = async ({ tx, site, seq }: Change, ref: string): Promise<boolean> => {
  const rows = await tx`
    update lab.machine set gone = true, seq = ${seq}
    where site = ${site} and ref = ${ref} and not gone returning 1`
  return rows.length > 0
}

/** Only what still has its disks, or never had any: what was destroyed does not come back. */
export const showMachine = async ({ tx, site, seq }: Change, ref: string): Promise<boolean> => {
  const rows = await tx`
    update lab.machine m set gone = false, seq = ${seq}
    where m.site = ${site} and m.ref = ${ref} and m.gone and (json_array_length(m.facts -> 'disks') = 0
      or exists (select from lab.disk d where d.site = m.site and d.machine = m.ref))
    returning 1`
  return rows.length > 0
}
