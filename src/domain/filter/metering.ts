import type { ASTNode } from '@marcbachmann/cel-js'
import {
  asLoop,
  bodyOf,
  childrenOf,
  type LoopNode,
  type ProgramSize,
  patternSteps,
  stepsOfItem,
} from './cost.ts'
import { spend } from './meter.ts'

type Step = (...given: unknown[]) => unknown

/**
 * How the library evaluates a node, which its types do not show: `handle` is what an operator or a function does with
 * present values, `evaluate` evaluates the whole node. A loop is evaluated by its `alternate`, `has` by its `macro`.
 * The version is pinned, and test/unit/inventory/filter-cost.test.ts fails if another version behaves differently.
 */
interface Evaluated {
  handle?: Step
  readonly meta: {
    evaluate: Step
    readonly alternate?: Evaluated
    readonly macro?: { evaluate: Step }
  }
}

const insideOf = (node: ASTNode): Evaluated => node as unknown as Evaluated

/** The cost of an error that was caught, with its position in the text. */
const failureSteps = 400

/** Charges for the work on a node's values before it is done. */
const payFirst = (node: Evaluated, price: (values: readonly unknown[]) => number): void => {
  const { handle } = node
  if (!handle) throw new Error('The filter language does not evaluate as it did: filters cannot be metered.')
  node.handle = (...given) => {
    spend(price(given))
    return handle(...given)
  }
}

/**
 * Charges for an error that is caught further out: `
 *
 *
 * `, `&&`, `all` and `exists` continue after it.
 */
const payFailure = (node: ASTNode): void => {
  const { meta } = insideOf(node)
  const evaluated = meta.alternate?.meta ?? meta.macro ?? meta
  const { evaluate } = evaluated
  evaluated.evaluate = (...given) => {
    try {
      return evaluate(...given)
    } catch (error) {
      spend(failureSteps)
      throw error
    }
  }
}

/** Steps for reading a whole value: a text by its length, a list by its items. */
const weigh = (value: unknown): number => {
  if (typeof value === 'string') return value.length >> 5
  if (typeof value !== 'object' || value === null) return 0
  if (Array.isArray(value)) return weighAll(value)
  return value instanceof Map ? weighAll([...value.values()]) : 0
}

const weighAll = (values: readonly unknown[]): number =>
  values.reduce<number>((sum, value) => sum + weigh(value), values.length)

const sizeOf = (items: unknown): number => {
  if (Array.isArray(items)) return items.length
  return items instanceof Map ? items.size : Object.keys(items ?? {}).length
}

const meterLoop = (loop: LoopNode): void => {
  const each = stepsOfItem(loop)
  const { alternate } = insideOf(loop).meta
  if (!alternate) throw new Error('The filter language has other loops than it had.')
  payFirst(alternate, ([items]) => sizeOf(items) * each)
  for (const part of bodyOf(loop)) payFailure(part)
}

const meterCall = (node: ASTNode, size: number): void => {
  payFirst(insideOf(node), ([values]) => {
    const texts = values as readonly unknown[]
    const [text] = texts
    return weighAll(texts) + (typeof text === 'string' ? patternSteps(size, text.length) : 0)
  })
}

const joinsOrScans: ReadonlySet<string> = new Set(['+', '==', '!=', 'in'])

/** Comparing with a literal takes no longer than the literal is. */
const comparesLiteral = (node: ASTNode): boolean =>
  (node.op === '==' || node.op === '!=') && node.args.some(({ op }) => op === 'value')

/**
 * Makes a checked expression charge for its work during evaluation: each item of a loop before the loop is entered,
 * each text and list before it is searched or concatenated. The caller charges for work outside loops.
 */
export const meter = (root: ASTNode, programSize: ProgramSize): void => {
  const nodes = [root]
  for (let at = 0; at < nodes.length; at += 1) {
    const node = nodes[at]!
    nodes.push(...childrenOf(node))
    const loop = asLoop(node)
    if (loop) meterLoop(loop)
    else if (node.op === 'call' || node.op === 'rcall') {
      if (insideOf(node).meta.macro === undefined) meterCall(node, programSize(node))
    } else if (node.op === '||' || node.op === '&&') payFailure(node.args[0])
    else if (joinsOrScans.has(node.op) && !comparesLiteral(node))
      payFirst(insideOf(node), ([left, right]) => weigh(left) + weigh(right))
  }
}
