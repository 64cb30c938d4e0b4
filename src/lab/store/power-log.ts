import type { Queryable } from '../../../db/client.ts'
import { type Change, toDate } from '../model/context.ts'
import { type Machine, nicsOf } from './machines.ts'

/** Written in the change that it tells of, so that no crash of the lab can lose it. */
export const logPower = async (change: Change, machine: Machine): Promise<void> => {
  const { tx, site, at, why } = change
  const connected = nicsOf(machine).some((nic) => nic.connected)
  await tx`
    insert into lab.power_log (at, site, machine, uuid, lineage, running, connected, host, run_id, why)
    values (${toDate(at)}, ${site}, ${machine.ref}, ${machine.uuid}, ${machine.lineage},
      ${machine.power === 'on'}, ${connected}, ${machine.host}, ${machine.runId}, ${why})`
}

export interface PowerEntry {
  readonly at: Date
  readonly site: string
  readonly machine: string
  readonly uuid: string
  readonly lineage: string
  readonly running: boolean
  readonly connected: boolean
  readonly host: string
  readonly runId: string
  readonly why: string
}

export const readPowerLog = async (
  db: Queryable,
  which: { uuid: string; lineage: string; machine: string },
): Promise<PowerEntry[]> =>
  await db<PowerEntry[]>`
    select at, site, machine, uuid, lineage, running, connected, host, run_id, why from lab.power_log
    where (${which.uuid} = '' or uuid = ${which.uuid}) and (${which.lineage} = '' or lineage = ${which.lineage})
      and (${which.machine} = '' or machine = ${which.machine})
    order by n limit 10000`

export interface Overlap {
  readonly identity: string
  readonly first: { readonly site: string; readonly machine: string }
  readonly second: { readonly site: string; readonly machine: string }
  readonly from: Date
  /** Null: they both run now. */
  readonly to: Date | null
}

/**
 * When two machines of one identity ran at once. Each machine's log is cut into runs, from one entry to the next;
 * two runs of different machines that share an instant are an overlap. A run that ended when the other began is none.
 */
export const findOverlaps = async (
  db: Queryable,
  asked: { by: 'uuid' | 'lineage'; identity: string; connectedOnly: boolean },
): Promise<Overlap[]> => {
  const rows = await db<
    {
      identity: string
      site: string
      machine: string
      otherSite: string
      otherMachine: string
      from: Date
      to: Date | null
    }[]
  >`
    with run as (
      select case when ${asked.by} = 'uuid' then uuid else lineage end as identity, site, machine, running,
        connected, at as began,
        coalesce(lead(at) over (partition by site, machine order by n), 'infinity') as ended
      from lab.power_log
    ), live as (
      select * from run
      where running and (connected or not ${asked.connectedOnly}::boolean) and ended > began and identity <> ''
        and (${asked.identity} = '' or identity = ${asked.identity})
    )
    select a.identity, a.site, a.machine, b.site as other_site, b.machine as other_machine,
      greatest(a.began, b.began) as "from", nullif(least(a.ended, b.ended), 'infinity') as "to"
    from live a join live b on a.identity = b.identity
      and (a.site, a.machine) < (b.site, b.machine) and a.began < b.ended and b.began < a.ended
    order by 6 limit 1000`
  return rows.map((row) => ({
    identity: row.identity,
    first: { site: row.site, machine: row.machine },
    second: { site: row.otherSite, machine: row.otherMachine },
    from: row.from,
    to: row.to,
  }))
}
