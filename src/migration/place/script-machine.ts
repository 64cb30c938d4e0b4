import {
  newQuickJSWASMModuleFromVariant,
  type QuickJSContext,
  type QuickJSHandle,
  type QuickJSWASMModule,
} from 'quickjs-emscripten-core'
import { bounded, builtins, ScriptCalls, type ScriptValue } from './script-builtins.ts'
import { scriptFile, scriptLimits } from './script-limits.ts'
import { prelude } from './script-prelude.ts'
import type { ScriptAnswer, ScriptAsk, ScriptProblem } from './script-types.ts'

/**
 * No dates, no proxies, no raw memory. Promises are present because functions need them to be freed; none ever runs.
 */
const intrinsics = {
  BaseObjects: true,
  Eval: true,
  StringNormalize: true,
  RegExp: true,
  RegExpCompiler: true,
  JSON: true,
  MapSet: true,
  Promise: true,
} as const

const builtinNames = JSON.stringify(Object.entries(builtins))

/** The script threw, or is invalid. */
class ScriptFault extends Error {
  readonly problem: ScriptProblem

  constructor(problem: ScriptProblem) {
    super(problem.message)
    this.problem = problem
  }
}

/**
 * The interpreter of placement scripts: a small JavaScript engine inside WebAssembly with access to nothing but the
 * calls it is given. A script is loaded once and its top-level lines run once. The memory at that point is restored
 * before each instance, so that no run can see anything of another.
 */
export class ScriptMachine {
  readonly #module: QuickJSWASMModule
  readonly #context: QuickJSContext
  #run: QuickJSHandle | undefined
  #memory = new Uint8Array()
  #problem: ScriptProblem | undefined
  #calls: ScriptCalls | undefined
  #interrupts = 0
  #deadlineMs = 0
  #cutShort = ''
  #spent = false

  private constructor(module: QuickJSWASMModule) {
    this.#module = module
    const runtime = module.newRuntime()
    runtime.setMemoryLimit(scriptLimits.memoryBytes)
    runtime.setMaxStackSize(scriptLimits.stackBytes)
    runtime.setInterruptHandler(() => this.#mustStop())
    this.#context = runtime.newContext({ intrinsics })
  }

  /** Loads a script for one batch (JSON text). An unusable script has a `problem`. */
  static async open(script: string, batch: string): Promise<ScriptMachine> {
    const module = await newQuickJSWASMModuleFromVariant(import('@jitl/quickjs-ng-wasmfile-release-sync'))
    const machine = new ScriptMachine(module)
    machine.#problem = machine.#guarded(() => machine.#load(script, batch))
    machine.#memory = usedPart(new Uint8Array(module.getWasmMemory().buffer))
    return machine
  }

  /** What is wrong with the script before any instance is placed; undefined: nothing is known to be wrong. */
  get problem(): ScriptProblem | undefined {
    return this.#problem
  }

  /** The interpreter itself failed and must not be used again. */
  get isSpent(): boolean {
    return this.#spent
  }

  /** Places one instance. */
  place(ask: ScriptAsk): ScriptAnswer {
    if (this.#problem) return { ok: false, problem: this.#problem, log: [] }
    new Uint8Array(this.#module.getWasmMemory().buffer).set(this.#memory)
    const calls = new ScriptCalls(ask)
    this.#calls = calls
    const problem = this.#guarded(() => this.#ask(ask.instance))
    this.#calls = undefined
    const log = [...calls.log]
    return problem ? { ok: false, problem, log } : { ok: true, placement: calls.placement, log }
  }

  #guarded(work: () => void): ScriptProblem | undefined {
    this.#interrupts = 0
    this.#cutShort = ''
    this.#deadlineMs = performance.now() + scriptLimits.wallMs
    try {
      work()
      return undefined
    } catch (error) {
      if (error instanceof ScriptFault) return error.problem
      this.#spent = true
      return atNoLine(this.#cutShort || 'It broke the interpreter.')
    }
  }

  #mustStop(): boolean {
    this.#interrupts += 1
    if (this.#interrupts > scriptLimits.interrupts) this.#cutShort = 'It took too many steps and was stopped.'
    else if (performance.now() > this.#deadlineMs)
      this.#cutShort = `It took longer than ${scriptLimits.wallMs} ms and was stopped.`
    return this.#cutShort !== ''
  }

  // No handle is disposed of: the memory that holds it is restored as a whole.

  #load(script: string, batch: string): void {
    const context = this.#context
    const host = context.newFunction('host', (name, ...values) => {
      const problem = this.#call(
        context.getString(name),
        values.map((value) => argumentOf(context, value)),
      )
      return problem === undefined ? context.undefined : context.newString(problem)
    })
    const start = this.#take(context.evalCode(prelude, 'prelude.js'))
    const longest = context.newNumber(scriptLimits.messageChars)
    const texts = [builtinNames, batch].map((text) => context.newString(text))
    const bind = this.#take(context.callFunction(start, context.undefined, host, longest, ...texts))
    this.#take(context.evalCode(script, scriptFile, { type: 'global', strict: true }))
    const asked = "typeof placement === 'function' ? placement : undefined"
    const placement = this.#take(context.evalCode(asked, 'ask.js'))
    if (context.typeof(placement) !== 'function')
      throw new ScriptFault(atNoLine('There is no function placement(instance, batch).'))
    this.#run = this.#take(context.callFunction(bind, context.undefined, placement))
  }

  #ask(instance: string): void {
    const context = this.#context
    if (!this.#run) throw new Error('The script was not read.')
    const result = this.#take(context.callFunction(this.#run, context.undefined, context.newString(instance)))
    const type = context.typeof(result)
    if (type === 'undefined') return
    throw new ScriptFault(
      atNoLine(`placement must return nothing and cannot be async, and it returned ${article(type)}.`),
    )
  }

  /** An exception of ours would become visible to the script. */
  #call(name: string, values: readonly ScriptValue[]): string | undefined {
    if (!this.#calls) return `${name} can only be called while placement runs.`
    try {
      return this.#calls.call(name, values)
    } catch {
      this.#cutShort ||= 'It broke the interpreter.'
      return 'This call cannot be done.'
    }
  }

  #take(result: ReturnType<QuickJSContext['evalCode']>): QuickJSHandle {
    if (!('error' in result) || result.error === undefined) return result.value
    throw new ScriptFault(this.#describe(result.error))
  }

  /** Describes a thrown value, which can be anything. Its properties are read under the same limits. */
  #describe(thrown: QuickJSHandle): ScriptProblem {
    const context = this.#context
    const text = (of: QuickJSHandle) =>
      context.typeof(of) === 'string' ? bounded(context.getString(of), scriptLimits.messageChars) : ''
    if (context.typeof(thrown) !== 'object')
      return atNoLine(text(thrown) || `It threw ${article(context.typeof(thrown))}.`)
    const read = (property: string) => text(context.getProp(thrown, property))
    const [name, message, stack] = [read('name'), read('message'), read('stack')]
    if (name === 'InternalError' && message === 'out of memory')
      this.#cutShort ||= `It used more than ${scriptLimits.memoryBytes / 2 ** 20} MiB of memory and was stopped.`
    const said = name && message ? `${name}: ${message}` : name || message || 'It threw an object.'
    return { message: this.#cutShort || said, ...placeIn(stack) }
  }
}

/** Up to the last byte that is not zero; the rest was never used. */
const usedPart = (memory: Uint8Array): Uint8Array<ArrayBuffer> => {
  const words = new BigUint64Array(memory.buffer, memory.byteOffset, memory.byteLength / 8)
  let end = words.length
  while (end > 0 && words[end - 1] === 0n) end -= 1
  return memory.slice(0, end * 8)
}

const atNoLine = (message: string): ScriptProblem => ({ message, line: null, column: null })

const article = (type: string): string => (/^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`)

/** The first line of the script itself. */
const placeIn = (stack: string): Pick<ScriptProblem, 'line' | 'column'> => {
  const [, line, column] = /placement\.js:(\d+)(?::(\d+))?/.exec(stack) ?? []
  return {
    line: line === undefined ? null : Number(line),
    column: column === undefined ? null : Number(column),
  }
}

const plainTypes = new Set(['object', 'function', 'symbol', 'bigint', 'boolean'])

/** Reads no property of an object: none of the script's code runs here. */
const argumentOf = (context: QuickJSContext, handle: QuickJSHandle): ScriptValue => {
  const type = context.typeof(handle)
  if (type === 'string') return context.getString(handle)
  if (type === 'number') return context.getNumber(handle)
  if (type === 'undefined') return undefined
  return { type: plainTypes.has(type) ? (type as 'object') : 'object' }
}
