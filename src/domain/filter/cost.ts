import type { ASTNode } from '@marcbachmann/cel-js'

const loops: ReadonlySet<string> = new Set(['all', 'exists', 'exists_one', 'filter', 'map'])

export type LoopNode = ASTNode & { readonly op: 'rcall' }

/** The node as a loop, if it is one. */
export const asLoop = (node: ASTNode): LoopNode | undefined =>
  node.op === 'rcall' && loops.has(node.args[0]) ? node : undefined

/** What a loop does with each item: its arguments except the name of the item. */
export const bodyOf = (loop: LoopNode): readonly ASTNode[] => loop.args[2].slice(1)

export const childrenOf = (node: ASTNode): ASTNode[] => {
  const found: ASTNode[] = []
  const collect = (value: unknown): void => {
    if (Array.isArray(value)) for (const entry of value) collect(entry)
    else if (typeof value === 'object' && value !== null && 'op' in value) found.push(value as ASTNode)
  }
  collect(node.args)
  return found
}

/** Instructions of the pattern of a `matches`; 0 for any other node. */
export type ProgramSize = (node: ASTNode) => number

/** Steps of a call besides its arguments and the length of its text, as measured; meter.ts defines a step. */
const callSteps: Readonly<Record<string, number>> = {
  duration: 45,
  timestamp: 25,
  int: 20,
  string: 15,
  double: 10,
}
const usualCallSteps = 6

/** Steps for each item, besides its body. */
const itemSteps = 3

/** Measured with patterns that are hard to match: more instructions cost more for each character. */
export const patternSteps = (programSize: number, characters: number): number =>
  programSize === 0 ? 0 : Math.ceil(characters * (2 + programSize / 16))

const stepsOfNode = (node: ASTNode): number =>
  node.op === 'call' || node.op === 'rcall' ? (callSteps[node.args[0]] ?? usualCallSteps) : 1

/** Steps of an expression except those inside its loops, which are charged when a loop is entered. */
export const stepsOutsideLoops = (node: ASTNode): number => {
  const loop = asLoop(node)
  const inside = loop ? [loop.args[1]] : childrenOf(node)
  return inside.reduce((sum, child) => sum + stepsOutsideLoops(child), stepsOfNode(node))
}

/** Steps for one item of a loop. */
export const stepsOfItem = (loop: LoopNode): number =>
  bodyOf(loop).reduce((sum, part) => sum + stepsOutsideLoops(part), itemSteps)

/** The sizes of an ordinary thing where the text gives none. */
const usual = { items: 8, characters: 48 }

const usualItems = (node: ASTNode): number => {
  if (node.op === 'list') return node.args.length
  if (node.op === '+') return usualItems(node.args[0]) + usualItems(node.args[1])
  const loop = asLoop(node)
  return loop ? usualItems(loop.args[1]) : usual.items
}

const usualCharacters = (node: ASTNode): number => {
  if (node.op === 'value') return typeof node.args === 'string' ? node.args.length : 0
  if (node.op === '+') return usualCharacters(node.args[0]) + usualCharacters(node.args[1])
  return usual.characters
}

/**
 * Steps on an ordinary thing: steps inside loops count as often as the lists around them have items. A filter above
 * the budget even then is refused at once.
 */
export const usualSteps = (node: ASTNode, programSize: ProgramSize): number => {
  const own = stepsOfNode(node)
  const loop = asLoop(node)
  if (loop) {
    const each = bodyOf(loop).reduce((sum, part) => sum + usualSteps(part, programSize), itemSteps)
    return own + usualSteps(loop.args[1], programSize) + usualItems(loop.args[1]) * each
  }
  const inside = childrenOf(node).reduce((sum, child) => sum + usualSteps(child, programSize), own)
  if (node.op === 'in') return inside + usualItems(node.args[1])
  if (node.op !== 'rcall') return inside
  return inside + patternSteps(programSize(node), usualCharacters(node.args[1]))
}
