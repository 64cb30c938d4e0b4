import { ScriptMachine } from './script-machine.ts'
import type { ScriptAnswer, ScriptProblem, ScriptTask } from './script-types.ts'

/** What a thread does with placement scripts. Loaded scripts are kept for the next task, the latest last. */
const ready = new Map<string, ScriptMachine>()
const mostReady = 3

const machineOf = async (script: string, batch: string): Promise<ScriptMachine> => {
  const key = `${script}\0${batch}`
  const known = ready.get(key)
  ready.delete(key)
  const machine = known && !known.isSpent ? known : await ScriptMachine.open(script, batch)
  ready.set(key, machine)
  const [oldest] = ready.keys()
  if (oldest !== undefined && ready.size > mostReady) ready.delete(oldest)
  return machine
}

export const placeByScript = async ({ script, batch, asks, at }: ScriptTask): Promise<ScriptAnswer[]> => {
  const answers: ScriptAnswer[] = []
  const place = new Int32Array(at)
  for (const [index, ask] of asks.entries()) {
    Atomics.store(place, 0, index + 1)
    answers.push((await machineOf(script, batch)).place(ask))
  }
  return answers
}

export const checkScript = async ({
  script,
  at,
}: Pick<ScriptTask, 'script' | 'at'>): Promise<ScriptProblem | null> => {
  Atomics.store(new Int32Array(at), 0, 1)
  return (await ScriptMachine.open(script, '{}')).problem ?? null
}
