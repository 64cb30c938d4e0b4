import type { Tx } from '../../client.ts'
import type { MergeAt } from './merge-instances.ts'

/** One event for each staged instance that appeared, changed, came back, or has a pending change. */
export const writeStagedEvents = async (tx: Tx, at: MergeAt, actor: string, site: string): Promise<void> => {
  await tx`
    insert into event (type, subject_type, subject_id, actor, detail)
    select case s.action when 'insert' then 'instance.appeared' when 'update' then 'instance.changed'
        when 'return' then 'instance.returned' else 'instance.pending' end,
      'instance', s.record_id::text, ${actor},
      jsonb_build_object('source', ${site}::text, 'name', s.name, 'kinds', s.more->'kinds', 'changes',
        s.more->'changes')
    from inventory_stage s
    where s.job_id = ${at.jobId}::uuid and s.epoch = ${at.epoch}::bigint and s.kind = 'instance'
      and s.action in ('insert', 'update', 'return', 'pend')`
}

export interface InstanceEvents {
  readonly type: string
  readonly ids: readonly string[]
  readonly actor: string
  readonly site: string
}

/** The same event for each of these instances, with the reason that its row gives now. */
export const writeInstanceEvents = async (tx: Tx, events: InstanceEvents): Promise<void> => {
  if (events.ids.length === 0) return
  await tx`
    insert into event (type, subject_type, subject_id, actor, reason, detail)
    select case when ${events.type} = 'ignored' then
          case when ignored is null then 'instance.counted' else 'instance.ignored' end else ${events.type} end,
      'instance', id::text, ${events.actor}, ignored_detail,
      jsonb_build_object('source', ${events.site}::text, 'name', name)
    from instance where id = any(${events.ids as string[]}::uuid[])`
}
