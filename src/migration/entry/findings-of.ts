import { findRule } from '../../domain/inventory/rules/catalogue.ts'
import type { Finding } from '../../domain/inventory/rules/evaluate.ts'

/** Stored findings with the current texts of their rules; a rule that no longer exists is left out. */
export const findingsOf = (
  stored: readonly { readonly rule: string; readonly evidence: readonly string[] }[],
): Finding[] =>
  stored.flatMap(({ rule: id, evidence }) => {
    const rule = findRule(id)
    if (!rule) return []
    const { severity, title, remedy, restriction, waivable } = rule
    return [{ rule: id, severity, title, remedy, evidence, restriction, waivable, settled: null }]
  })
