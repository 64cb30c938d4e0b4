import { z } from 'zod'
import { findRule } from './catalogue.ts'
import type { Finding } from './evaluate.ts'

/** What a person asks for; who they are comes from how they signed in. */
export const waiverRequestSchema = z
  .strictObject({
    rule: z.string().max(100),
    why: z
      .string()
      .trim()
      .min(1, 'Say why the risk is taken.')
      .max(2_048)
      .refine(
        (text) => text.isWellFormed() && !text.includes('\0'),
        'Remove characters that cannot be stored.',
      ),
    /** Null: for good. */
    until: z.iso.datetime({ offset: true }).nullable().default(null),
  })
  .superRefine(({ rule }, context) => {
    const found = findRule(rule)
    if (!found) context.addIssue({ code: 'custom', path: ['rule'], message: `There is no rule "${rule}".` })
    else if (!found.waivable)
      context.addIssue({
        code: 'custom',
        path: ['rule'],
        message: `The rule "${rule}" cannot be waived: ${found.remedy}`,
      })
  })

export interface Waiver {
  readonly rule: string
  readonly who: string
  readonly why: string
  /** ISO; null: for good. */
  readonly until: string | null
}

export const isExpired = (waiver: Pick<Waiver, 'until'>, now: Date): boolean =>
  waiver.until !== null && !(Date.parse(waiver.until) > now.getTime())

/** Findings with the waivers of the same instance: one that ended, or that nobody may give, counts for nothing. */
export const applyWaivers = (
  findings: readonly Finding[],
  waivers: readonly Waiver[],
  now: Date,
): Finding[] =>
  findings.map((finding) => {
    if (finding.settled !== null || !finding.waivable) return finding
    const waiver = waivers.find((candidate) => candidate.rule === finding.rule && !isExpired(candidate, now))
    if (!waiver) return finding
    const { who, why, until } = waiver
    return { ...finding, settled: { by: 'waiver', who, why, until } }
  })
