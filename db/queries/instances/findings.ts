import type { Queryable } from '../../client.ts'

export interface FindingLine {
  readonly instanceId: string
  readonly rule: string
  readonly severity: 'critical' | 'warning' | 'info'
  readonly evidence: readonly string[]
  readonly waived: boolean
  readonly since: Date
}

/** The current findings of these instances, the worst first. */
export const listFindings = async (
  db: Queryable,
  instanceIds: readonly string[],
): Promise<FindingLine[]> => db<FindingLine[]>`
  select instance_id, rule, severity, evidence, waived, since from finding
  where instance_id = any(${instanceIds as string[]}::uuid[])
  order by instance_id, array_position(array['critical', 'warning', 'info'], severity), rule`

/** The same by instance. */
export const findingsByInstance = async (
  db: Queryable,
  instanceIds: readonly string[],
): Promise<ReadonlyMap<string, readonly FindingLine[]>> => {
  const byInstance = new Map<string, FindingLine[]>()
  for (const finding of await listFindings(db, instanceIds)) {
    const known = byInstance.get(finding.instanceId)
    if (known) known.push(finding)
    else byInstance.set(finding.instanceId, [finding])
  }
  return byInstance
}
