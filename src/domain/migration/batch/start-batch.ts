import type { InstanceOverrides } from '../../inventory/overrides.ts'
import { findRule } from '../../inventory/rules/catalogue.ts'
import { type Finding, restrictions } from '../../inventory/rules/evaluate.ts'
import type { BatchAllowances } from '../../inventory/rules/rule.ts'
import type { EntryPlace } from '../entry/entry.ts'
import type { Reason } from '../entry/entry-facts.ts'

/** What the inventory says of an instance besides its facts. */
export interface InstanceStanding {
  /** Its source no longer has it. */
  readonly gone: boolean
  /** Why it is ignored; null: it is not. */
  readonly ignored: string | null
  /** A certified copy has replaced it. */
  readonly migrated: boolean
  readonly findings: readonly Finding[]
}

export interface StartAsk extends InstanceStanding {
  /** The result of the include expression now; a text: why it could not be evaluated. */
  readonly matches: boolean | { readonly problem: string }
  readonly allowances: BatchAllowances
  /** `force_conflict_resolution` of the batch. */
  readonly force: boolean
  /** Whether the source runs now. */
  readonly running: boolean
  readonly overrides: Pick<InstanceOverrides, 'started_after' | 'stopped_after'>
}

export interface NewEntry extends EntryPlace {
  readonly reason: Reason
  /** Every reason. */
  readonly reasons: readonly Reason[]
  /** Whether the target runs at the end. */
  readonly running: boolean
}

/** What keeps an instance from starting in a batch with these allowances; empty: nothing. */
export const instanceBlocks = (
  { gone, ignored, migrated, findings }: InstanceStanding,
  allowances: BatchAllowances,
): Reason[] => [
  ...(migrated
    ? [{ code: 'already-migrated', message: 'It was migrated: its copy has taken its place.' }]
    : []),
  ...(gone ? [{ code: 'instance-gone', message: 'The source does not have it any more.' }] : []),
  ...(ignored === null ? [] : [{ code: 'instance-ignored', message: `It is left out: ${ignored}.` }]),
  ...batchBlocks(findings, allowances),
]

/** Findings that keep it from starting, critical ones first. */
const batchBlocks = (findings: readonly Finding[], allowances: BatchAllowances): Reason[] =>
  restrictions(findings)
    .filter(({ rule }) => {
      const allowance = findRule(rule)?.allowance
      return allowance === undefined || allowances[allowance] !== true
    })
    .sort((a, b) => Number(b.severity === 'critical') - Number(a.severity === 'critical'))
    .map(({ rule, title, evidence }) => ({
      code: rule,
      message: evidence.length === 0 ? `${title}.` : `${title}: ${evidence.join(' ')}`,
    }))

const mismatch = (matches: StartAsk['matches']): Reason | undefined => {
  if (matches === true) return undefined
  return matches === false
    ? { code: 'no-longer-matches', message: 'It no longer matches the include expression of its batch.' }
    : {
        code: 'expression-failed',
        message: `The include expression could not be asked about it: ${matches.problem}`,
      }
}

/**
 * The first state of an entry. The include expression is evaluated once, here: a person's resolve lets the instance
 * through, and it is not asked again. A block heals by itself; a conflict does not and is therefore reported first.
 */
export const startEntry = (ask: StartAsk): NewEntry => {
  const running = endsRunning(ask.running, ask.overrides)
  const conflict = ask.force ? undefined : mismatch(ask.matches)
  const blocks = instanceBlocks(ask, ask.allowances)
  const [block] = blocks
  if (conflict)
    return {
      state: 'conflict',
      stage: 'background',
      reason: conflict,
      reasons: [conflict, ...blocks],
      running,
    }
  if (block) return { state: 'blocked', stage: 'background', reason: block, reasons: blocks, running }
  const waits = { code: 'waiting', message: 'It waits to be placed.' }
  return { state: 'waiting', stage: 'background', reason: waits, reasons: [], running }
}

/**
 * The power state of the target at the end: that of the source at the start of the batch, unless a person said
 * otherwise.
 */
export const endsRunning = (
  running: boolean,
  overrides: Pick<InstanceOverrides, 'started_after' | 'stopped_after'>,
): boolean => {
  if (overrides.started_after === true) return true
  return overrides.stopped_after === true ? false : running
}
