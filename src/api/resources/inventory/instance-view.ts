import { z } from '@hono/zod-openapi'
import type { FindingLine } from '../../../../db/queries/instances/findings.ts'
import type { InstanceLine } from '../../../../db/queries/instances/list-instances.ts'
import type { WaiverLine } from '../../../../db/queries/instances/waiver-rows.ts'
import type { NetworkLine } from '../../../../db/queries/sites/list-site-things.ts'
import { diffFacts } from '../../../domain/inventory/changes.ts'
import {
  applyOverrides,
  type EffectiveFacts,
  type InstanceOverrides,
  placeNetwork,
} from '../../../domain/inventory/overrides.ts'
import { findRule } from '../../../domain/inventory/rules/catalogue.ts'
import { readinesses } from '../../../domain/inventory/rules/evaluate.ts'
import { severities } from '../../../domain/inventory/rules/rule.ts'
import { trackingState } from '../../../domain/inventory/tracking.ts'
import { momentOrNull } from '../../http/route.ts'
import { anything, timestamp } from '../../wire/schemas.ts'
import { factsToWire, toWire } from '../../wire/wire.ts'
import { effectiveFactsSchema, instanceFactsSchema, shownFacts } from '../facts-schema.ts'

const summaryShape = {
  id: z.uuid(),
  source: z.string(),
  ref: z.string().openapi({ description: "The platform's own id." }),
  uuid: z.string(),
  name: z.string().openapi({ description: 'After overrides.' }),
  location: z.string(),
  power_state: z.enum(['on', 'off', 'suspended']),
  os_type: z.string(),
  distribution: z.string(),
  distribution_version: z.string(),
  cpus: z.int(),
  memory: z.int(),
  disks: z.int(),
  disk_bytes: z.int(),
  nics: z.int(),
  tracking: z.enum(['off', 'unverified', 'refused', 'verified']),
  readiness: z.enum(readinesses),
  findings: z.array(z.string()).openapi({ description: 'The rules that it breaks and that count.' }),
  ignored: z.string().nullable().openapi({ description: 'Why it is left out; null: it counts.' }),
  frozen_by: z.string().nullable().openapi({ description: 'The running batch that holds it.' }),
  migrated: z.boolean().openapi({
    description: 'A verified copy of it has taken its place, whatever became of its entry.',
  }),
  has_overrides: z.boolean(),
  has_pending: z.boolean(),
  problem: z.string().nullable().openapi({ description: 'Why its last reading failed.' }),
  revision: z.int(),
  changed_at: timestamp,
  gone_at: timestamp.nullable(),
}

export const instanceSummary = z.object(summaryShape).openapi('InstanceSummary')
export type InstanceSummary = z.infer<typeof instanceSummary>

const waiverRef = z.object({
  id: z.uuid(),
  reason: z.string(),
  by: z.string(),
  until: timestamp.nullable(),
  fleet_wide: z.boolean(),
})

const findingSchema = z
  .object({
    rule: z.string(),
    severity: z.enum(severities),
    title: z.string(),
    remedy: z.string(),
    waivable: z.boolean(),
    evidence: z.array(z.string()),
    waived: z.boolean(),
    waiver: waiverRef.nullable().openapi({ description: 'The waiver that settles it, if one does.' }),
    since: timestamp,
  })
  .openapi('Finding')

const placementSchema = z
  .object({
    nic: z.string().openapi({ description: "The platform's key of the card." }),
    mac: z.string(),
    network_id: z.uuid().nullable(),
    network: z.string(),
    placement: z.object({ network: z.string(), nictype: z.string(), vlan_id: z.string() }).nullable(),
  })
  .openapi('NicPlacement')

const errorSchema = z.object({ code: z.string(), message: z.string(), remedy: z.string() })

const pendingSchema = z
  .object({
    type: z.enum(['facts', 'gone']),
    since: timestamp.nullable(),
    changes: z.array(z.object({ path: z.string(), from: z.unknown(), to: z.unknown() })),
  })
  .openapi('PendingFacts')

const { findings: _ids, ...summaryWithout } = summaryShape

export const instanceDetail = z
  .object({
    ...summaryWithout,
    facts: instanceFactsSchema,
    effective: effectiveFactsSchema,
    overrides: anything,
    overrides_version: z.int(),
    disk_tracking: z.record(z.string(), z.string()).openapi({ description: 'By the key of the disk.' }),
    ignored_detail: z.string().nullable(),
    notes: z.array(z.string()),
    reading_problem: errorSchema.nullable(),
    pending: pendingSchema.nullable().openapi({
      description: 'What the source says now, while a running batch holds the record as it was.',
    }),
    findings: z.array(findingSchema),
    networks: z.array(placementSchema),
    first_seen_at: timestamp,
    pending_since: timestamp.nullable(),
  })
  .openapi('Instance')
export type InstanceDetail = z.infer<typeof instanceDetail>

export const overridesOf = (row: { readonly overrides: Record<string, unknown> }): InstanceOverrides =>
  row.overrides as InstanceOverrides

export const effectiveOf = (row: InstanceLine): EffectiveFacts => applyOverrides(row.facts, overridesOf(row))

const summaryOf = (row: InstanceLine, facts: EffectiveFacts) => ({
  name: facts.name,
  disks: facts.disks.length,
  disk_bytes: facts.disks.reduce((sum, disk) => sum + disk.capacity, 0),
  nics: facts.nics.length,
  tracking: trackingState(row.facts, row.tracking),
  readiness: row.readiness as InstanceSummary['readiness'],
  has_overrides: Object.keys(row.overrides).length > 0,
  has_pending: row.pending !== null,
  problem: row.problem?.message ?? null,
})

export const viewInstanceSummary = (row: InstanceLine): InstanceSummary => {
  const facts = effectiveOf(row)
  return factsToWire(instanceSummary, { facts, row }, summaryOf(row, facts))
}

/** What an instance's page needs beside its row. */
export interface InstanceSurroundings {
  readonly findings: readonly FindingLine[]
  readonly waivers: readonly WaiverLine[]
  readonly networks: readonly NetworkLine[]
}

const viewFinding = (finding: FindingLine, waivers: readonly WaiverLine[]): z.infer<typeof findingSchema> => {
  const rule = findRule(finding.rule)
  const waiver = finding.waived ? waivers.find((candidate) => candidate.rule === finding.rule) : undefined
  return toWire(findingSchema, finding, {
    title: rule?.title ?? finding.rule,
    remedy: rule?.remedy ?? '',
    waivable: rule?.waivable ?? false,
    waiver: waiver
      ? toWire(waiverRef, waiver, { by: waiver.createdBy, fleet_wide: waiver.instanceId === null })
      : null,
  })
}

const placeNics = (facts: EffectiveFacts, networks: readonly NetworkLine[]): InstanceDetail['networks'] => {
  const byRef = new Map(networks.map((network) => [network.ref, network]))
  return facts.nics.map((nic) => {
    const network = byRef.get(nic.network_ref)
    return {
      nic: nic.key,
      mac: nic.mac,
      network_id: network?.id ?? null,
      network: network?.name ?? nic.network,
      placement: network ? placeNetwork(network.facts, network.overrides) : null,
    }
  })
}

const viewPending = ({ facts, pending, pendingSince }: InstanceLine): InstanceDetail['pending'] =>
  pending
    ? {
        type: pending.type,
        since: momentOrNull(pendingSince),
        changes: pending.type === 'facts' ? [...diffFacts(facts, pending.facts)] : [],
      }
    : null

export const viewInstance = (row: InstanceLine, around: InstanceSurroundings): InstanceDetail => {
  const effective = effectiveOf(row)
  return factsToWire(
    instanceDetail,
    { facts: effective, row },
    {
      ...summaryOf(row, effective),
      facts: shownFacts(row.facts),
      effective: shownFacts(effective),
      overrides_version: row.version,
      disk_tracking: { ...row.tracking },
      reading_problem: row.problem && toWire(errorSchema, row.problem),
      pending: viewPending(row),
      findings: around.findings.map((finding) => viewFinding(finding, around.waivers)),
      networks: placeNics(effective, around.networks),
    },
  )
}
