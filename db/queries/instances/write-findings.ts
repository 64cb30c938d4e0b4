import { storableJson } from '../../../src/storable.ts'
import type { Tx } from '../../client.ts'

/** The judgement of one instance, as stored. */
export interface Judgement {
  readonly id: string
  readonly readiness: string
  readonly rules_version: string
  readonly findings: readonly {
    readonly rule: string
    readonly severity: string
    readonly evidence: readonly string[]
    readonly waived: boolean
  }[]
}

/** Replaces the findings of these instances; a finding that stays keeps its time. */
export const writeFindings = async (tx: Tx, judgements: readonly Judgement[]): Promise<void> => {
  // Evidence quotes names and cuts them, which may leave half a character.
  const text = storableJson(judgements)
  const judged = tx`jsonb_to_recordset(${text}::text::jsonb) as j(
    id uuid, readiness text, rules_version text, findings jsonb)`
  await tx`
    with found as materialized (
      select j.id, f.rule, f.severity, f.evidence, f.waived
      from ${judged}, jsonb_to_recordset(j.findings) as f(rule text, severity text, evidence jsonb, waived boolean)
    ), over as (
      delete from finding old where old.instance_id in (select id from ${judged})
        and not exists (select from found where found.id = old.instance_id and found.rule = old.rule)
    )
    insert into finding (instance_id, rule, severity, evidence, waived)
    select id, rule, severity, evidence, waived from found
    on conflict (instance_id, rule) do update set severity = excluded.severity, evidence = excluded.evidence,
      waived = excluded.waived
    where (finding.severity, finding.evidence, finding.waived)
      is distinct from (excluded.severity, excluded.evidence, excluded.waived)`
  await tx`
    update instance i set readiness = j.readiness, rules_version = j.rules_version
    from ${judged} where i.id = j.id
      and (i.readiness, i.rules_version) is distinct from (j.readiness, j.rules_version)`
}
