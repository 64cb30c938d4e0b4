import type { EffectiveFacts } from '../overrides.ts'
import { rules } from './catalogue.ts'
import type { BatchAllowances, FleetCounts, Rule, RuleContext, Severity } from './rule.ts'

/** Why a finding does not count; it is shown all the same. */
export interface Settlement {
  /** A waiver of this finding, the override that ignores restrictions, or what the batch allows. */
  readonly by: 'waiver' | 'ignore_restrictions' | keyof BatchAllowances
  readonly who: string
  readonly why: string
  /** ISO; null: for good. */
  readonly until: string | null
}

/** One rule that holds for one instance. */
export interface Finding {
  readonly rule: string
  readonly severity: Severity
  readonly title: string
  readonly remedy: string
  readonly evidence: readonly string[]
  readonly restriction: boolean
  readonly waivable: boolean
  /** Null while it counts. */
  readonly settled: Settlement | null
}

const settle = (rule: Rule, context: RuleContext, allowances: BatchAllowances): Settlement | null => {
  if (rule.allowance && allowances[rule.allowance] === true)
    return { by: rule.allowance, who: '', why: 'The batch allows it.', until: null }
  if (context.overrides.ignore_restrictions === true && rule.restriction && rule.waivable) {
    const why = context.overrides.comment || 'An override says to ignore restrictions.'
    return { by: 'ignore_restrictions', who: '', why, until: null }
  }
  return null
}

/** Every reason there is, not the first; `allowances` are those of the batch, when one asks. */
export const evaluate = (
  facts: EffectiveFacts,
  context: RuleContext,
  allowances: BatchAllowances = {},
): Finding[] => {
  const findings: Finding[] = []
  for (const rule of rules) {
    const evidence = rule.test(facts, context)
    if (evidence.length === 0) continue
    const { id, severity, title, remedy, restriction, waivable } = rule
    const settled = settle(rule, context, allowances)
    findings.push({ rule: id, severity, title, remedy, evidence, restriction, waivable, settled })
  }
  return findings
}

export const readinesses = ['ready', 'warning', 'blocked'] as const
export type Readiness = (typeof readinesses)[number]

/** The state of an instance in one word: its gravest finding that counts. */
export const readiness = (findings: readonly Finding[]): Readiness => {
  const counting = findings.filter(({ settled }) => settled === null)
  if (counting.some(({ severity }) => severity === 'critical')) return 'blocked'
  return counting.some(({ severity }) => severity === 'warning') ? 'warning' : 'ready'
}

/** What keeps an entry of a batch from starting; empty: nothing. */
export const restrictions = (findings: readonly Finding[]): Finding[] =>
  findings.filter(({ restriction, settled }) => restriction && settled === null)

const add = (counts: Map<string, number>, values: Iterable<string>): void => {
  for (const value of new Set(values)) if (value !== '') counts.set(value, (counts.get(value) ?? 0) + 1)
}

/** Counts what must be unique, over every instance of every source. */
export const countFleet = (fleet: Iterable<EffectiveFacts>): FleetCounts => {
  const counts = {
    uuid: new Map<string, number>(),
    mac: new Map<string, number>(),
    address: new Map<string, number>(),
    name: new Map<string, number>(),
  }
  for (const { uuid, nics, target_name } of fleet) {
    add(counts.uuid, [uuid])
    add(
      counts.mac,
      nics.map(({ mac }) => mac),
    )
    add(
      counts.address,
      nics.flatMap((nic) => [...nic.ipv4_addresses, ...nic.ipv6_addresses]),
    )
    add(counts.name, [target_name.toLowerCase()])
  }
  return counts
}
