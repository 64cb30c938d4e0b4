import type { Change } from '../model/context.ts'

export const hideMachine = async ({ tx, site, seq }: Change, ref: string): Promise<boolean> => {
  const rows = await tx`
    update lab.machine set gone = true, seq = ${seq}, traits = traits || '{"vanished": true}'
    where site = ${site} and ref = ${ref} and not gone returning 1`
  return rows.length > 0
}

/** Only what vanished: what was destroyed does not come back. */
export const showMachine = async ({ tx, site, seq }: Change, ref: string): Promise<boolean> => {
  const rows = await tx`
    update lab.machine set gone = false, seq = ${seq}, traits = traits - 'vanished'
    where site = ${site} and ref = ${ref} and gone and traits ? 'vanished' returning 1`
  return rows.length > 0
}
