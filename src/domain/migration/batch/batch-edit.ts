import { type EntryPlace, isCommitted } from '../entry/entry.ts'
import { checkHeldWindows, checkWindows, type NewWindow, type Window } from '../schedule/windows.ts'
import type { BatchConfig, BatchConstraint, BatchDefaults } from './batch-settings.ts'
import type { BatchState } from './batch-table.ts'
import { checkTwins } from './constraint-twins.ts'

/** A person's settings of a batch that matter for what has already begun. */
export interface BatchShape {
  readonly name: string
  readonly include_expression: string
  readonly defaults: BatchDefaults
  readonly config: BatchConfig
  readonly constraints: readonly BatchConstraint[]
}

/** An entry of the batch, as far as an edit can affect it. */
export interface EditedEntry extends EntryPlace {
  readonly id: string
  /** Blocked because its placement failed: a better script would unblock it. */
  readonly placementFailed: boolean
}

export interface BatchEdit {
  readonly state: BatchState
  readonly before: BatchShape
  readonly after: BatchShape
  readonly entries: readonly EditedEntry[]
  /** Whether a constraint's expression matches the instance of an entry. */
  readonly matches: (expression: string, entryId: string) => boolean
  readonly now: number
  readonly windowsBefore: readonly Window[]
  readonly windowsAfter: readonly NewWindow[]
  /** The number of entries per window, by window id. */
  readonly held: ReadonlyMap<string, number>
}

/** `field` is the path in the request: `constraints.1.max_concurrent_instances`, `windows.0.end`. */
export interface EditProblem {
  readonly field: string
  readonly message: string
}

/** Everything that may not be changed now, with reason and end; empty: the edit is fine. */
export const checkBatchEdit = (edit: BatchEdit): EditProblem[] => [
  ...checkTwins(edit.after.constraints, edit.before.constraints),
  ...(edit.state === 'defined' ? [] : [...checkFixed(edit), ...checkConstraints(edit), ...checkScript(edit)]),
  ...checkBatchWindows(edit),
]

const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b)

/** Settings that decided which instances are in the batch, and where they went. */
const checkFixed = ({ before, after, state }: BatchEdit): EditProblem[] => {
  const fixed: [field: string, before: unknown, after: unknown][] = [
    ['name', before.name, after.name],
    ['include_expression', before.include_expression, after.include_expression],
    ...(['target', 'target_project', 'storage_pool'] as const).map((key): [string, unknown, unknown] => [
      `defaults.placement.${key}`,
      before.defaults.placement[key],
      after.defaults.placement[key],
    ]),
    ['defaults.migration_network', before.defaults.migration_network, after.defaults.migration_network],
  ]
  return fixed
    .filter(([, old, now]) => !same(old, now))
    .map(([field]) => ({
      field,
      message: `The batch is ${state}: this was decided at its start. Reset the batch to change it.`,
    }))
}

const checkConstraints = ({ before, after, entries, matches }: BatchEdit): EditProblem[] => {
  const committed = entries.filter(isCommitted)
  const touches = ({ include_expression }: BatchConstraint) =>
    committed.filter(({ id }) => matches(include_expression, id)).length
  const old = new Map(before.constraints.map((one) => [one.name, one]))
  const names = new Set(after.constraints.map(({ name }) => name))
  const changed = after.constraints.flatMap((now, at): EditProblem[] => {
    const was = old.get(now.name)
    if (was && same(was, now)) return []
    const count = Math.max(touches(now), was ? touches(was) : 0)
    return count === 0 ? [] : [{ field: `constraints.${at}`, message: untilDone(now.name, count) }]
  })
  const removed = before.constraints
    .filter((one) => !names.has(one.name) && touches(one) > 0)
    .map((one) => ({ field: 'constraints', message: untilDone(one.name, touches(one)) }))
  if (changed.length + removed.length > 0) return [...changed, ...removed]
  return reordered(before, after, committed, matches)
}

const untilDone = (name: string, count: number): string =>
  `Constraint "${name}" matches ${count} instance${count === 1 ? '' : 's'} whose source is switched off: it can` +
  ' change when they have finished or were let go.'

/** The last matching constraint counts, so the order is a setting too. */
const reordered = (
  before: BatchShape,
  after: BatchShape,
  committed: readonly EditedEntry[],
  matches: BatchEdit['matches'],
): EditProblem[] => {
  const governing = ({ constraints }: BatchShape, id: string) =>
    constraints.findLast(({ include_expression }) => matches(include_expression, id))?.name
  const moved = committed.filter(({ id }) => governing(before, id) !== governing(after, id))
  return moved.length === 0
    ? []
    : [
        {
          field: 'constraints',
          message:
            'In this order another constraint would count for an instance whose source is switched off: it can' +
            ' change when it has finished or was let go.',
        },
      ]
}

const checkScript = ({ before, after, entries }: BatchEdit): EditProblem[] => {
  if (before.config.placement_scriptlet === after.config.placement_scriptlet) return []
  const waiting = entries.filter(
    ({ state, placementFailed }) =>
      !placementFailed && (state === 'blocked' || state === 'waiting' || state === 'creating'),
  ).length
  if (waiting === 0) return []
  return [
    {
      field: 'config.placement_scriptlet',
      message:
        `${waiting} ${waiting === 1 ? 'entry is' : 'entries are'} being placed by it: it can change when all of` +
        ' them are created, in conflict, or given up.',
    },
  ]
}

/** The same for a batch that has not begun. */
export const checkBatchWindows = (
  edit: Pick<BatchEdit, 'now' | 'windowsBefore' | 'windowsAfter' | 'held'>,
): EditProblem[] =>
  [
    ...checkWindows(edit.windowsAfter, edit.windowsBefore, edit.now),
    ...checkHeldWindows(edit.windowsAfter, edit.windowsBefore, edit.held),
  ].map(({ at, field, message }) => ({
    field: at < 0 ? 'windows' : `windows.${at}.${field}`,
    message,
  }))
