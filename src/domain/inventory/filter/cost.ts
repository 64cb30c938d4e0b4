import type { ASTNode } from '@marcbachmann/cel-js'
import type { FilterView } from './view.ts'

/**
 * How long an evaluation can take at the very most, from the shape of the expression: the language has no loops
 * but the ones over lists, so the product of their sizes bounds it. In steps of some tens of nanoseconds.
 */
export interface Cost {
  /** Steps that do not depend on texts, by how many loops are around them. */
  readonly fixed: readonly number[]
  /** Steps for each character of the longest text, by how many loops are around them. */
  readonly perCharacter: readonly number[]
  /** How often lists or texts may be put together, which makes longer ones. */
  readonly joins: number
  /** Items of the longest list that is written out. */
  readonly written: number
}

export const loops: ReadonlySet<string> = new Set(['all', 'exists', 'exists_one', 'filter', 'map'])

export const childrenOf = (node: ASTNode): ASTNode[] => {
  const found: ASTNode[] = []
  const collect = (value: unknown): void => {
    if (Array.isArray(value)) for (const entry of value) collect(entry)
    else if (typeof value === 'object' && value !== null && 'op' in value) found.push(value as ASTNode)
  }
  collect(node.args)
  return found
}

/** Operators and functions whose time may grow with a list or a text. Comparing with a short literal does not. */
const mayScan = (node: ASTNode): boolean => {
  if (node.op === 'call' || node.op === 'in' || node.op === '+') return true
  return (node.op === '==' || node.op === '!=') && node.args.every(({ op }) => op !== 'value')
}

/** `programSize`: how many instructions the pattern of a `matches` has. */
export const measureCost = (root: ASTNode, programSize: (node: ASTNode) => number): Cost => {
  const fixed: number[] = []
  const perCharacter: number[] = []
  let [joins, written] = [0, 1]
  const visit = (node: ASTNode, depth: number): void => {
    fixed[depth] = (fixed[depth] ?? 0) + 5
    perCharacter[depth] ??= 0
    if (node.op === '+') joins += 1
    if (node.op === 'list') written = Math.max(written, node.args.length)
    if (node.op === 'rcall' && !loops.has(node.args[0])) perCharacter[depth] += programSize(node) / 4 + 0.05
    if (mayScan(node)) {
      perCharacter[depth] += 0.05
      // It goes through a list itself, at worst.
      fixed[depth + 1] = (fixed[depth + 1] ?? 0) + 0.2
    }
    if (node.op === 'rcall' && loops.has(node.args[0])) {
      visit(node.args[1], depth)
      for (const inner of node.args[2]) visit(inner, depth + 1)
    } else for (const child of childrenOf(node)) visit(child, depth)
  }
  visit(root, 0)
  return {
    fixed: Array.from(fixed, (n) => n ?? 0),
    perCharacter: Array.from(perCharacter, (n) => n ?? 0),
    joins,
    written,
  }
}

/** Less than a second at the worst. */
const budget = 3e7

const stepsOf = (cost: Cost, listSize: number, textLength: number): number => {
  const [size, length] = [Math.max(cost.written, listSize) * (1 + cost.joins), textLength * (1 + cost.joins)]
  return cost.fixed.reduce(
    (sum, steps, depth) => sum + (steps + (cost.perCharacter[depth] ?? 0) * length) * size ** depth,
    0,
  )
}

/** The largest list and the longest text of what is looked at. */
const sizesOf = (view: FilterView): { list: number; text: number } => {
  let [list, text] = [1, 64]
  const look = (value: unknown): void => {
    if (typeof value === 'string') text = Math.max(text, value.length)
    else if (typeof value === 'object' && value !== null) {
      const inner = Object.values(value)
      list = Math.max(list, inner.length)
      for (const entry of inner) look(entry)
    }
  }
  look(view.facts)
  return { list, text }
}

/** Whether one evaluation may take too long. Cheap for a filter that can never be. */
export const isTooExpensive = (cost: Cost, view: FilterView): boolean => {
  if (stepsOf(cost, 1_024, 8_192) <= budget) return false
  const { list, text } = sizesOf(view)
  return stepsOf(cost, list, text) > budget
}
