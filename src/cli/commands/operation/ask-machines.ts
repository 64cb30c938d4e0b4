import { ApiRefusal, type Json } from '../../kit/client.ts'
import { type Call, exitCodes, type Option } from '../../kit/command.ts'
import { followOperations, statusOf } from './watch-operation.ts'

export const waitOptions: Readonly<Record<string, Option>> = {
  wait: { type: 'boolean', summary: 'wait for the end; exit code 1 when it was not done' },
  timeout: {
    type: 'string',
    value: 'seconds',
    summary: 'with --wait: for so long at most; what is open then goes on, and the exit code is 1',
  },
}

/** What a dry run found, in a sentence. */
export const rehearsalText = (found: Json, what: string): string => {
  const { machine, admitted, state, supersedes, before, message, remedy, cancels_entry: entry } = found
  if (!admitted) return `${what} of ${machine} would be refused. ${message} ${remedy}`
  const instead = supersedes === null ? '' : ` in the place of ${supersedes}`
  const first = entry === null ? '' : ` after giving up its migration ${entry}`
  return state === 'queued'
    ? `${what} of ${machine} would wait behind ${before}.`
    : `${what} of ${machine} would begin${instead}${first}.`
}

/** Asks the same of each machine: the refusal of one does not keep the others from it. */
export const askEach = async (call: Call, machines: readonly string[], ask: Json): Promise<number> => {
  const { client, output, values } = call
  const answers: Json[] = []
  let refused = 0
  for (const machine of machines) {
    try {
      answers.push(await client.post('/v1/operations', { machine, ...ask }))
    } catch (error) {
      // The only one's refusal is the whole answer; of several each is told.
      if (!(error instanceof ApiRefusal) || machines.length === 1) throw error
      refused += 1
      output.note(`${machine}: ${error.message} (${error.code}) ${error.remedy}`)
    }
  }
  const rest = refused === 0 ? exitCodes.ok : exitCodes.failed
  if (ask.dry_run === true) {
    const all = answers.every(({ admitted }) => admitted === true)
    output.show(only(answers), () => {
      for (const answer of answers) output.line(rehearsalText(answer, String(ask.kind)))
    })
    return all ? rest : exitCodes.failed
  }
  if (values.wait === true) return Math.max(rest, await followOperations(call, answers))
  output.show(only(answers), () => {
    for (const answer of answers) output.line(statusOf(answer))
  })
  return rest
}

const only = (answers: readonly Json[]): Json =>
  answers.length === 1 && answers[0] ? answers[0] : { items: answers }
