import { availableParallelism } from 'node:os'
import { DroverError } from '../../errors.ts'
import { scriptLimits } from './script-limits.ts'
import type { ScriptAnswer, ScriptAsk, ScriptProblem, ScriptTask } from './script-types.ts'

/** Threads for what keeps a processor busy; an abort ends the thread. */
export interface ScriptThreads {
  run(task: 'place-by-script', input: ScriptTask, signal: AbortSignal): Promise<ScriptAnswer[]>
  run(
    task: 'check-script',
    input: Pick<ScriptTask, 'script' | 'at'>,
    signal: AbortSignal,
  ): Promise<ScriptProblem | null>
}

export interface ScriptWork {
  readonly script: string
  /** JSON text. */
  readonly batch: string
  readonly asks: readonly ScriptAsk[]
  readonly signal: AbortSignal
}

/** Instances for one thread at a time: enough to be worth the transfer, few enough to share the threads. */
const chunkSize = 250
const lookMs = 250

/**
 * Runs a script for instances, in order. An instance whose run cannot be interrupted costs its thread and gets an
 * error; the other instances are tried again.
 */
export const runScript = async (threads: ScriptThreads, work: ScriptWork): Promise<ScriptAnswer[]> => {
  const chunks = Array.from({ length: Math.ceil(work.asks.length / chunkSize) }, (_, index) =>
    work.asks.slice(index * chunkSize, (index + 1) * chunkSize),
  )
  const answered: ScriptAnswer[][] = []
  const waiting = chunks.entries()
  const ask = async () => {
    for (const [index, asks] of waiting) answered[index] = await runChunk(threads, { ...work, asks })
  }
  await Promise.all(Array.from({ length: Math.min(availableParallelism(), chunks.length) }, ask))
  return answered.flat()
}

const runChunk = async (threads: ScriptThreads, work: ScriptWork): Promise<ScriptAnswer[]> => {
  if (work.asks.length === 0) return []
  const { script, batch, asks } = work
  const watched = await watch(work.signal, (at, signal) =>
    threads.run('place-by-script', { script, batch, asks, at }, signal),
  )
  if (watched.ended) return watched.value
  const culprit = watched.stuckAt - 1
  return [
    ...(await runChunk(threads, { ...work, asks: asks.slice(0, culprit) })),
    { ok: false, problem: stuck, log: [] },
    ...(await runChunk(threads, { ...work, asks: asks.slice(culprit + 1) })),
  ]
}

const stuck: ScriptProblem = {
  message: 'It was stuck in one call of the interpreter and was stopped.',
  line: null,
  column: null,
}

type Watched<Value> =
  | { readonly ended: true; readonly value: Value }
  | { readonly ended: false; readonly stuckAt: number }

/** Waits for a thread, and ends it when it makes no progress for too long. */
const watch = async <Value>(
  signal: AbortSignal,
  run: (at: SharedArrayBuffer, signal: AbortSignal) => Promise<Value>,
): Promise<Watched<Value>> => {
  const at = new SharedArrayBuffer(4)
  const place = new Int32Array(at)
  const ended = new AbortController()
  const onAbort = () => ended.abort(signal.reason)
  signal.throwIfAborted()
  signal.addEventListener('abort', onAbort, { once: true })
  let seen = { at: 0, sinceMs: performance.now() }
  let stuckAt = 0
  const timer = setInterval(() => {
    const now = Atomics.load(place, 0)
    if (now !== seen.at) seen = { at: now, sinceMs: performance.now() }
    else if (now > 0 && performance.now() - seen.sinceMs > scriptLimits.stallMs) {
      stuckAt = now
      ended.abort(new Error('A placement script is stuck.'))
    }
  }, lookMs)
  try {
    return { ended: true, value: await run(at, ended.signal) }
  } catch (error) {
    signal.throwIfAborted()
    if (stuckAt === 0) throw error
    return { ended: false, stuckAt }
  } finally {
    clearInterval(timer)
    signal.removeEventListener('abort', onAbort)
  }
}

/** Throws what is wrong with a script that a person wants to store: syntax, top-level lines, function. */
export const checkPlacementScript = async (
  threads: ScriptThreads,
  script: string,
  signal: AbortSignal,
): Promise<void> => {
  if (script === '') return
  const watched = await watch(signal, (at, own) => threads.run('check-script', { script, at }, own))
  const problem = watched.ended ? watched.value : stuck
  if (problem) throw scriptRefused(problem)
}

/** `at line 3, column 7`; empty where that is not known. */
export const placeOfProblem = ({ line, column }: ScriptProblem): string => {
  if (line === null) return ''
  return column === null ? ` (line ${line})` : ` (line ${line}, column ${column})`
}

const scriptRefused = (problem: ScriptProblem): DroverError =>
  new DroverError({
    code: 'placement-script-invalid',
    class: 'config',
    message: `The placement script cannot be used: ${problem.message}${placeOfProblem(problem)}`,
    remedy: 'Correct the script; docs/placement.md says what it can do.',
    field: 'config.placement_scriptlet',
    detail: { line: problem.line, column: problem.column },
  })
