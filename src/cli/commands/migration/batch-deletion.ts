import { downBefore } from '../../../domain/migration/batch/downtime.ts'
import { many } from '../../../domain/text/sentence.ts'
import type { Json } from '../../kit/client.ts'
import { type Command, flag } from '../../kit/command.ts'
import { confirmCount, confirmIfPerson, confirmOptions } from '../../kit/confirm.ts'
import { type DownSeen, sayDown } from '../../kit/down.ts'
import { anyVersion, pathOf } from '../../kit/rows.ts'

const args = [{ name: 'name', summary: 'the name of a batch' }]

export const remove: Command = {
  name: 'batches remove',
  summary: 'Remove a batch that is defined or finished',
  covers: ['DELETE /v1/batches/{name}'],
  args,
  options: confirmOptions,
  run: async (call) => {
    const { client, output, args } = call
    const removePart = (confirmed: number | undefined) =>
      client.ask('DELETE', pathOf('batches', args[0]), {
        headers: anyVersion,
        query: { confirm_finished: confirmed },
      })
    let part = await confirmCount(call, removePart)
    // A large one goes in parts: 202 says that there is more.
    while (part.status === 202) {
      output.live(`${part.body.entries_left} entries are left`)
      part = await removePart(Number(part.body.finished_left))
    }
    output.live('')
    output.show({ name: args[0], deleted: true }, () => output.line('It is removed.'))
  },
}

/** What goes with its copies; of those that have finished the API asks by number. */
const unfinishedGo = (name: string, entries: unknown): string => {
  const counts = Object.entries((entries ?? {}) as Readonly<Record<string, number>>)
  const count = counts.reduce((sum, [state, of]) => (state === 'finished' ? sum : sum + of), 0)
  if (count === 0) return ''
  return count === 1
    ? `1 entry of ${name} that has not finished goes, with its copy on the target.`
    : `${count} entries of ${name} that have not finished go, with their copies on the target.`
}

export const reset: Command = {
  name: 'batches reset',
  summary: 'Throw the entries of a batch away, with what they made',
  covers: ['POST /v1/batches/{name}/:reset'],
  args,
  options: {
    force: flag('also entries whose source is switched off'),
    ...confirmOptions,
  },
  run: async (call) => {
    const path = pathOf('batches', call.args[0])
    await confirmIfPerson(call, async () => {
      const { down, entries } = await call.client.get(path)
      return [unfinishedGo(String(call.args[0]), entries), downBefore('reset', down as DownSeen)]
        .filter((text) => text !== '')
        .join(' ')
    })
    const answer = await confirmCount(call, (confirmed) =>
      call.client.post(`${path}/:reset`, {
        force: call.values.force === true,
        confirm_finished: confirmed,
      }),
    )
    call.output.show(answer, () => {
      call.output.line(
        `The batch ${call.args[0]} is defined again; ${many(Number(answer.entries), 'entry goes', 'entries go')}.`,
      )
      sayDown(call, (answer.batch as Json).down, 'reset')
    })
  },
}
