import type { ASTNode } from '@marcbachmann/cel-js'
import { childrenOf } from './cost.ts'
import { type Field, type FilterKind, filterFields } from './fields.ts'
import type { Fail } from './filter-error.ts'
import { nearestName } from './nearest-name.ts'

const valuesOf = (
  kind: FilterKind,
  node: ASTNode,
): { name: string; values: readonly string[] } | undefined => {
  if (node.op !== 'id') return undefined
  const fields: Readonly<Record<string, Field>> = filterFields[kind]
  const field = Object.hasOwn(fields, node.args) ? fields[node.args] : undefined
  return field?.values && { name: node.args, values: field.values }
}

const check = (kind: FilterKind, field: ASTNode, literal: ASTNode, fail: Fail): void => {
  const known = valuesOf(kind, field)
  if (!known || literal.op !== 'value' || typeof literal.args !== 'string') return
  if (known.values.includes(literal.args)) return
  const nearest = nearestName(literal.args, known.values)
  fail({
    at: literal.start,
    summary: `${known.name} is never "${literal.args.slice(0, 60)}"`,
    expected: nearest ?? '',
    remedy: `${nearest === undefined ? '' : `Did you mean "${nearest}"? `}It is one of ${known.values.join(', ')}.`,
  })
}

/**
 * Finds a value that a field never has, such as `os_type == "Windows"`: the filter would never match, and nobody would
 * see why.
 */
export const checkKnownValues = (nodes: readonly ASTNode[], kind: FilterKind, fail: Fail): void => {
  for (const node of nodes) {
    if (node.op === '==' || node.op === '!=') {
      check(kind, node.args[0], node.args[1], fail)
      check(kind, node.args[1], node.args[0], fail)
    }
    if (node.op !== 'in') continue
    const [item, list] = node.args
    if (list.op === 'list') for (const entry of childrenOf(list)) check(kind, item, entry, fail)
    else check(kind, list, item, fail)
  }
}
