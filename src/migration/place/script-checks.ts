import { Piscina } from 'piscina'
import { checkPlacementScript, type ScriptThreads } from './script-runner.ts'

/**
 * A thread that checks placement scripts that people send, so that a script in an endless loop does not block the
 * server. The thread starts with the first script and ends when idle for a while.
 */
export class ScriptChecks {
  #pool: Piscina | undefined

  /** Throws what is wrong with a script. */
  check(script: string, signal: AbortSignal): Promise<void> {
    return checkPlacementScript({ run: this.#run } as ScriptThreads, script, signal)
  }

  #run = (task: string, input: unknown, signal: AbortSignal): Promise<unknown> => {
    this.#pool ??= new Piscina({
      filename: new URL('./script-check-thread.mjs', import.meta.url).href,
      maxThreads: 1,
      minThreads: 0,
      idleTimeout: 10_000,
      maxQueue: 50,
    })
    return this.#pool.run({ task, input }, { signal })
  }
}
