import type { WaiverInForce } from '../../../db/queries/instances/waivers-in-force.ts'
import type { Judgement } from '../../../db/queries/instances/write-findings.ts'
import type { SharedValue } from '../../../db/queries/sync/replace-identities.ts'
import type { InstanceFacts } from '../../domain/inventory/facts.ts'
import {
  applyOverrides,
  type EffectiveFacts,
  type InstanceOverrides,
} from '../../domain/inventory/overrides.ts'
import { rulesVersion } from '../../domain/inventory/rules/catalogue.ts'
import { evaluate, readiness } from '../../domain/inventory/rules/evaluate.ts'
import type { FleetCounts } from '../../domain/inventory/rules/rule.ts'
import { applyWaivers } from '../../domain/inventory/rules/waivers.ts'
import type { TrackingRecord } from '../../domain/inventory/tracking.ts'

export interface Judged {
  readonly id: string
  readonly facts: InstanceFacts
  readonly overrides: InstanceOverrides
  readonly tracking: TrackingRecord
}

export interface JudgeContext {
  readonly fleet: FleetCounts
  readonly waivers: readonly WaiverInForce[]
  readonly datastoreAccessible: (name: string) => boolean | undefined
}

export const nobodyElse: FleetCounts = {
  uuid: new Map(),
  mac: new Map(),
  address: new Map(),
  name: new Map(),
}

export const fleetOf = (shared: readonly SharedValue[]): FleetCounts => {
  const counts = { uuid: new Map(), mac: new Map(), address: new Map(), name: new Map() } as Record<
    string,
    Map<string, number>
  >
  for (const { kind, value, count } of shared) counts[kind]?.set(value, count)
  return counts as unknown as FleetCounts
}

/** The database has selected the waivers by its own clock: none of these has ended. */
const noTime = new Date(0)

/** The judgement of one instance, as it is stored. */
export const judge = (instance: Judged, context: JudgeContext): Judgement => {
  const { id, facts, overrides, tracking } = instance
  const waivers = context.waivers
    .filter(({ instanceId }) => instanceId === null || instanceId === id)
    .map(({ rule, who, why }) => ({ rule, who, why, until: null }))
  const found = evaluate(applyOverrides(facts, overrides), {
    overrides,
    tracking,
    fleet: context.fleet,
    datastoreAccessible: context.datastoreAccessible,
  })
  const findings = applyWaivers(found, waivers, noTime)
  return {
    id,
    readiness: readiness(findings),
    rules_version: rulesVersion,
    findings: findings.map(({ rule, severity, evidence, settled }) => ({
      rule,
      severity,
      evidence,
      waived: settled !== null,
    })),
  }
}

/** The identities that must be unique in the whole fleet, by kind of rule. */
export const identitiesOf = (facts: InstanceFacts, overrides: InstanceOverrides) => {
  const effective: EffectiveFacts = applyOverrides(facts, overrides)
  const all = [
    { kind: 'uuid', value: effective.uuid },
    { kind: 'name', value: effective.target_name.toLowerCase() },
    ...effective.nics.flatMap((nic) => [
      { kind: 'mac', value: nic.mac },
      ...[...nic.ipv4_addresses, ...nic.ipv6_addresses].map((value) => ({ kind: 'address', value })),
    ]),
  ]
  return all.filter(({ value }) => value !== '')
}

/** Whether an instance counts as part of the fleet; a duplicate does, because of its twin. */
export const countsInFleet = (instance: {
  readonly ignored: string | null
  readonly gone: boolean
}): boolean => !instance.gone && (instance.ignored === null || instance.ignored === 'duplicate-uuid')
