import { ScriptMachine } from './script-machine.ts'
import type { ScriptAnswer, ScriptAsk, ScriptProblem, ScriptTask } from './script-types.ts'

/** What threads do of placement scripts. A machine is kept for the next task; a spent one is not. */
let kept: ScriptMachine | undefined

const machine = async (): Promise<ScriptMachine> => {
  if (!kept || kept.isSpent) kept = await ScriptMachine.open()
  return kept
}

export const placeByScript = async ({ script, batch, asks, at }: ScriptTask): Promise<ScriptAnswer[]> => {
  const answers: ScriptAnswer[] = []
  const place = new Int32Array(at)
  for (const [index, ask] of asks.entries()) {
    Atomics.store(place, 0, index + 1)
    answers.push(await placeOne(script, batch, ask))
  }
  return answers
}

/** What earlier runs have left in memory is not this one's fault. */
const placeOne = async (script: string, batch: string, ask: ScriptAsk): Promise<ScriptAnswer> => {
  const first = await machine()
  const answer = first.place(script, batch, ask)
  return first.isCrowded ? (await machine()).place(script, batch, ask) : answer
}

export const checkScript = async ({
  script,
  at,
}: Pick<ScriptTask, 'script' | 'at'>): Promise<ScriptProblem | null> => {
  const ready = await machine()
  Atomics.store(new Int32Array(at), 0, 1)
  return ready.check(script) ?? null
}
