import { html } from 'hono/html'
import { problem } from '../../../api/wire/problem.ts'
import type { OperationKind, OperationVariant } from '../../../domain/operation/kinds/kinds.ts'
import { many } from '../../../domain/text/sentence.ts'
import { withQuery } from '../../kit/ask.ts'
import { visible } from '../../kit/shown.ts'
import type { Html } from '../../kit/view.ts'

/** Which machines are meant. */
export interface MachineChoice {
  /** All that the questions leave; else those that were ticked. */
  readonly all: boolean
  readonly ids: readonly string[]
  readonly asked: Readonly<Record<string, string>>
}

/** What can be asked of many as well as of one; what is not here needs a word about each machine. */
const questions = ['target', 'host', 'project', 'power', 'run_policy'] as const
/** Of the list, and not of many at once: these are judged machine by machine. */
const finerQuestions = ['filter', 'phase', 'name'] as const

export const machineChoiceOf = (query: URLSearchParams): MachineChoice => ({
  all: query.get('meant') === 'all',
  ids: query.getAll('id'),
  asked: Object.fromEntries(
    questions.flatMap((name) => (query.get(name) ? [[name, query.get(name) ?? '']] : [])),
  ),
})

/** Whether what the list shows is what a verb for all of it would mean. */
export const isWholeChoice = (query: URLSearchParams): boolean =>
  finerQuestions.every((name) => !query.get(name))

/** As the API is told; it is an error to mean nothing. */
export const choiceBody = ({ all, ids, asked }: MachineChoice): Readonly<Record<string, unknown>> => {
  if (!all && ids.length > 0) return { ids }
  if (!all || Object.keys(asked).length === 0)
    throw problem('validation-failed', 'Choose machines first: tick them, or narrow the list down.', {
      field: 'id',
    })
  return asked
}

export const choiceText = ({ all, ids, asked }: MachineChoice): string =>
  !all
    ? many(ids.length, 'chosen machine')
    : Object.entries(asked)
        .map(([name, value]) => `${name.replace('_', ' ')} ${visible(value)}`)
        .join(', ')

/** What is asked of many: nothing that needs a word about each machine. */
const bulkKinds: readonly (readonly [value: string, text: string])[] = [
  ['start', 'Start'],
  ['stop', 'Stop'],
  ['stop!', 'Stop by force'],
  ['restart', 'Restart'],
  ['restart!', 'Restart by force'],
  ['hibernate', 'Hibernate'],
  ['wake', 'Wake'],
  ['snapshot', 'Snapshot'],
  ['evict', 'Move elsewhere'],
]

export const bulkVariantOf = (value: string | null): OperationVariant & { readonly text: string } => {
  const [known, text] = bulkKinds.find(([one]) => one === value) ?? []
  if (known === undefined || text === undefined)
    throw problem('validation-failed', 'That cannot be asked of many machines.', { field: 'kind' })
  return { kind: known.replace('!', '') as OperationKind, force: known.endsWith('!'), text }
}

/** Where what is asked of many is looked at and confirmed. */
export const bulkPath = '/machines/all'

export const bulkAddressOf = (kind: string, { all, ids, asked }: MachineChoice): string => {
  const query = new URLSearchParams({ kind, ...asked, ...(all ? { meant: 'all' } : {}) })
  if (!all) for (const id of ids) query.append('id', id)
  return `${bulkPath}?${query}`
}

export const listAddress = ({ asked }: MachineChoice): string => withQuery('/machines', asked)

export const kindSelect = (
  id: string,
): Html => html`<label for="${id}">Ask</label><select id="${id}" name="kind">
${bulkKinds.map(([value, text]) => html`<option value="${value}">${text}</option>`)}</select>`
