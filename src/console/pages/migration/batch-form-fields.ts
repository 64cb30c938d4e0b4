import { problem } from '../../../api/wire/problem.ts'
import type { FormState } from '../../kit/form.ts'
import type { BatchDetailSeen } from './batch.ts'

interface JsonField {
  /** The API's name of it. */
  readonly field: string
  readonly label: string
  readonly hint: string
  readonly read: (batch: Partial<BatchDetailSeen>) => readonly unknown[] | undefined
  readonly parse: (text: string) => unknown
}

const parserOf =
  (field: string) =>
  (text: string): unknown => {
    if (text === '') return []
    try {
      return JSON.parse(text) as unknown
    } catch (error) {
      throw problem('validation-failed', `It is no JSON: ${(error as Error).message}.`, { field })
    }
  }

const jsonField = (options: Omit<JsonField, 'parse'>): JsonField => ({
  ...options,
  parse: parserOf(options.field),
})

/** Lists of things with fields of their own: what people keep as text anyway. */
export const jsonFields: readonly JsonField[] = [
  jsonField({
    field: 'migration_windows',
    label: 'Windows',
    hint: 'When machines may be switched off. [{"name": "saturday", "start": "2027-01-02T22:00:00Z", "end": "2027-01-03T04:00:00Z", "capacity": 20}]',
    // How many hold a window is told, and never asked.
    read: ({ migration_windows: windows }) => windows?.map(({ held: _held, ...window }) => window),
  }),
  jsonField({
    field: 'constraints',
    label: 'Constraints',
    hint: '[{"name": "databases", "include_expression": "has_tag(\\"tier\\", \\"db\\")", "max_concurrent_instances": 2}]',
    read: ({ constraints }) => constraints,
  }),
  jsonField({
    field: 'probes',
    label: 'Probes',
    hint: 'Ports that must answer on the target as they did before. [{"name": "web", "ports": [443]}]',
    read: ({ probes }) => probes,
  }),
  jsonField({
    field: 'defaults.migration_network',
    label: 'Networks while it is copied',
    hint: '[{"network": "migration", "target": "oslo"}]',
    read: ({ defaults }) => defaults?.migration_network,
  }),
]

/** An error inside of a list stands at the list, with where in it. */
export const settledState = (state: FormState): FormState => ({
  ...state,
  errors: state.errors.map((error) => {
    const list = jsonFields.find(({ field }) => error.field.startsWith(`${field}.`))
    return list === undefined
      ? error
      : { field: list.field, message: `${error.field.slice(list.field.length + 1)}: ${error.message}` }
  }),
})
