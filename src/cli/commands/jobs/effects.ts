import { type Command, text } from '../../kit/command.ts'
import { type Column, field, fields, since } from '../../kit/output.ts'
import { list, show, verb } from '../../kit/rows.ts'

const args = [{ name: 'id', summary: 'the id of an effect' }]

export const effectColumns: readonly Column[] = [
  ...fields('id', 'state', 'kind', 'platform', 'name'),
  since('updated_at', 'changed'),
  field('error.message', 'note'),
]

export const effectCommands: readonly Command[] = [
  list({
    name: 'effects list',
    summary: 'What Drover did outside; --state debt,intended is what it left behind',
    asks: 'GET /v1/effects',
    empty: 'There are no effects.',
    filters: {
      state: text('states', 'some of intended,done,undone,debt,waived'),
      platform: text('name', 'only on this platform'),
      kind: text('kind', 'only of this kind'),
      subject: text('type/id', 'only about this'),
    },
    columns: effectColumns,
  }),
  show({ name: 'effects show', summary: 'Show an effect', asks: 'GET /v1/effects/{id}', args }),
  verb({
    name: 'effects waive',
    summary: 'Waive a debt: nobody has to undo it any more',
    asks: 'POST /v1/effects/{id}/:waive',
    args,
    options: {
      reason: text('text', 'why; it is recorded (required)', {
        required: 'say why nobody has to undo it',
      }),
    },
    body: ({ values: { reason } }) => ({ reason }),
    said: ({ id }) => `Effect ${id} is waived.`,
  }),
]
