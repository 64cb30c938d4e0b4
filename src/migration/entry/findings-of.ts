import { findRule } from '../../domain/inventory/rules/catalogue.ts'
import type { Finding } from '../../domain/inventory/rules/evaluate.ts'

/** Stored findings with what the rules of today say of them; a rule that is gone says nothing. */
export const findingsOf = (
  stored: readonly { readonly rule: string; readonly evidence: readonly string[] }[],
): Finding[] =>
  stored.flatMap(({ rule: id, evidence }) => {
    const rule = findRule(id)
    if (!rule) return []
    const { severity, title, remedy, restriction, waivable } = rule
    return [{ rule: id, severity, title, remedy, evidence, restriction, waivable, settled: null }]
  })
