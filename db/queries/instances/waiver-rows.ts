import type { Queryable, Tx } from '../../client.ts'
import type { waiver } from '../../schema/assessment.ts'

export type WaiverLine = typeof waiver.$inferSelect & {
  readonly instance: string | null
  readonly source: string | null
  /** It has expired. */
  readonly over: boolean
}

interface WaiverFilter {
  readonly rule?: string | undefined
  readonly instanceId?: string | undefined
}

const columns = (db: Queryable) => db`
  w.id, w.rule, w.instance_id, i.name as instance, s.name as source, w.reason, w.until,
  coalesce(w.until <= now(), false) as over, w.created_by, w.created_at`

const from = (db: Queryable) => db`
  waiver w left join instance i on i.id = w.instance_id left join site s on s.id = i.site_id`

export const listWaivers = async (
  db: Queryable,
  filter: WaiverFilter,
  page: { before: string | undefined; limit: number },
): Promise<WaiverLine[]> => db<WaiverLine[]>`
  select ${columns(db)} from ${from(db)}
  where ${filter.rule === undefined ? db`true` : db`w.rule = ${filter.rule}`}
    and ${filter.instanceId === undefined ? db`true` : db`w.instance_id = ${filter.instanceId}::uuid`}
    and ${page.before === undefined ? db`true` : db`w.id < ${page.before}::uuid`}
  order by w.id desc limit ${page.limit}`

export const findWaiver = async (db: Queryable, id: string): Promise<WaiverLine | undefined> => {
  const [row] = await db<WaiverLine[]>`select ${columns(db)} from ${from(db)} where w.id = ${id}::uuid`
  return row
}

/** Waivers in force for an instance: its own, and the fleet's. */
export const waiversFor = async (db: Queryable, instanceId: string): Promise<WaiverLine[]> => db<
  WaiverLine[]
>`
  select ${columns(db)} from ${from(db)}
  where (w.instance_id = ${instanceId}::uuid or w.instance_id is null) and (w.until is null or w.until > now())
  order by w.instance_id nulls last`

export const insertWaiver = async (
  tx: Tx,
  waiver: {
    id: string
    rule: string
    instanceId: string | null
    reason: string
    until: Date | null
    by: string
  },
): Promise<void> => {
  // An expired waiver makes room for the next.
  await tx`
    delete from waiver where rule = ${waiver.rule} and until <= now()
      and instance_id is not distinct from ${waiver.instanceId}::uuid`
  await tx`
    insert into waiver (id, rule, instance_id, reason, until, created_by)
    values (${waiver.id}::uuid, ${waiver.rule}, ${waiver.instanceId}::uuid, ${waiver.reason}, ${waiver.until},
      ${waiver.by})`
}

export const deleteWaiver = async (tx: Tx, id: string): Promise<boolean> => {
  const rows = await tx`delete from waiver where id = ${id}::uuid returning 1`
  return rows.length === 1
}

/** Marks every instance that breaks a rule for assessment by the conductor; returns how many. */
export const markForReassessment = async (tx: Tx, rule: string): Promise<number> => {
  const done = await tx`
    update instance set rules_version = ''
    where rules_version <> '' and gone_at is null
      and id in (select instance_id from finding where rule = ${rule})`
  return done.count
}
