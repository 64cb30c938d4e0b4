import type { Queryable } from '../../client.ts'
import type { SiteRow } from '../../schema/inventory.ts'
import { isMigrated } from '../instances/is-migrated.ts'
import { openJobAbout } from '../jobs/open-job-about.ts'

/** What an entry's next step depends on outside its own row: its instance as known now, and both sites. */
export interface EntrySurroundings {
  readonly goneAt: Date | null
  readonly ignored: string | null
  /** A certified copy has replaced it: that of another entry, if this one has not finished. */
  readonly migrated: boolean
  readonly tracking: Record<string, string>
  readonly sourceName: string
  readonly sourceKind: string
  readonly sourceConnectivity: SiteRow['connectivity']
  readonly targetName: string | null
  readonly targetConnectivity: SiteRow['connectivity'] | null
  /** Since when each site is in its state, and the error of its last try. */
  readonly sourceSince: Date
  readonly sourceTrouble: string | null
  readonly targetSince: Date | null
  readonly targetTrouble: string | null
  /** A job is switching the instance on or off, or changes its tracking. */
  readonly busy: boolean
  /** Findings that are not waived. */
  readonly findings: readonly { readonly rule: string; readonly evidence: readonly string[] }[]
}

export const readEntrySurroundings = async (
  db: Queryable,
  /** `targetName` is null while it is not known. */
  entry: { readonly instanceId: string; readonly targetName: string | null },
): Promise<EntrySurroundings | undefined> => {
  const [row] = await db<EntrySurroundings[]>`
    select i.gone_at, i.ignored, ${isMigrated(db)} as migrated, i.tracking, s.name as source_name, s.kind as source_kind,
      ${openJobAbout(db, 'instance', entry.instanceId)} as busy,
      s.connectivity_since as source_since, s.connectivity_error ->> 'message' as source_trouble,
      t.connectivity_since as target_since, t.connectivity_error ->> 'message' as target_trouble,
      s.connectivity as source_connectivity, t.name as target_name, t.connectivity as target_connectivity,
      coalesce((select jsonb_agg(jsonb_build_object('rule', rule, 'evidence', evidence) order by rule) from finding
        where instance_id = i.id and not waived), '[]'::jsonb) as findings
    from instance i join site s on s.id = i.site_id
      left join site t on t.role = 'target' and t.name = ${entry.targetName}::text
    where i.id = ${entry.instanceId}::uuid`
  return row
}
