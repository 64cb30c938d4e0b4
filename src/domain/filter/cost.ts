import type { ASTNode } from '@marcbachmann/cel-js'

const loops: ReadonlySet<string> = new Set(['all', 'exists', 'exists_one', 'filter', 'map'])

export type LoopNode = ASTNode & { readonly op: 'rcall' }

/** The node as a loop, if it is one. */
export const asLoop = (node: ASTNode): LoopNode | undefined =>
  node.op === 'rcall' && loops.has(node.args[0]) ? node : undefined

/** What a loop does with each item: all of its arguments but the name of the item. */
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

/** Steps of a call beside its arguments and the length of its text, as measured; see meter.ts for what a step is. */
const callSteps: Readonly<Record<string, number>> = {
  duration: 45,
  timestamp: 25,
  int: 20,
  string: 15,
  double: 10,
}
const usualCallSteps = 6

/** For each item, beside what is done with it. */
const itemSteps = 3

/** As measured with patterns that are hard to match: the more instructions, the more for each character. */
export const patternSteps = (programSize: number, characters: number): number =>
  programSize === 0 ? 0 : Math.ceil(characters * (2 + programSize / 16))

const stepsOfNode = (node: ASTNode): number =>
  node.op === 'call' || node.op === 'rcall' ? (callSteps[node.args[0]] ?? usualCallSteps) : 1

/** Steps of an expression without those inside its loops, which are paid when a loop is entered. */
export const stepsOutsideLoops = (node: ASTNode): number => {
  const loop = asLoop(node)
  const inside = loop ? [loop.args[1]] : childrenOf(node)
  return inside.reduce((sum, child) => sum + stepsOutsideLoops(child), stepsOfNode(node))
}

/** Steps for one item of a loop. */
export const stepsOfItem = (loop: LoopNode): number =>
  bodyOf(loop).reduce((sum, part) => sum + stepsOutsideLoops(part), itemSteps)

/** What an ordinary thing has, where the text does not say it. */
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
 * Steps on an ordinary thing: what is inside loops counts as often as the lists around it have items. One that is above
 * the budget even then is refused before it is asked of anything.
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
