import { changeReason, type Lab } from '../model/context.ts'
import type { Act } from '../model/fault-rule.ts'
import { absent } from '../model/refusal.ts'
import { findEntity, setTrouble } from '../store/entities.ts'
import { getMachine, runningOn, touchMachinesOn } from '../store/machines.ts'
import { changeSite, endSessions, loseCursors, setPassword, setSkew } from '../store/sites.ts'
import { powerDown } from './power.ts'

/** What acts need of the server that the lab runs in. */
export interface ActOn {
  readonly lab: Lab
  changeCertificate(): Promise<void>
}

/** Changes the world. Everything about it is in the database, and so outlives a restart of the lab. */
export const perform = async (on: ActOn, act: Act): Promise<void> => {
  const { lab } = on
  switch (act.act) {
    case 'host-dead':
      return await killHost(lab, act)
    case 'host-back':
      return await trouble(lab, act.site, { type: 'host', ref: act.host }, { dead: false })
    case 'capacity-gone':
      return await trouble(lab, act.site, { type: act.of, ref: act.ref }, { full: true })
    case 'capacity-back':
      return await trouble(lab, act.site, { type: act.of, ref: act.ref }, { full: false })
    case 'clock-skew':
      return await setSkew(lab.db, act.site, act.ms)
    case 'certificate-change':
      return await on.changeCertificate()
    case 'password-change':
      return await setPassword(lab.db, act.site, act.password)
    case 'session-loss':
      return await endSessions(lab.db, act.site)
    case 'cursor-loss':
      return await loseCursors(lab.db, act.site)
  }
}

const trouble = async (
  lab: Lab,
  site: string,
  which: { type: 'host' | 'storage'; ref: string },
  what: { dead?: boolean; full?: boolean },
): Promise<void> => {
  await changeSite(lab, site, { why: 'trouble' }, async (change) => {
    if (!(await setTrouble(change, which, what))) throw absent(`${which.type} "${which.ref}" in ${site}`)
    if (which.type === 'host') await touchMachinesOf(change, which.ref)
  })
}

/** Whether a machine can be seen changes with its host, so a delta has to say so. */
const touchMachinesOf = async (change: Parameters<typeof setTrouble>[0], ref: string): Promise<void> => {
  const host = await findEntity(change.tx, change.site, { type: 'host', ref })
  await touchMachinesOn(change, host?.ref ?? ref)
}

const killHost = async (lab: Lab, act: Extract<Act, { act: 'host-dead' }>): Promise<void> => {
  const why = changeReason({ caller: 'lab', kind: 'host-dead', name: act.host })
  await changeSite(lab, act.site, { why }, async (change) => {
    if (!(await setTrouble(change, { type: 'host', ref: act.host }, { dead: true })))
      throw absent(`host "${act.host}" in ${act.site}`)
    const host = await findEntity(change.tx, act.site, { type: 'host', ref: act.host })
    const running = await runningOn(change, host?.ref ?? '')
    if (act.mode === 'crash')
      for (const ref of running) await powerDown(change, await getMachine(change.tx, act.site, ref), 'off')
    await touchMachinesOf(change, act.host)
  })
}
