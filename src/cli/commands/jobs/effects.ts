import type { Json } from '../../kit/client.ts'
import { type Command, textOf, UsageError } from '../../kit/command.ts'
import { type Column, field, since } from '../../kit/output.ts'
import { listCommand, pathOf } from '../../kit/rows.ts'

const id = { name: 'id', summary: 'the id of an effect' }

export const effectColumns: readonly Column[] = [
  field('id'),
  field('state'),
  field('kind'),
  field('platform'),
  field('name'),
  since('updated_at', 'changed'),
  { title: 'note', value: (effect) => (effect.error as Json | null)?.message },
]

export const effectCommands: readonly Command[] = [
  listCommand({
    name: 'effects list',
    summary: 'What Drover did outside; --state debt,intended is what it left behind',
    covers: 'GET /v1/effects',
    path: '/v1/effects',
    empty: 'No effect fits.',
    filters: {
      state: { type: 'string', value: 'states', summary: 'some of intended,done,undone,debt,waived' },
      platform: { type: 'string', value: 'name', summary: 'only on this platform' },
      kind: { type: 'string', value: 'kind', summary: 'only of this kind' },
      subject: { type: 'string', value: 'type/id', summary: 'only about this' },
    },
    columns: effectColumns,
  }),
  {
    name: 'effects show',
    summary: 'Show an effect',
    covers: ['GET /v1/effects/{id}'],
    args: [id],
    run: async ({ client, output, args }) => {
      const effect = await client.get(pathOf('effects', args[0]))
      output.show(effect, () => output.fields(Object.entries(effect)))
      return 0
    },
  },
  {
    name: 'effects waive',
    summary: 'Waive a debt: nobody has to undo it any more',
    covers: ['POST /v1/effects/{id}/:waive'],
    args: [id],
    options: { reason: { type: 'string', value: 'text', summary: 'why; it is recorded (required)' } },
    run: async ({ client, output, args, values }) => {
      const reason = textOf(values, 'reason')
      if (reason === undefined) throw new UsageError('--reason is required: say why nobody has to undo it.')
      const effect = await client.post(pathOf('effects', args[0], ':waive'), { reason })
      output.show(effect, () => output.line(`Effect ${effect.id} is waived.`))
      return 0
    },
  },
]
