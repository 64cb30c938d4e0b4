import {
  newQuickJSWASMModuleFromVariant,
  type QuickJSContext,
  type QuickJSHandle,
  type QuickJSRuntime,
  type QuickJSWASMModule,
  Scope,
} from 'quickjs-emscripten-core'
import { bounded, builtins, ScriptCalls, type ScriptValue } from './script-builtins.ts'
import { scriptFile, scriptLimits } from './script-limits.ts'
import { prelude } from './script-prelude.ts'
import type { ScriptAnswer, ScriptAsk, ScriptProblem } from './script-types.ts'

/** No dates, no proxies, no raw memory. Promises are there because functions need them to be freed; none ever runs. */
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

/** The script threw, or is not what it must be. */
class ScriptFault extends Error {
  readonly problem: ScriptProblem

  constructor(problem: ScriptProblem) {
    super(problem.message)
    this.problem = problem
  }
}

/**
 * The interpreter of placement scripts: a small JavaScript of its own inside WebAssembly, which has nothing of ours
 * but the calls it is given. Every run gets a new global state; the heap around it is shared by a bounded number of
 * runs, and thrown away with all that is in it when a run was cut short.
 */
export class ScriptMachine {
  #module: QuickJSWASMModule
  #runtime: QuickJSRuntime
  #calls = 0
  #spent = false
  #outOfMemory = false
  #interrupts = 0
  #deadlineMs = Number.POSITIVE_INFINITY
  #cutShort = ''

  private constructor(module: QuickJSWASMModule) {
    this.#module = module
    this.#runtime = this.#newRuntime()
  }

  static async open(): Promise<ScriptMachine> {
    return new ScriptMachine(
      await newQuickJSWASMModuleFromVariant(import('@jitl/quickjs-ng-wasmfile-release-sync')),
    )
  }

  /** Places one instance. */
  place(script: string, batch: string, ask: ScriptAsk): ScriptAnswer {
    const calls = new ScriptCalls(ask)
    const fault = this.#within((context, scope) => {
      const [instance, about] = this.#prepare(context, scope, { calls, instance: ask.instance, batch })
      const placement = this.#load(context, scope, script)
      const result = this.#take(
        context,
        scope,
        context.callFunction(placement, context.undefined, instance, about),
      )
      const type = context.typeof(result)
      if (type !== 'undefined')
        throw new ScriptFault(
          atNoLine(`placement must return nothing and cannot be async, and it returned ${article(type)}.`),
        )
    })
    const log = [...calls.log]
    return fault ? { ok: false, problem: fault, log } : { ok: true, placement: calls.placement, log }
  }

  /** What is wrong with a script before any instance is there; undefined: nothing that can be seen. */
  check(script: string): ScriptProblem | undefined {
    const calls = new ScriptCalls({ instance: '{}', disks: [], nics: [] })
    return this.#within((context, scope) => {
      this.#prepare(context, scope, { calls, instance: '{}', batch: '{}' })
      this.#load(context, scope, script)
    })
  }

  /** It is no more to be used: what a script did may have broken it. */
  get isSpent(): boolean {
    return this.#spent
  }

  /** The last run ended for want of memory, of which earlier runs may have left less than there should be. */
  get isCrowded(): boolean {
    return this.#outOfMemory && this.#calls > 1
  }

  #newRuntime(): QuickJSRuntime {
    const runtime = this.#module.newRuntime()
    runtime.setMemoryLimit(scriptLimits.memoryBytes)
    runtime.setMaxStackSize(scriptLimits.stackBytes)
    runtime.setInterruptHandler(() => {
      this.#interrupts += 1
      if (this.#interrupts > scriptLimits.interrupts)
        this.#cutShort = 'It took too many steps and was stopped.'
      else if (performance.now() > this.#deadlineMs)
        this.#cutShort = `It took longer than ${scriptLimits.wallMs} ms and was stopped.`
      return this.#cutShort !== ''
    })
    return runtime
  }

  #within(work: (context: QuickJSContext, scope: Scope) => void): ScriptProblem | undefined {
    this.#calls += 1
    this.#interrupts = 0
    this.#deadlineMs = performance.now() + scriptLimits.wallMs
    const context = this.#runtime.newContext({ intrinsics })
    try {
      Scope.withScope((scope) => work(context, scope))
      return undefined
    } catch (error) {
      if (error instanceof ScriptFault) return error.problem
      // The interpreter itself gave up.
      this.#cutShort ||= 'It broke the interpreter.'
      return atNoLine(this.#cutShort)
    } finally {
      this.#tidy(context)
    }
  }

  /** What was cut short in the middle may not be whole, and is never looked at again. */
  #tidy(context: QuickJSContext): void {
    this.#spent = this.#cutShort !== ''
    if (this.#spent) return
    try {
      context.dispose()
      const { callsPerRuntime } = scriptLimits
      if (this.#calls % callsPerRuntime !== 0 && !this.#runtime.hasPendingJob()) return
      this.#runtime.dispose()
      this.#runtime = this.#newRuntime()
    } catch {
      this.#spent = true
    }
  }

  #prepare(
    context: QuickJSContext,
    scope: Scope,
    given: { readonly calls: ScriptCalls; readonly instance: string; readonly batch: string },
  ): [QuickJSHandle, QuickJSHandle] {
    const host = scope.manage(
      context.newFunction('host', (name, ...values) => {
        const problem = this.#call(
          given.calls,
          context.getString(name),
          values.map((value) => argumentOf(context, value)),
        )
        return problem === undefined ? context.undefined : context.newString(problem)
      }),
    )
    const start = this.#take(context, scope, context.evalCode(prelude, 'prelude.js'))
    const longest = scope.manage(context.newNumber(scriptLimits.messageChars))
    const texts = [builtinNames, given.instance, given.batch].map((text) =>
      scope.manage(context.newString(text)),
    )
    const pair = this.#take(
      context,
      scope,
      context.callFunction(start, context.undefined, host, longest, ...texts),
    )
    return [scope.manage(context.getProp(pair, 0)), scope.manage(context.getProp(pair, 1))]
  }

  /** An exception of ours would show itself to the script. */
  #call(calls: ScriptCalls, name: string, values: readonly ScriptValue[]): string | undefined {
    try {
      return calls.call(name, values)
    } catch {
      this.#cutShort ||= 'It broke the interpreter.'
      return 'This call cannot be done.'
    }
  }

  /** Runs the script's own lines, and gives its function. */
  #load(context: QuickJSContext, scope: Scope, script: string): QuickJSHandle {
    this.#take(context, scope, context.evalCode(script, scriptFile, { type: 'global', strict: true }))
    const asked = "typeof placement === 'function' ? placement : undefined"
    const placement = this.#take(context, scope, context.evalCode(asked, 'ask.js'))
    if (context.typeof(placement) !== 'function')
      throw new ScriptFault(atNoLine('There is no function placement(instance, batch).'))
    return placement
  }

  #take(
    context: QuickJSContext,
    scope: Scope,
    result: ReturnType<QuickJSContext['evalCode']>,
  ): QuickJSHandle {
    if (!('error' in result) || result.error === undefined) return scope.manage(result.value)
    throw new ScriptFault(this.#describe(context, scope, scope.manage(result.error)))
  }

  /** Of what was thrown, which may be anything. Its properties are asked under the same limits. */
  #describe(context: QuickJSContext, scope: Scope, thrown: QuickJSHandle): ScriptProblem {
    const text = (of: QuickJSHandle) =>
      context.typeof(of) === 'string' ? bounded(context.getString(of), scriptLimits.messageChars) : ''
    if (context.typeof(thrown) !== 'object')
      return atNoLine(text(thrown) || `It threw ${article(context.typeof(thrown))}.`)
    const read = (property: string) => text(scope.manage(context.getProp(thrown, property)))
    const [name, message, stack] = [read('name'), read('message'), read('stack')]
    this.#outOfMemory = name === 'InternalError' && message === 'out of memory'
    if (this.#outOfMemory)
      this.#cutShort ||= `It used more than ${scriptLimits.memoryBytes / 2 ** 20} MiB of memory and was stopped.`
    const said =
      this.#cutShort || (name && message ? `${name}: ${message}` : name || message || 'It threw an object.')
    return { message: said, ...placeIn(stack) }
  }
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

/** Nothing of an object is looked at: no code of the script's runs here. */
const argumentOf = (context: QuickJSContext, handle: QuickJSHandle): ScriptValue => {
  const type = context.typeof(handle)
  if (type === 'string') return context.getString(handle)
  if (type === 'number') return context.getNumber(handle)
  if (type === 'undefined') return undefined
  return { type: plainTypes.has(type) ? (type as 'object') : 'object' }
}
