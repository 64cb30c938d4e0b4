import { v7 as uuidv7 } from 'uuid'
import type { Db } from '../../../db/client.ts'
import { sealPassword } from '../../../src/api/resources/inventory/site-secret.ts'
import type { InstanceFacts, NetworkFacts } from '../../../src/domain/inventory/facts.ts'
import { sealer } from '../setup.ts'

/** The text that no answer, event, log line or dump may ever hold. */
export const plantedPassword = 'planted-secret-7f3a'

export interface SiteOptions {
  readonly role?: 'source' | 'target'
  readonly connectivity?: string
  readonly seenFingerprint?: string
  /** Nothing happens to it by the clock, not even before the next statement. */
  readonly quiet?: boolean
}

/** A source or target, as the API would have stored it; its id. */
export const addSite = async (db: Db, name: string, options: SiteOptions = {}): Promise<string> => {
  const row = {
    ...{ id: uuidv7(), role: options.role ?? 'source', kind: 'lab', endpoint: 'http://127.0.0.1:9440/' },
    ...{ username: 'drover', ca: '', fingerprint: '' },
  }
  const secret = sealPassword(sealer, row, plantedPassword)
  const days = options.quiet ? 1 : 0
  const seen =
    options.seenFingerprint === undefined
      ? null
      : JSON.stringify({ fingerprint: options.seenFingerprint, subject: 'CN=vcenter' })
  await db`
    insert into site (id, role, name, kind, endpoint, username, secret, settings, connectivity, seen_certificate,
      created_by, next_check_at, next_sync_at)
    values (${row.id}, ${row.role}, ${name}, ${row.kind}, ${row.endpoint}, ${row.username}, ${secret}, '{}', ${options.connectivity ?? 'ok'},
      ${seen}::text::jsonb, 'test', now() + ${days}::int * interval '1 day', now() + ${days}::int * interval '1 day')`
  return row.id
}

export interface InstanceOptions {
  readonly facts: InstanceFacts
  readonly ignored?: string
  readonly frozenBy?: string
  readonly gone?: boolean
  readonly pending?: unknown
  readonly readiness?: string
  readonly id?: string
  /** By which rules it was judged; what was judged by others, a conductor judges anew. */
  readonly rulesVersion?: string
}

/** An instance as a sync would have recorded it, judged by nobody; its id. */
export const addInstance = async (db: Db, siteId: string, options: InstanceOptions): Promise<string> => {
  const { facts, pending } = options
  const id = options.id ?? uuidv7()
  await db`
    insert into instance (id, site_id, ref, name, hash, revision, gone_at, uuid, location, facts, os_type,
      distribution, distribution_version, ignored, frozen_by, pending, pending_since, readiness, rules_version)
    values (${id}, ${siteId}, ${facts.ref}, ${facts.name}, 'h', 1, ${options.gone ? new Date() : null}, ${facts.uuid},
      ${facts.location}, ${JSON.stringify(facts)}::text::jsonb, 'linux', 'ubuntu', '22.04', ${options.ignored ?? null},
      ${options.frozenBy ?? null}, ${pending === undefined ? null : JSON.stringify(pending)}::text::jsonb,
      ${pending === undefined ? null : new Date()}, ${options.readiness ?? 'ready'}, ${options.rulesVersion ?? ''})`
  return id
}

export const addNetwork = async (db: Db, siteId: string, facts: NetworkFacts): Promise<string> => {
  const id = uuidv7()
  await db`
    insert into network (id, site_id, ref, name, hash, revision, location, facts)
    values (${id}, ${siteId}, ${facts.ref}, ${facts.name}, 'h', 1, ${facts.location},
      ${JSON.stringify(facts)}::text::jsonb)`
  return id
}

export const addFinding = async (
  db: Db,
  finding: {
    instanceId: string
    rule: string
    severity?: string
    evidence?: readonly string[]
    waived?: boolean
  },
): Promise<void> => {
  await db`
    insert into finding (instance_id, rule, severity, evidence, waived)
    values (${finding.instanceId}, ${finding.rule}, ${finding.severity ?? 'warning'},
      ${JSON.stringify(finding.evidence ?? ['It is so.'])}::text::jsonb, ${finding.waived ?? false})`
}

/** Every table of the inventory, and what the API wrote about it. */
export const emptyInventory = async (db: Db): Promise<void> => {
  await db`
    truncate site, instance, instance_identity, network, host, storage, project, finding, waiver, warning, job,
      job_search, event, admission_limit, api_request`
}

export const eventTypes = async (db: Db): Promise<string[]> =>
  (await db<{ type: string }[]>`select type from event order by era, xid, id`).map((row) => row.type)

/** A batch that has migrated an instance, as far as others look at it. */
export const addMigrated = async (db: Db, instanceId: string, batch: string): Promise<void> => {
  await db`
    with made as (
      insert into batch (id, name, include_expression, defaults, config, created_by)
      values (${uuidv7()}::uuid, ${batch}, 'true', '{}', '{}', 'test') returning id)
    insert into entry (id, batch_id, instance_id, source_id, state, stage, reason, message, revision, facts, running)
    select ${uuidv7()}::uuid, made.id, i.id, i.site_id, 'finished', 'complete', '', '', 1, i.facts, true
    from made, instance i where i.id = ${instanceId}::uuid`
}
