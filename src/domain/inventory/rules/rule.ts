import type { EffectiveFacts, InstanceOverrides } from '../overrides.ts'
import type { TrackingRecord } from '../tracking.ts'

/** Critical: not migrated as it is. Warning: goes along changed, or with risk. Info: good to know. */
export const severities = ['critical', 'warning', 'info'] as const
export type Severity = (typeof severities)[number]

/** What a batch may allow for all its instances. */
export interface BatchAllowances {
  readonly allow_unknown_os?: boolean
  readonly allow_no_ipv4?: boolean
  readonly allow_no_background_import?: boolean
}

/** How many instances of the whole fleet have a UUID, a MAC, an address or a target name. */
export interface FleetCounts {
  readonly uuid: ReadonlyMap<string, number>
  readonly mac: ReadonlyMap<string, number>
  readonly address: ReadonlyMap<string, number>
  /** By target name in lower case. */
  readonly name: ReadonlyMap<string, number>
}

/** What a rule may know beside the instance itself. */
export interface RuleContext {
  readonly overrides: InstanceOverrides
  readonly tracking: TrackingRecord
  readonly fleet: FleetCounts
  /** Whether a datastore of the instance's source can be read; undefined: nobody knows it. */
  readonly datastoreAccessible: (name: string) => boolean | undefined
}

/** One reason for or against a migration, as data; only `test` is code. */
export interface Rule {
  readonly id: string
  readonly severity: Severity
  readonly title: string
  /** What a person can do about it. */
  readonly remedy: string
  /** The version of Drover that has it first. */
  readonly since: string
  /** An entry of a batch waits while it holds; always so when it is critical. */
  readonly restriction: boolean
  /** Whether a person may take the risk. What makes a copy impossible cannot be waived. */
  readonly waivable: boolean
  /** The permission of a batch that settles it. */
  readonly allowance?: keyof BatchAllowances
  /** What shows that it holds, a sentence each; empty: it does not. */
  readonly test: (facts: EffectiveFacts, context: RuleContext) => readonly string[]
}

type RuleDraft = Omit<Rule, 'restriction' | 'waivable' | 'since'> &
  Partial<Pick<Rule, 'restriction' | 'waivable' | 'since'>>

export const defineRule = (draft: RuleDraft): Rule => ({
  restriction: draft.severity === 'critical',
  waivable: true,
  since: '0.1.0',
  ...draft,
})

const maxEvidence = 20

/** A sentence for each item that a condition is true of; many are counted instead of listed. */
export const each = <T>(
  items: readonly T[],
  holds: (item: T) => boolean,
  say: (item: T) => string,
): readonly string[] => {
  const found = items.filter(holds)
  if (found.length === 0) return nothing
  const said = found.slice(0, maxEvidence).map(say)
  return found.length > maxEvidence ? [...said, `And ${found.length - maxEvidence} more.`] : said
}

const nothing: readonly string[] = []

export const when = (condition: boolean, say: () => string): readonly string[] =>
  condition ? [say()] : nothing
