import type { Queryable } from '../../client.ts'
import type { ResumptionBounds } from './end-resumptions.ts'

/**
 * Evacuations that can be resumed: the machine still runs on the host that it has to leave, and no other operation is
 * open. Machines that have moved or are off are left out. Machines that another transaction has locked come in a later
 * round, and take no place in this one.
 */
export const findResumptions = async (
  db: Queryable,
  { bounds, limit }: { readonly bounds: ResumptionBounds; readonly limit: number },
): Promise<{ id: string; machineId: string }[]> => db<{ id: string; machineId: string }[]>`
  select o.id, o.machine_id from operation o join machine m on m.id = o.machine_id
  where o.come_back_at <= now() and m.gone_at is null and m.power = 'on' and m.host = o.leaves
    and o.finished_at > now() - ${bounds.days} * interval '1 day' and o.failures < ${bounds.failures}
    and not exists (select from operation other where other.machine_id = o.machine_id and other.settled_at is null)
  order by o.come_back_at limit ${limit} for share of m skip locked`
